//! `#` of shared tables (Lua manual § 3.4.7): any border, found in twice as many lookups as its number has bits.

use super::keys::Unfit;
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::value::{Abs, Word};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Branches, Words};
use moonhook_schema::Type;
use moonhook_snapshot::TableId;

impl Context<'_> {
    /// `#table`: 0, or an index with an entry that is followed by one without.
    pub fn shared_length(&mut self, table: TableId) -> Result<Abs> {
        let Some((map, schema)) = self.shared_map(table)? else {
            self.note_untyped(table);
            return Ok(Abs::int(0));
        };
        if schema.key != Type::Integer {
            return Ok(Abs::int(0));
        }
        // The entry `low` is there, or it is 0. What is looked at next lies `step` behind it: twice as far each time as long as
        // all were there (`grows`), then half as far each time. The last step that still grows leads to the largest integer.
        let arms = self.repeat(&[0, 1, 1].map(Word::Imm), &mut |context, variables| {
            let [low, step, grows] = [variables[0], variables[1], variables[2]];
            let index = context.add(low, step);
            let mut missing = Vec::new();
            let key = context.key_address(&schema.key, &Abs::Int(index), &mut Unfit::default())?;
            context.present_entry(map, &schema, key, &mut missing);
            let there = Arm { state: context.take_state(), values: vec![Abs::Int(index), Abs::Int(grows)] };
            let missing =
                missing.into_iter().map(|state| Arm { state, values: vec![Abs::Int(low), Abs::int(0)] });
            let values = context.join(std::iter::once(there).chain(missing).collect())?.unwrap_or_default();
            let mut iteration = Iteration::default();
            let [Abs::Int(low), Abs::Int(grows)] = values[..] else { return Ok(iteration) };
            let twice = context.shl(grows, 1);
            let step = context.shl(step, twice);
            let step = context.shr(step, 1);
            let done = context.compare(CompareOp::Eq, step, 0);
            let (done, more) = context.split(done);
            iteration.leave_in(done, vec![Abs::Int(low)]);
            context.state = more;
            iteration.again(context, vec![low, step, grows]);
            Ok(iteration)
        })?;
        Ok(self.join(arms)?.and_then(|values| values.into_iter().next()).unwrap_or(Abs::Nil))
    }
}
