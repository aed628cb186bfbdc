//! `t[k] = t[k] + n` and `t[k] = (t[k] or 0) + n`, of values and of fields: atomic, and no count is lost however many CPUs do it
//! at once. Which values are such sums, [`super::additions`] knows.

use super::additions::{At, Load, Meeting, SameWord, Sum};
use super::assigned::Assigned;
use crate::context::{Context, Result};
use crate::paths::Arm;
use crate::shared::additions::Additions;
use crate::shared::map_calls::{EEXIST, atomic_add, insert, lookup, update};
use crate::state::State;
use crate::value::{Abs, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Operand, Size};
use moonhook_schema::Schema;
use moonhook_snapshot::TableId;
use std::ops::Range;

/// The words of a [`Meeting`], one for each path: the word's address, and what it held.
pub struct Met {
    pub column: usize,
    pub meeting: Meeting,
    pub address: Vec<Word>,
    pub old: Option<Vec<Word>>,
}

/// Fields that are not there, another one on each path to a join.
pub struct Missing {
    /// The table, and the first value that what was read depends on.
    of: (TableId, u32),
    pub addresses: Vec<Word>,
}

impl Context<'_> {
    /// What was read of the table is not what a later addition adds to.
    pub(super) fn forget_sums(&mut self, table: TableId) {
        self.forget_words(table, Assigned::All);
    }

    /// Makes the words of a meeting on each of the paths that meet, in their states.
    pub fn words_of_meeting(
        &mut self,
        column: usize,
        meeting: Meeting,
        values: &[Word],
        states: &mut [State],
    ) -> Met {
        let mut met = Met { column, address: Vec::new(), old: None, meeting };
        let mut old = Vec::new();
        for (path, state) in states.iter_mut().enumerate() {
            std::mem::swap(&mut self.state, state);
            let sum = met.meeting.sum(path).copied();
            met.address.push(match sum.map(|sum| sum.at) {
                None => Word::Imm(0),
                Some(_) if met.meeting.is_missing(path) => Word::Imm(0),
                Some(At::Address(address)) => address.into(),
                Some(At::Place(place)) if met.meeting.is_of_places() => place.base.into(),
                Some(At::Place(place)) => address_of(self, place).into(),
            });
            if met.meeting.needs_old() {
                old.push(sum.map_or(Word::Imm(0), |sum| held(self, values[path], &sum)));
            }
            std::mem::swap(&mut self.state, state);
        }
        met.old = met.meeting.needs_old().then_some(old);
        met
    }

    /// A marker for the nil of a union whose other words are in these columns: there is no such word as one of those met.
    pub fn nil_of_fields<'m>(
        &mut self,
        mut met: impl Iterator<Item = (&'m Met, &'m [Option<Word>; 2])>,
        columns: &Range<usize>,
    ) -> Option<ir::Value> {
        let of_union = |met: &Met| columns.contains(&met.column) && met.meeting.has_missing_fields();
        let (met, merged) = met.find(|(met, _)| of_union(met))?;
        let Some(Word::Value(address)) = merged[0] else { return None };
        let of = self.known.shared.additions.of_meeting(&met.meeting)?;
        let marker = self.value(Word::Imm(0));
        self.known.shared.additions.note_missing(of, address, marker);
        Some(marker)
    }

    /// Where on each of the paths that meet a field is not there, another one on each: their addresses, or 0, for
    /// [`Context::note_missing_of_join`].
    pub fn missing_where_met(&mut self, states: &mut [State]) -> Option<Missing> {
        let paths: Vec<_> = states.iter().map(|state| &state.facts).collect();
        let fields = self.known.shared.additions.missing_fields(&paths)?;
        let loads = &self.known.shared.additions.loads;
        let first = fields.iter().flatten().map(|load| &loads[*load]);
        let of = first.map(|load| (load.table, load.since)).reduce(|a, b| (a.0, a.1.min(b.1)))?;
        let ats: Vec<_> = fields.iter().map(|load| load.map(|load| loads[load].at)).collect();
        let mut addresses = Vec::new();
        for (at, state) in ats.into_iter().zip(states) {
            std::mem::swap(&mut self.state, state);
            addresses.push(match at {
                None => Word::Imm(0),
                Some(At::Address(address)) => address.into(),
                Some(At::Place(place)) => address_of(self, place).into(),
            });
            std::mem::swap(&mut self.state, state);
        }
        Some(Missing { of, addresses })
    }

    /// Notes behind a join what was not there on the paths to it.
    pub fn note_missing_of_join(&mut self, missing: &Missing, address: Word) {
        let Word::Value(address) = address else { return };
        let marker = self.value(Word::Imm(0));
        self.known.shared.additions.note_missing(missing.of, address, marker);
        self.state.facts.absent.push(marker);
    }

    /// What the value may be as the value of an entry of the table, or as a field of one.
    fn candidates(&self, value: &Abs, of: (TableId, bool)) -> Vec<Sum> {
        self.known.shared.additions.candidates(value, of, self.code.loop_start, &self.state.facts)
    }

    /// Assigns a value that is the entry's own plus something; says whether it is.
    pub(super) fn add_shared(
        &mut self,
        table: TableId,
        map: ir::MapId,
        schema: &Schema,
        key: &Abs,
        value: &Abs,
    ) -> Result<bool> {
        // What was read may be the value of a shorter prefix than the one that is assigned.
        if schema.is_prefixes() {
            return Ok(false);
        }
        let identity = self.state.key_identity(&self.code.same, key);
        let own = self.candidates(value, (table, false));
        let own = own.into_iter().find(|sum| self.known.shared.additions.is_of(sum, &identity));
        let (Some(sum), Abs::Int(Word::Value(total))) = (own, value) else { return Ok(false) };
        let At::Place(at) = sum.at else { return Ok(false) };
        let (added, total) = (addend(self, (*total).into(), &sum), *total);
        self.state.facts.entries_come(table);
        let missing = self.compare(CompareOp::Eq, at.base, 0);
        let (missing, found) = self.split(missing);
        self.state = found;
        self.state.facts.found_looked(table, &identity, at.base.into());
        let mut arms = self.add_to(schema, at, added)?;
        self.state = missing;
        self.make_cold();
        let address = self.fitting_key(table, schema, key)?;
        let first = self.fitting_value(table, schema, &Abs::Int(added))?;
        let result = insert(self, map, address, first);
        let there = self.compare(CompareOp::Eq, result, -EEXIST);
        let (there, inserted) = self.split(there);
        self.state = inserted;
        self.check_full(table, result);
        arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(added)] });
        // Another CPU was faster.
        self.state = there;
        let entry = lookup(self, map, address);
        let gone = self.compare(CompareOp::Eq, entry, 0);
        let (gone, there) = self.split(gone);
        self.state = there;
        arms.extend(self.add_to(schema, Address { base: entry, ..at }, added)?);
        self.state = gone;
        let result = update(self, map, address, first, 0);
        self.check_full(table, result);
        arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(added)] });
        if let Some([Abs::Int(new)]) = self.join(arms)?.as_deref() {
            self.state.replace(total, *new);
        }
        self.forget_words(table, Assigned::Value(identity));
        Ok(true)
    }

    /// Assigns to an entry that is there a value which may be its own plus something, where that turns out; goes on where it is not.
    pub(super) fn add_where_read(
        &mut self,
        table: TableId,
        schema: &Schema,
        entry: ir::Value,
        value: &Abs,
        done: &mut Vec<State>,
    ) -> Result<()> {
        let Abs::Int(Word::Value(total)) = *value else { return Ok(()) };
        for sum in self.candidates(value, (table, false)) {
            let At::Place(at) = sum.at else { continue };
            let same = self.compare(CompareOp::Eq, at.base, entry);
            let (same, other) = self.split(same);
            self.state = same;
            if self.state.alive() {
                let added = addend(self, total.into(), &sum);
                let arms = self.add_to(schema, Address { base: entry, ..at }, added)?;
                if let Some([Abs::Int(new)]) = self.join(arms)?.as_deref() {
                    self.state.replace(total, *new);
                }
                done.push(self.take_state());
            }
            self.state = other;
        }
        Ok(())
    }

    /// Assigns to a field a value which is, or may be, the field's own plus something, where it is; goes on where it is not.
    /// `record` is where the field's record is, and `number` the field's in it.
    pub(super) fn add_to_field(
        &mut self,
        table: TableId,
        (record, number): (Address, usize),
        field: Address,
        value: &Abs,
        done: &mut Vec<State>,
    ) -> Result<()> {
        let Abs::Int(Word::Value(total)) = *value else { return Ok(()) };
        for sum in self.candidates(value, (table, true)) {
            let other = match self.known.shared.additions.same_word(&sum, field) {
                SameWord::Never => continue,
                SameWord::Always => State { block: None, ..self.state.clone() },
                SameWord::If(address, whole) => {
                    let own = if whole { address_of(self, field) } else { field.base };
                    let same = self.compare(CompareOp::Eq, address, own);
                    let (same, other) = self.split(same);
                    self.state = same;
                    other
                }
            };
            if self.state.alive() {
                if !sum.there {
                    self.set_there(record, number, true)?;
                }
                let added = addend(self, total.into(), &sum);
                let new = atomic_add(self, field, added);
                self.state.replace(total, new);
                done.push(self.take_state());
            }
            self.state = other;
            if !self.state.alive() {
                break;
            }
        }
        Ok(())
    }

    /// Adds to the word at a place of an entry that is there; each arm carries the new value.
    fn add_to(&mut self, schema: &Schema, at: Address, added: Word) -> Result<Vec<Arm>> {
        let Some(lifetime) = schema.lifetime else {
            let new = atomic_add(self, at, added);
            return Ok(vec![Arm { state: self.take_state(), values: vec![Abs::Int(new)] }]);
        };
        let now = self.now();
        let deadline = self.add(now, lifetime as i64);
        let old_deadline = self.load(at.base, 0, Size::B8, false);
        let expired = self.compare(CompareOp::ULe, old_deadline, now);
        let (expired, alive) = self.split(expired);
        // Who moves an expired deadline first takes the old count away; all others add to what is there.
        self.state = expired;
        let stale = self.load(at.base, at.disp, Size::B8, false);
        let distance = self.sub(deadline, old_deadline);
        let distance = self.value(distance);
        let before = self.emit(Op::Atomic {
            op: ir::AtomicOp::Add,
            size: Size::B8,
            base: at.base,
            disp: 0,
            value: distance,
        });
        let first = self.compare(CompareOp::ULe, before, now);
        let (first, late) = self.split(first);
        self.state = first;
        let change = self.sub(added, stale);
        let new = atomic_add(self, at, change);
        let mut arms = vec![Arm { state: self.take_state(), values: vec![Abs::Int(new)] }];
        self.enter(vec![late, alive])?;
        let new = atomic_add(self, at, added);
        self.store(at.base, 0, Size::B8, deadline);
        arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(new)] });
        Ok(arms)
    }
}

fn address_of(words: &mut impl Words, place: Address) -> ir::Value {
    words.emit(Op::Binary(BinaryOp::Add, place.base, Operand::Imm(place.disp.into())))
}

/// What a word held of which a value is a sum.
fn held(words: &mut impl Words, value: Word, sum: &Sum) -> Word {
    match (sum.old, sum.added) {
        (Some(old), _) => old,
        (None, Some(added)) => words.sub(value, added),
        (None, None) => value,
    }
}

/// What was added to what a word held.
fn addend(words: &mut impl Words, value: Word, sum: &Sum) -> Word {
    match (sum.added, sum.old) {
        (Some(added), _) => added,
        (None, Some(old)) => words.sub(value, old),
        (None, None) => Word::Imm(0),
    }
}

impl State {
    /// What was computed from a value read before gives way to the sum really stored.
    pub fn replace(&mut self, old: ir::Value, new: Word) {
        self.swap(&|value| (*value == Abs::Int(Word::Value(old))).then_some(Abs::Int(new)));
    }
}

impl Additions {
    /// In `state`, `address` is 0.
    pub fn note_no_entry(&self, state: &mut State, address: Word) {
        if let Word::Value(address) = address {
            state.facts.absent.extend(self.absent_entry(address));
        }
    }

    /// In `state`, the tag of a union is `is`.
    pub fn note_tag(&self, state: &mut State, tag: Word, is: i64) {
        state.facts.absent.extend(self.absent_by_tag(tag, is));
    }

    /// Notes that `arms` carry what was loaded.
    pub(super) fn note_loaded(&mut self, load: Load, arms: &[Arm]) {
        if let [Arm { values, .. }] = arms
            && let [Abs::Int(Word::Value(value))] = values.as_slice()
        {
            self.note_load(*value, load);
        }
    }
}
