//! Traversals of shared tables, `next(t)` and `#t`, in general code.
//!
//! What is different from the expansion's ([`crate::shared`]) is where the copied keys lie: at the end of packet memory, which the
//! runtime keeps account of (`runtime/lua/traversal.lua`), since how loops are nested is known at packet time only.

use super::super::{Stubs, without_context};
use super::{Accesses, Record};
use crate::arena;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::shared::{Extent, Visit, invalid_key};
use crate::state::State;
use crate::value::{Abs, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, Builder, CompareOp, FunctionId, FunctionKind, Size, UnaryOp};
use moonhook_runtime::layout::{
    ACCESS_AFTER, ACCESS_ANY, ACCESS_NEXT, ACCESS_TRAVERSE, L_HEAP, L_HEAP_END, L_KEYS, L_KEYS_FULL,
    L_KEYS_NOW,
};
use moonhook_schema::Schema;
use moonhook_snapshot::TableId;

impl Stubs<'_> {
    /// What begins a traversal of a shared table, takes the next entry, and gives any entry.
    pub(super) fn traversal(
        &mut self,
        table: TableId,
        number: usize,
        record: Option<&Record>,
        steps: bool,
    ) -> Result<Accesses> {
        let begin =
            self.make(&format!("shared_traverse_{number}"), without_context(3), |context, parameters| {
                let &[address, _, place] = parameters else { return Ok(()) };
                context.begin_traversal_of(table, address, place)
            })?;
        let next =
            self.make(&format!("shared_next_{number}"), without_context(3), |context, parameters| {
                let &[_, traversal, out] = parameters else { return Ok(()) };
                context.next_of_traversal(table, record, traversal, out)
            })?;
        let any = self.make(&format!("shared_any_{number}"), without_context(3), |context, parameters| {
            let &[_, _, out] = parameters else { return Ok(()) };
            context.any_of(table, record, out)
        })?;
        let mut accesses = vec![(ACCESS_TRAVERSE, begin), (ACCESS_NEXT, next), (ACCESS_ANY, any)];
        if steps {
            let after =
                self.make(&format!("shared_after_{number}"), without_context(3), |context, parameters| {
                    let &[_, key, out] = parameters else { return Ok(()) };
                    context.after_of(table, record, key, out)
                })?;
            accesses.push((ACCESS_AFTER, after));
        }
        Ok(accesses)
    }

    /// `#` of a shared table.
    pub(super) fn length_of_shared(&mut self, table: TableId, number: usize) -> Result<FunctionId> {
        self.make(&format!("shared_length_{number}"), without_context(3), |context, parameters| {
            let &[_, _, out] = parameters else { return Ok(()) };
            context.map_of(table)?;
            let length = context.shared_length(table)?;
            context.store_value(out, &length)?;
            context.give(0);
            Ok(())
        })
    }
}

impl Context<'_> {
    fn begin_traversal_of(&mut self, table: TableId, address: Word, place: Word) -> Result<()> {
        let (map, schema) = self.map_of(table)?;
        if schema.is_prefixes() {
            self.refuse_traversal(table);
            return Ok(());
        }
        self.copy_keys_to_arena(table, map, &schema, Extent::All);
        self.call_routine("traversal_ready", &[address, place]);
        self.give(0);
        Ok(())
    }

    /// Prefixes have no order in which the kernel goes through them.
    fn refuse_traversal(&mut self, table: TableId) {
        let message =
            format!("the prefixes of table '{}' cannot be traversed", self.snapshot.table_name(table));
        self.fail(Message::new(message));
    }

    /// Copies keys to the end of packet memory, from where the state says that it is on downwards.
    fn copy_keys_to_arena(&mut self, table: TableId, map: ir::MapId, schema: &Schema, extent: Extent) {
        let end = self.state_field(L_HEAP_END);
        self.set_state_field(L_KEYS, end);
        self.set_state_field(L_KEYS_FULL, Word::Imm(0));
        if schema.lifetime.is_some() {
            let now = self.now();
            self.set_state_field(L_KEYS_NOW, now);
        }
        let one = if extent == Extent::One { "one" } else { "all" };
        let alive = if schema.lifetime.is_some() { "_alive" } else { "" };
        let name = format!("copy_keys_{one}_{}{alive}", schema.key_size());
        let function = self.known_subprogram(&name).unwrap_or_else(|| {
            let made = copying_function(&name, schema, extent);
            self.place_subprogram(made)
        });
        self.for_each_entry(map, function, self.state_address());
        let full = self.state_field(L_KEYS_FULL);
        let full = self.compare(CompareOp::Ne, full, 0);
        let message = format!("table '{}' has too many entries to traverse", self.snapshot.table_name(table));
        self.fail_if(full, |context| context.fail(Message::new(message)));
    }

    fn state_field(&mut self, field: i64) -> Word {
        let place = self.add(self.state_address(), field);
        arena::load(self, place)
    }

    fn set_state_field(&mut self, field: i64, word: Word) {
        let place = self.add(self.state_address(), field);
        arena::store(self, place, word);
    }

    /// A copied key where the kernel takes keys.
    fn key_from_arena(&mut self, schema: &Schema, from: Word) -> Result<ir::Value> {
        let room = self.room_for_key(schema)?;
        for offset in (0..schema.key_size() as i64).step_by(8) {
            let place = self.add(from, offset);
            let word = arena::load(self, place);
            self.store(room, offset as i16, Size::B8, word);
        }
        Ok(room)
    }

    /// The turn of a traversal that has its state at an address: stores the next key and value, or nil.
    fn next_of_traversal(
        &mut self,
        table: TableId,
        record: Option<&Record>,
        traversal: Word,
        out: Word,
    ) -> Result<()> {
        let (map, schema) = self.map_of(table)?;
        if schema.is_prefixes() {
            self.refuse_traversal(table);
            return Ok(());
        }
        let place = self.add(traversal, 8);
        let payload = arena::load(self, place);
        let left = self.shr(payload, 32);
        let first = self.unary(UnaryOp::ZeroExtend32, payload);
        let exits = self.next_present((table, map, &schema), left, &mut |context, left| {
            let from = context.add(first, left);
            context.key_from_arena(&schema, from)
        })?;
        let mut stored = Vec::new();
        for arm in exits {
            self.state = arm.state;
            match arm.values.as_slice() {
                [key, value, Abs::Int(left)] => {
                    let left = self.shl(*left, 32);
                    let payload = self.binary(BinaryOp::Or, left, first);
                    arena::store(self, place, payload);
                    stored.push(self.store_key_and_value(table, record, out, [key, value])?);
                }
                _ => {
                    self.store_value(out, &Abs::Nil)?;
                    stored.push(self.take_state());
                }
            }
        }
        self.enter(stored)?;
        self.give(0);
        Ok(())
    }

    /// Stores some key and value of the table, or nil; says how many results more than one that is.
    fn any_of(&mut self, table: TableId, record: Option<&Record>, out: Word) -> Result<()> {
        let (map, schema) = self.map_of(table)?;
        if schema.is_prefixes() {
            self.refuse_traversal(table);
            return Ok(());
        }
        if self.known.shared.steps_through(self.snapshot, table) {
            let first = self.next_entry(table, &Abs::Nil)?;
            return self.store_found(table, record, out, first);
        }
        // Again where another CPU deletes the entry in between.
        let exits = self.repeat(&[], &mut |context, _| {
            let mut iteration = Iteration::default();
            context.copy_keys_to_arena(table, map, &schema, Extent::One);
            let (keys, end) = (context.state_field(L_KEYS), context.state_field(L_HEAP_END));
            let none = context.compare(CompareOp::Eq, keys, end);
            let (none, found) = context.split(none);
            iteration.leave_in(none, vec![]);
            context.state = found;
            let key = context.key_from_arena(&schema, keys)?;
            let Visit { found, missing, moved } = context.visit_key(table, (map, &schema), key)?;
            iteration.next.extend(missing.into_iter().chain(moved).map(|state| (state, vec![])));
            iteration.exits.extend(found);
            Ok(iteration)
        })?;
        self.store_found(table, record, out, exits)
    }

    /// Stores the key and value behind those with the key at an address; says how many results more than one that is.
    fn after_of(&mut self, table: TableId, record: Option<&Record>, key: Word, out: Word) -> Result<()> {
        let (_, schema) = self.map_of(table)?;
        if schema.is_prefixes() {
            self.refuse_traversal(table);
            return Ok(());
        }
        let given = self.given_key(key, &schema.key)?;
        let mut unfit = given.others;
        unfit.push(given.nil);
        unfit.extend(given.too_long);
        self.enter(unfit)?;
        if self.state.alive() {
            self.fail(invalid_key());
        }
        let behind = match self.join(given.fits)?.as_deref() {
            Some([key]) => self.next_entry(table, key)?,
            _ => Vec::new(),
        };
        self.store_found(table, record, out, behind)
    }

    /// Stores a key and value, or nil where there are none; says how many results more than one that is.
    fn store_found(
        &mut self,
        table: TableId,
        record: Option<&Record>,
        out: Word,
        found: Vec<Arm>,
    ) -> Result<()> {
        let (some, none): (Vec<Arm>, Vec<Arm>) = found.into_iter().partition(|arm| arm.values.len() == 2);
        for arm in none {
            self.state = arm.state;
            self.store_value(out, &Abs::Nil)?;
            self.give(0);
        }
        let mut stored = Vec::new();
        for arm in some {
            self.state = arm.state;
            if let [key, value] = arm.values.as_slice() {
                stored.push(self.store_key_and_value(table, record, out, [key, value])?);
            }
        }
        self.enter(stored)?;
        self.give(1);
        Ok(())
    }

    /// Stores a key and, behind it, a value, which is the address of a copy where it is a record; gives where that was done.
    fn store_key_and_value(
        &mut self,
        table: TableId,
        record: Option<&Record>,
        out: Word,
        [key, value]: [&Abs; 2],
    ) -> Result<State> {
        // An address of either family is stored as a text.
        let mut stored = Vec::new();
        for (state, key) in self.alternatives(key)? {
            self.state = state;
            self.store_value(out, &key)?;
            stored.push(self.take_state());
        }
        self.enter(stored)?;
        let place = self.add(out, 16);
        match (value, record) {
            (Abs::Int(copy), Some(record)) => self.store_entry(table, record.number, [out, place, *copy]),
            _ => {
                self.store_value(place, value)?;
                Ok(self.take_state())
            }
        }
    }
}

/// `long copy(map, key, value, &L)`: puts the key below those that were copied before, unless the entry's time is over; gives 1
/// where no other entry is wanted.
fn copying_function(name: &str, schema: &Schema, extent: Extent) -> ir::Function {
    let kind = FunctionKind::Subprogram { global: false, context: None };
    let mut code = Builder::new(name, kind, 4);
    let [key, value, context] = [1, 2, 3].map(|number| code.param(number));
    let (over, _) = code.new_block(0);
    let (full, _) = code.cold_block(0);
    let state = code.load(context, 0);
    let state = code.arena(state);
    if schema.lifetime.is_some() {
        let (deadline, now) = (code.load(value, 0), code.load(state, L_KEYS_NOW));
        code.leave_if(CompareOp::ULe, deadline, now, over, &[]);
    }
    let keys = code.load(state, L_KEYS);
    let keys = code.add(keys, -(schema.key_size() as i64));
    let heap = code.load(state, L_HEAP);
    code.leave_if(CompareOp::SLt, keys, heap, full, &[]);
    let to = code.arena(keys);
    code.copy_words(schema.key_size() as i64, (key, 0), (to, 0));
    code.store(state, L_KEYS, keys);
    code.ret(i32::from(extent == Extent::One));
    code.block = over;
    code.ret(0);
    code.block = full;
    code.store(state, L_KEYS_FULL, 1);
    code.ret(1);
    code.function
}
