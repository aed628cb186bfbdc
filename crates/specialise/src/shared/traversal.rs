//! `pairs` and `next` of shared tables.
//!
//! A generic `for` over a shared table copies its keys ([`super::copied_keys`]) and takes them one by one, the last one first. What
//! it keeps is the number of bytes of the keys that are still to come, in the place of the state that Lua passes to an
//! iterator, which scripts cannot see. `next` with a key is a step of its own.

use super::access::plain_key;
use super::additions::{At, Load};
use super::copied_keys::{Extent, Keys};
use super::keys::Unfit;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::fields::Key;
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::shared::copied_keys::{key_at, start_behind};
use crate::shared::known::SharedTables;
use crate::shared::virtual_tables::is_key_record;
use crate::state::{Looked, State, Zero};
use crate::value::{Abs, Object, Word};
use moonhook_ir as ir;
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Address, Branches, PathState, Words};
use moonhook_schema::{Field, Schema, Type};
use moonhook_snapshot::{Snapshot, TableId};

/// What a generic `for` over a shared table holds: the iterator, and how much is still to come.
pub struct Traversal {
    pub iterator: Abs,
    pub left: Abs,
}

/// How a turn of a traversal begins: with no entry, or with one, whose key, value and what is left then are the arms' values.
pub struct Turn {
    pub end: Vec<State>,
    pub entries: Vec<Arm>,
}

/// What became of an entry whose key was copied.
#[derive(Default)]
pub struct Visit {
    /// It is there: its key and value are the arms' values.
    pub found: Vec<Arm>,
    pub missing: Vec<State>,
    /// Another entry may be there by now.
    pub moved: Vec<State>,
}

/// As Lua words it (`luaH_next` in ltable.c), where no entry can have such a key.
pub fn invalid_key() -> Message {
    Message::bare("invalid key to 'next'")
}

impl Context<'_> {
    /// Begins a traversal of all of the table.
    pub fn traverse(&mut self, table: TableId) -> Result<Traversal> {
        let depth = self.traversals_around();
        let left = match self.keys_of(table, depth, Extent::All)? {
            Some(keys) => self.copy_keys(table, &keys, Extent::All)?,
            None => Word::Imm(0),
        };
        let iterator = Abs::Object(Object::Traversal { table, depth });
        Ok(Traversal { iterator, left: Abs::Int(left) })
    }

    /// Goes through keys that a copy holds, of which `left` bytes are left, up to one whose entry is there: a path with key, value and the
    /// bytes that are left then, and one without values for the end. `key_at` gives the address of the key before so many bytes.
    pub fn next_present(
        &mut self,
        (table, map, schema): (TableId, ir::MapId, &Schema),
        left: Word,
        key_at: &mut dyn FnMut(&mut Self, Word) -> Result<ir::Value>,
    ) -> Result<Vec<Arm>> {
        self.repeat(&[left], &mut |context, variables| {
            let mut iteration = Iteration::default();
            let done = context.compare(CompareOp::Eq, variables[0], 0);
            let (done, more) = context.split(done);
            iteration.leave_in(done, vec![]);
            context.state = more;
            let left = context.sub(variables[0], schema.key_size() as i64);
            let key = key_at(context, left)?;
            let visit = context.visit_key(table, (map, schema), key)?;
            iteration.next.extend(visit.missing.into_iter().map(|state| (state, vec![left])));
            iteration.next.extend(visit.moved.into_iter().map(|state| (state, vec![variables[0]])));
            for mut arm in visit.found {
                arm.values.push(Abs::Int(left));
                iteration.exits.push(arm);
            }
            Ok(iteration)
        })
    }

    /// Goes on to the next entry that is there. The current state is dead afterwards.
    pub fn traverse_on(&mut self, table: TableId, depth: u32, left: Word) -> Result<Turn> {
        let mut turn = Turn { end: Vec::new(), entries: Vec::new() };
        let Some(keys) = self.keys_of(table, depth, Extent::All)? else {
            turn.end.push(self.take_state());
            return Ok(turn);
        };
        let place = (table, keys.map, &*keys.schema);
        let exits = self.next_present(place, left, &mut |context, left| key_at(context, &keys, left))?;
        for exit in exits {
            match exit.values.is_empty() {
                true => turn.end.push(exit.state),
                false => turn.entries.push(exit),
            }
        }
        Ok(turn)
    }

    /// `next(table, key)`: the entry behind the one with that key, or nil; for nil the first one. A key that the table may have but
    /// has not is as good: the entry may have been deleted, which Lua allows (manual § 6.2), also by another CPU.
    pub fn next_entry(&mut self, table: TableId, key: &Abs) -> Result<Vec<Arm>> {
        let steps = self.steps(table, *key != Abs::Nil)?;
        let extent = if steps { Extent::Next } else { Extent::One };
        let depth = self.traversals_around();
        let Some(keys) = self.keys_of(table, depth, extent)? else { return self.no_entry_behind(key) };
        if steps {
            self.put_start(table, &keys, key)?;
        }
        // Again where another CPU deletes the entry in between.
        self.repeat(&[], &mut |context, _| {
            let mut iteration = Iteration::default();
            let found = context.copy_keys(table, &keys, extent)?;
            let none = context.compare(CompareOp::Eq, found, 0);
            let (none, found) = context.split(none);
            context.state = none;
            if extent == Extent::One {
                context.spend_look(&keys);
            }
            let none = context.take_state();
            iteration.leave_in(none, vec![Abs::Nil]);
            context.state = found;
            let key = key_at(context, &keys, Word::Imm(0))?;
            let visit = context.visit_key(table, (keys.map, &keys.schema), key)?;
            let gone = visit.missing.into_iter().chain(visit.moved);
            iteration.next.extend(gone.map(|state| (state, vec![])));
            iteration.exits.extend(visit.found);
            Ok(iteration)
        })
    }

    /// Looks up a key that was copied, at an address that is no one else's.
    pub fn visit_key(
        &mut self,
        table: TableId,
        (map, schema): (ir::MapId, &Schema),
        key: ir::Value,
    ) -> Result<Visit> {
        let mut visit = Visit::default();
        let entry = self.present_entry(map, schema, key, &mut visit.missing);
        for arm in self.key_and_value(table, (map, schema), [key, entry], &mut visit.moved)? {
            let moved = self.confirmed((map, schema), key, entry, arm, &mut visit.found);
            visit.moved.extend(moved);
        }
        Ok(visit)
    }

    /// Whether handlers go from one key of the table to the next, so that `next(table)` must be the first one of all.
    fn steps(&mut self, table: TableId, here: bool) -> Result<bool> {
        if here && !self.known.shared.know(self.snapshot, table).steps {
            self.findings.stop_if_stale()?;
            self.known.shared.know(self.snapshot, table).steps = true;
            self.learned()?;
        }
        Ok(self.known.shared.know(self.snapshot, table).steps)
    }

    /// What follows a key in a table that nothing is in.
    fn no_entry_behind(&mut self, key: &Abs) -> Result<Vec<Arm>> {
        let mut none = Vec::new();
        for (state, key) in self.alternatives(key)? {
            self.state = state;
            match key {
                Abs::Nil => none.extend(self.only(Abs::Nil)?),
                _ => self.fail(invalid_key()),
            }
        }
        Ok(none)
    }

    /// Makes the next step start behind a key, of any type.
    fn put_start(&mut self, table: TableId, keys: &Keys, key: &Abs) -> Result<()> {
        let mut done = Vec::new();
        for (state, key) in self.alternatives(key)? {
            self.state = state;
            if let Abs::Float(x @ Word::Value(_)) = key {
                let [(integral, integer), (broken, _)] = self.split_integral(x)?;
                self.state = broken;
                self.fail(invalid_key());
                self.state = integral;
                self.put_start_of(table, keys, &integer)?;
            } else {
                self.put_start_of(table, keys, &plain_key(&key))?;
            }
            done.push(self.take_state());
        }
        self.enter(done)
    }

    fn put_start_of(&mut self, table: TableId, keys: &Keys, key: &Abs) -> Result<()> {
        match key {
            Abs::Nil => start_behind(self, keys, None),
            Abs::Float(_) | Abs::Object(_) | Abs::Entry { .. }
                if !is_key_record(self.snapshot, table, key) =>
            {
                self.fail(invalid_key());
            }
            key => {
                self.check_comparable(table, &keys.schema.key, key)?;
                let mut unfit = Unfit::default();
                let address = self.key_address(&keys.schema.key, key, &mut unfit)?;
                self.fail_in(unfit.states(), |context| {
                    context.fail(invalid_key());
                    Ok(())
                })?;
                if self.state.alive() {
                    start_behind(self, keys, Some(address));
                }
            }
        }
        Ok(())
    }

    /// Passes an arm on to `exits` where the key still has the entry its value is from, and gives the state where it has not:
    /// the kernel may give a deleted entry's memory to another key at once (`kernel/bpf/hashtab.c`), whose value was read
    /// then.
    fn confirmed(
        &mut self,
        (map, schema): (ir::MapId, &Schema),
        key: ir::Value,
        entry: ir::Value,
        arm: Arm,
        exits: &mut Vec<Arm>,
    ) -> Vec<State> {
        self.state = arm.state;
        let mut moved = Vec::new();
        // Of a record, what is read was copied and confirmed, or it is a single word that is read later.
        if !matches!(schema.value, Type::Record(_)) {
            self.leave_moved(map, [key, entry], &mut moved);
        }
        exits.push(Arm { state: self.take_state(), values: arm.values });
        moved
    }

    /// Key and value of an entry that is there, with one arm for each way of getting them. For general code, a record is the address
    /// of a copy in packet memory.
    fn key_and_value(
        &mut self,
        table: TableId,
        (map, schema): (ir::MapId, &Schema),
        [key_bytes, entry]: [ir::Value; 2],
        moved: &mut Vec<State>,
    ) -> Result<Vec<Arm>> {
        let key = self.key_value(Address { base: key_bytes, disp: 0 }, &schema.key, 0)?.0;
        // A record's fields may change, and it is another key then.
        let mut identity = Looked::held_key(entry.into());
        if !matches!(key, Abs::Object(_)) {
            identity = self.state.key_identity(&self.code.same, &key);
            self.known.shared.additions.note_lookup(table, identity.clone(), entry);
            self.state.facts.set_looked(table, &identity, entry.into(), Zero::Never);
        }
        let place = ((table, &identity), (map, schema));
        if let Some(copy) = self.around.copy_visited(self, place, [key_bytes, entry], moved)? {
            return Ok(vec![Arm { state: self.take_state(), values: vec![key, Abs::Int(copy)] }]);
        }
        let mut arms = match schema.value {
            Type::Record(_) => {
                let record = self.known.shared.entry(table, Vec::new(), entry);
                self.only(record)?
            }
            ref ty => {
                let at = Address { base: entry, disp: schema.value_offset() as i16 };
                let found = self.value_arms(at, ty)?;
                if !matches!(key, Abs::Object(_)) {
                    let identity = self.state.key_identity(&self.code.same, &key);
                    self.known.shared.additions.note_loaded(
                        Load { table, key: Some(identity), at: At::Place(at), marker: entry, since: entry.0 },
                        &found,
                    );
                }
                found
            }
        };
        arms.iter_mut().for_each(|arm| arm.values.insert(0, key.clone()));
        Ok(arms)
    }

    /// A key as a Lua value. A record becomes a new table, the one with number `place` of this instruction; gives the next
    /// such number too.
    fn key_value(&mut self, at: Address, ty: &Type, place: usize) -> Result<(Abs, usize)> {
        let Type::Record(fields) = ty else {
            let arms = self.value_arms(at, ty)?;
            let value = self.join(arms)?.and_then(|values| values.into_iter().next());
            return Ok((value.unwrap_or(Abs::Nil), place));
        };
        let table = self.make_numbered_table(place);
        let (mut disp, mut next) = (at.disp, place + 1);
        for Field { name, ty } in fields {
            let value;
            (value, next) = self.key_value(Address { disp, ..at }, ty, next)?;
            self.set_made_field(table, Key::of_field(name), value);
            disp += ty.key_size() as i16;
        }
        Ok((Abs::Object(Object::Made(table)), next))
    }
}

impl SharedTables {
    /// Whether handlers go from one key of the table to the next.
    pub fn steps_through(&mut self, snapshot: &Snapshot, table: TableId) -> bool {
        self.know(snapshot, table).steps
    }
}
