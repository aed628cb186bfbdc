//! Visiting the entries of stored tables (`pairs`).

use super::keys::{BOOLEAN, INTEGER, LONG};
use super::{E_KEY, E_NEXT, E_TAG, KeyType};
use crate::cells::ITERATOR;
use crate::context::{Context, Result};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::state::State;
use crate::stored::keys::long_slice;
use crate::value::{Abs, Object, Space, Str, Variant, Word};
use moonhook_ir::words::{Address, Branches, PathState, Words};
use moonhook_ir::{CompareOp, Size};

impl Context<'_> {
    /// The iterator of `pairs`; its state is the offset of the entry that was visited last (or of the header).
    pub fn traverse_stored(&mut self, table: u32) -> Object {
        let position = self.cell_number(ITERATOR);
        let number = self.known.stored.holds(table).map_or(0, |holds| holds.number);
        let header = self.options.header_offset(number);
        self.state.cells.insert(position, Abs::int(header));
        Object::Entries { table, position }
    }

    /// A call of the iterator: the next key and its value, or nil.
    pub fn next_stored(&mut self, table: u32, position: u32) -> Result<Vec<Arm>> {
        let from = match self.state.cells.get(&position) {
            Some(Abs::Int(from)) => *from,
            _ => Word::Imm(0),
        };
        let exits = self.repeat(&[from], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let last = context.entry_at(variables[0])?;
            let entry = context.load(last.base, last.disp + E_NEXT, Size::B8, false);
            let over = context.compare(CompareOp::Eq, entry, 0);
            let (over, within) = context.split(over);
            iteration.leave_in(over, vec![]);
            context.state = within;
            let place = context.entry_at(entry)?;
            let removed = context.split_removed(table, place);
            iteration.leave(context, vec![Abs::Int(entry)]);
            context.enter(removed.into_iter().collect())?;
            if context.state.alive() {
                iteration.again(context, vec![entry]);
            }
            Ok(iteration)
        })?;
        let (over, taken): (Vec<Arm>, Vec<Arm>) = exits.into_iter().partition(|arm| arm.values.is_empty());
        let mut arms = Vec::new();
        if let Some([Abs::Int(entry)]) = self.join(taken)?.as_deref() {
            arms = self.visit(table, position, *entry)?;
        }
        arms.extend(over.into_iter().map(|arm| Arm { state: arm.state, values: vec![Abs::Nil] }));
        Ok(arms)
    }

    /// Splits off the states in which an entry's value is nil: for `pairs` it is not there.
    fn split_removed(&mut self, table: u32, place: Address) -> Option<State> {
        if !self.known.stored.holds(table).is_some_and(|holds| holds.values.contains(&Variant::Nil)) {
            return None;
        }
        let tag = self.load(place.base, place.disp + E_TAG, Size::B8, false);
        let removed = self.compare(CompareOp::Eq, tag, Variant::Nil.tag());
        let (removed, there) = self.split(removed);
        self.state = there;
        Some(removed)
    }

    /// Key and value of an entry that is there.
    fn visit(&mut self, table: u32, position: u32, entry: Word) -> Result<Vec<Arm>> {
        self.state.cells.insert(position, Abs::Int(entry));
        let place = self.entry_at(entry)?;
        let value = self.entry_value(table, place, false);
        let keys = self.entry_key(table, place, entry)?;
        Ok(keys.into_iter().map(|(state, key)| Arm { state, values: vec![key, value.clone()] }).collect())
    }

    /// The key of an entry, by its kind.
    fn entry_key(&mut self, table: u32, place: Address, entry: Word) -> Result<Vec<(State, Abs)>> {
        let kinds: Vec<KeyType> = self
            .known
            .stored
            .holds(table)
            .map(|holds| holds.keys.iter().copied().collect())
            .unwrap_or_default();
        let first = self.load_at(place, Size::B8, false);
        let code = self.and(first, 0xff);
        let word = self.load(place.base, place.disp + E_KEY, Size::B8, false);
        let mut keys = Vec::new();
        for (index, kind) in kinds.iter().enumerate() {
            if index + 1 < kinds.len() {
                let is = match kind {
                    KeyType::Boolean => self.compare(CompareOp::Eq, code, BOOLEAN),
                    KeyType::Integer => self.compare(CompareOp::Eq, code, INTEGER),
                    KeyType::Text => self.compare(CompareOp::ULe, code, LONG),
                };
                let (is, other) = self.split(is);
                self.state = is;
                let key = self.key_of_kind(*kind, code, word, entry)?;
                keys.push((self.take_state(), key));
                self.state = other;
            } else {
                let key = self.key_of_kind(*kind, code, word, entry)?;
                keys.push((self.take_state(), key));
            }
        }
        Ok(keys)
    }

    fn key_of_kind(&mut self, kind: KeyType, code: Word, word: Word, entry: Word) -> Result<Abs> {
        Ok(match kind {
            KeyType::Boolean => Abs::Bool(word),
            KeyType::Integer => Abs::Int(word),
            KeyType::Text => {
                let long = self.compare(CompareOp::Eq, code, LONG);
                let (long, short) = self.split(long);
                self.state = long;
                let slice = long_slice(self, word, Space::Scratch);
                let values = vec![Abs::Int(slice.start), Abs::Int(slice.length)];
                let mut arms = vec![Arm { state: self.take_state(), values }];
                self.state = short;
                // The bytes stand in the entry.
                let start = self.add(entry, i64::from(E_KEY));
                arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(start), Abs::Int(code)] });
                match self.join(arms)?.as_deref() {
                    Some([Abs::Int(start), Abs::Int(length)]) => {
                        Abs::Str(Str::Slice { space: Space::Scratch, start: *start, length: *length })
                    }
                    _ => Abs::Nil,
                }
            }
        })
    }
}
