//! Lists in entries: fields whose names are positions ([`moonhook_schema::position`]). A list has as many places as were ever seen, or
//! are declared, each of which may be nil.

use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::value::{Abs, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size};
use moonhook_schema::{Type, position, position_name};

impl Context<'_> {
    /// The positions that the record at a path may have something at, in order.
    fn places_of(&mut self, path: u32, base: Word) -> Result<Vec<i64>> {
        let Some((_, Type::Record(fields))) = self.record_of(path, base)? else { return Ok(Vec::new()) };
        let mut places: Vec<i64> = fields.iter().filter_map(|field| position(&field.name)).collect();
        places.sort_unstable();
        Ok(places)
    }

    /// Runs `body` where the index is that of a place, once for each; goes on where it is of none.
    fn at_each_place(
        &mut self,
        path: u32,
        base: Word,
        index: Word,
        body: &mut dyn FnMut(&mut Self, String) -> Result<()>,
    ) -> Result<()> {
        for place in self.places_of(path, base)? {
            let Some(name) = position_name(place) else { continue };
            let is_it = self.compare_apart(CompareOp::Eq, index, place);
            let (it, other) = self.split(is_it);
            if it.alive() {
                self.state = it;
                body(self, name)?;
            }
            self.state = other;
            if !self.state.alive() {
                break;
            }
        }
        Ok(())
    }

    /// `entry[index]`, of an index that depends on the packet.
    pub(super) fn read_place(&mut self, path: u32, base: Word, index: Word) -> Result<Vec<Arm>> {
        let mut arms = Vec::new();
        self.at_each_place(path, base, index, &mut |context, name| {
            arms.extend(context.read_named(path, base, name)?);
            Ok(())
        })?;
        if self.state.alive() {
            arms.extend(self.only(Abs::Nil)?);
        }
        Ok(arms)
    }

    /// `entry[index] = value`, of an index that depends on the packet: an error where the list has no such place, unless nil is
    /// assigned.
    pub(super) fn write_place(&mut self, path: u32, base: Word, index: Word, value: &Abs) -> Result<()> {
        let (table, _) = self.known.shared.paths[path as usize];
        let (mut done, mut assigned) = (Vec::new(), Vec::new());
        self.at_each_place(path, base, index, &mut |context, name| {
            assigned.push(context.assign_named(path, base, name, value)?);
            done.push(context.take_state());
            Ok(())
        })?;
        if self.state.alive() {
            let message =
                format!("index out of bounds of a list in table '{}'", self.snapshot.table_name(table));
            self.each(value, &mut |context, value| {
                if value != Abs::Nil {
                    context.fail(Message::new(&message));
                }
                Ok(())
            })?;
            done.push(self.take_state());
        }
        self.enter(done)?;
        assigned.into_iter().for_each(|field| self.forget_field(path, field));
        Ok(())
    }

    /// `#entry` (Lua manual § 3.4.7): the number of places before the first that is nil.
    pub fn entry_length(&mut self, path: u32, base: Word) -> Result<Abs> {
        let places = self.places_of(path, base)?;
        let Some((at, ty)) = self.record_of(path, base)? else { return Ok(Abs::int(0)) };
        let there = self.load(at.base, at.disp, Size::B8, false);
        let (mut length, mut all) = (Word::Imm(0), Word::Imm(1));
        for (place, next) in places.into_iter().zip(1..) {
            let field = position_name(place).and_then(|name| ty.field(&name));
            let Some((number, ..)) = field.filter(|_| place == next) else { break };
            let bit = self.shr(there, number as i64);
            all = self.binary(BinaryOp::And, all, bit);
            length = self.add(length, all);
        }
        Ok(Abs::Int(length))
    }
}
