//! `t[k] = t[k] + n` and `t[k] = (t[k] or 0) + n`: atomic, and no count is lost however many CPUs do it at once.
//!
//! What a lookup gave is followed through arithmetic and joins: a value is an entry's value, counted as 0 where there is no
//! entry, plus something. Assigned to the entry that it came from, it becomes an addition to that entry.

use super::values::Place;
use crate::context::{Context, Result};
use crate::join::Arm;
use crate::same::{Identity, forget_values};
use crate::state::{Facts, State, Zero};
use crate::value::{Abs, Word};
use moonhook_ir as ir;
use moonhook_ir::{CompareOp, Op, Size};
use moonhook_shape::Shape;
use moonhook_snapshot::TableId;
use std::collections::{BTreeMap, HashMap};

pub(super) const EEXIST: i64 = 17;

/// Where values came from.
#[derive(Debug, Default)]
pub struct Additions {
    lookups: Vec<Lookup>,
    /// Values that are the address that a lookup gave, or 0.
    entries: BTreeMap<ir::Value, EntryOf>,
    loads: Vec<Load>,
    /// Values that are what a load gave plus something.
    sums: BTreeMap<ir::Value, Sum>,
    of_table: HashMap<TableId, OfTable>,
    /// Lookups before this one have keys that are equal to none.
    cleared: usize,
}

/// What there is of one table since something was last added to it.
#[derive(Debug, Default)]
struct OfTable {
    /// Lookups that hold.
    lookups: Vec<usize>,
    /// Values that are sums of what was loaded, and values that are others by now.
    sums: Vec<ir::Value>,
}

/// What a load gave plus something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    load: usize,
    added: Word,
    /// There was a word to load, on all ways.
    there: bool,
}

#[derive(Debug)]
struct Lookup {
    table: TableId,
    key: Identity,
    /// The address; stands in [`Facts::absent`] where there is no entry.
    entry: ir::Value,
}

/// What an address, or 0, is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntryOf {
    lookup: usize,
    /// 0 means that the lookup found nothing.
    zero_is_absent: bool,
}

/// A read of a word of an entry.
#[derive(Debug)]
pub(super) struct Load {
    pub table: TableId,
    /// Nothing for a field of a record.
    pub key: Option<Identity>,
    /// Where the word is; the base is 0 where there is no entry.
    pub at: Place,
    /// Stands in [`Facts::absent`] where there is no such word; it counts as 0 then.
    pub marker: ir::Value,
}

impl Additions {
    pub fn forget(&mut self, count: u32) {
        // What is added is never a later value than the sum.
        forget_values(&mut self.sums, count, drop);
        forget_values(&mut self.entries, count, drop);
    }

    fn add_sum(&mut self, value: ir::Value, sum: Sum) {
        self.of_table.entry(self.loads[sum.load].table).or_default().sums.push(value);
        self.sums.insert(value, sum);
    }

    /// Notes that `sum` is `a + b`.
    pub fn note_addition(&mut self, sum: Word, a: Word, b: Word) {
        let Word::Value(sum) = sum else { return };
        for (one, other) in [(a, b), (b, a)] {
            if let Word::Value(one) = one
                && let Some(sum_of) = self.sums.get(&one).copied()
            {
                let total = match (sum_of.added, other) {
                    (Word::Imm(0), other) => other,
                    (Word::Imm(x), Word::Imm(y)) => Word::Imm(x.wrapping_add(y)),
                    _ => return,
                };
                self.add_sum(sum, Sum { added: total, ..sum_of });
                return;
            }
        }
    }

    /// What the value of a join is, where `words` come on ways with these facts: a sum on some, and on the others, where there
    /// is no entry, what is added.
    pub fn of_join(&self, words: &[(Word, &Facts)]) -> Option<Sum> {
        let sum = |word: &Word| match word {
            Word::Value(value) => self.sums.get(value).copied(),
            Word::Imm(_) => None,
        };
        let mut whole = words.iter().find_map(|(word, _)| sum(word))?;
        let marker = self.loads[whole.load].marker;
        for (word, facts) in words {
            match sum(word) {
                Some(sum) if (sum.load, sum.added) == (whole.load, whole.added) => whole.there &= sum.there,
                None if *word == whole.added && facts.absent.contains(&marker) => whole.there = false,
                _ => return None,
            }
        }
        Some(whole)
    }

    /// The value as what is at a place of a record, plus what is given; and whether the field was there.
    pub(super) fn sum_at(&self, value: &Abs, place: Place) -> Option<(ir::Value, Word, bool)> {
        let Abs::Int(Word::Value(value)) = value else { return None };
        let sum = self.sums.get(value)?;
        let load = &self.loads[sum.load];
        (load.key.is_none() && load.at == place).then_some((*value, sum.added, sum.there))
    }

    /// Whether the key was looked up, and is not there.
    pub(super) fn is_absent(&self, table: TableId, key: &Identity, facts: &Facts) -> bool {
        let holding = self.of_table.get(&table).into_iter().flat_map(|of| &of.lookups);
        let mut same = holding.map(|lookup| &self.lookups[*lookup]).filter(|lookup| lookup.key == *key);
        same.any(|lookup| facts.absent.contains(&lookup.entry))
    }

    /// Whether the value is the address of the entry with that key.
    pub(super) fn is_entry(&self, table: TableId, key: &Identity, value: Word) -> bool {
        let Word::Value(value) = value else { return false };
        let lookup = self.entries.get(&value).map(|entry| &self.lookups[entry.lookup]);
        lookup.is_some_and(|lookup| lookup.table == table && lookup.key == *key)
    }

    /// What the value of a join is, where `words` come: an entry's address on some ways, and 0 on the others.
    pub fn entry_of_join(&self, words: &[(Word, &Facts)]) -> Option<EntryOf> {
        let entry = |word: &Word| match word {
            Word::Value(value) => self.entries.get(value).copied(),
            Word::Imm(_) => None,
        };
        let first = words.iter().find_map(|(word, _)| entry(word))?;
        let mut zero_is_absent = true;
        for (word, facts) in words {
            match (word, entry(word)) {
                (Word::Imm(0), _) => {
                    zero_is_absent &= facts.absent.contains(&self.lookups[first.lookup].entry);
                }
                (_, Some(entry)) if entry.lookup == first.lookup => zero_is_absent &= entry.zero_is_absent,
                _ => return None,
            }
        }
        Some(EntryOf { zero_is_absent, ..first })
    }

    pub fn set_entry(&mut self, value: Word, entry: EntryOf) {
        if let Word::Value(value) = value {
            self.entries.insert(value, entry);
        }
    }

    pub fn set(&mut self, value: Word, sum: Sum) {
        if let Word::Value(value) = value {
            self.add_sum(value, sum);
        }
    }
}

impl Context<'_> {
    /// Notes that an entry was looked up.
    pub(super) fn note_lookup(&mut self, table: TableId, key: Identity, entry: ir::Value) {
        let Additions { lookups, entries, of_table, .. } = &mut self.shared.additions;
        entries.insert(entry, EntryOf { lookup: lookups.len(), zero_is_absent: true });
        of_table.entry(table).or_default().lookups.push(lookups.len());
        lookups.push(Lookup { table, key, entry });
    }

    /// In `state`, `address` is 0.
    pub fn note_no_entry(&self, state: &mut State, address: Word) {
        let Additions { lookups, entries, .. } = &self.shared.additions;
        if let Word::Value(address) = address
            && let Some(entry) = entries.get(&address).filter(|entry| entry.zero_is_absent)
        {
            state.facts.absent.push(lookups[entry.lookup].entry);
        }
    }

    /// Notes that `arms` carry what was loaded.
    pub(super) fn note_load(&mut self, load: Load, arms: &[Arm]) {
        if let [Arm { values, .. }] = arms
            && let [Abs::Int(Word::Value(value))] = values.as_slice()
        {
            let additions = &mut self.shared.additions;
            additions.loads.push(load);
            let sum = Sum { load: additions.loads.len() - 1, added: Word::Imm(0), there: true };
            additions.add_sum(*value, sum);
        }
    }

    /// What was read of the table is not what a later addition adds to.
    pub(super) fn forget_sums(&mut self, table: TableId) {
        let Additions { loads, sums, of_table, .. } = &mut self.shared.additions;
        for value in of_table.remove(&table).unwrap_or_default().sums {
            if sums.get(&value).is_some_and(|sum| loads[sum.load].table == table) {
                sums.remove(&value);
            }
        }
    }

    /// The packet was written: what was looked up may have had another key.
    pub fn forget_lookups(&mut self) {
        let Additions { sums, lookups, cleared, .. } = &mut self.shared.additions;
        sums.clear();
        // Equal to no key from now on.
        lookups[*cleared..].iter_mut().for_each(|lookup| lookup.key.clear());
        *cleared = lookups.len();
        self.state.facts.looked.clear();
    }

    /// Assigns a value that is the entry's own plus something; says whether it is.
    pub(super) fn add_shared(
        &mut self,
        table: TableId,
        map: ir::MapId,
        shape: &Shape,
        key: &Abs,
        value: &Abs,
    ) -> Result<bool> {
        let Abs::Int(Word::Value(sum)) = value else { return Ok(false) };
        // What was read may be the value of a shorter prefix than the one that is assigned.
        if shape.is_prefixes() {
            return Ok(false);
        }
        let additions = &self.shared.additions;
        let Some(Sum { load, added, .. }) = additions.sums.get(sum).copied() else { return Ok(false) };
        let Load { table: from, key: of, at, .. } = &additions.loads[load];
        let identity = self.key_identity(key);
        if *from != table || of.as_ref() != Some(&identity) {
            return Ok(false);
        }
        let (at, sum) = (*at, *sum);
        self.entries_come(table);
        let missing = self.compare(CompareOp::Eq, at.base, 0);
        let (missing, found) = self.split(missing);
        self.state = found;
        self.state.facts.set_looked(table, &identity, at.base.into(), Zero::Never);
        let mut arms = self.add_to(shape, at, added)?;
        self.state = missing;
        self.mark_cold();
        let address = self.fitting_key(table, shape, key)?;
        let first = self.fitting_value(table, shape, &Abs::Int(added))?;
        let result = self.insert(map, address, first);
        let there = self.compare(CompareOp::Eq, result, -EEXIST);
        let (there, inserted) = self.split(there);
        self.state = inserted;
        self.check_full(table, result);
        arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(added)] });
        // Another CPU was faster.
        self.state = there;
        let entry = self.lookup(map, address);
        let gone = self.compare(CompareOp::Eq, entry, 0);
        let (gone, there) = self.split(gone);
        self.state = there;
        arms.extend(self.add_to(shape, Place { base: entry, ..at }, added)?);
        self.state = gone;
        let result = self.update(map, address, first, 0);
        self.check_full(table, result);
        arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(added)] });
        self.forget_sums(table);
        if let Some([Abs::Int(new)]) = self.join(arms)?.as_deref() {
            self.replace(sum, *new);
        }
        Ok(true)
    }

    pub(super) fn mark_cold(&mut self) {
        if let Some(block) = self.state.block {
            self.function.block_mut(block).cold = true;
        }
    }

    /// Adds to the word at a place of an entry that is there; each arm carries the new value.
    fn add_to(&mut self, shape: &Shape, at: Place, added: Word) -> Result<Vec<Arm>> {
        let Some(lifetime) = shape.lifetime else {
            let new = self.atomic_add(at, added);
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
        let before = self.emit(Op::AtomicAdd { size: Size::B8, base: at.base, disp: 0, value: distance });
        let first = self.compare(CompareOp::ULe, before, now);
        let (first, late) = self.split(first);
        self.state = first;
        let change = self.sub(added, stale);
        let new = self.atomic_add(at, change);
        let mut arms = vec![Arm { state: self.take_state(), values: vec![Abs::Int(new)] }];
        self.enter(vec![late, alive])?;
        let new = self.atomic_add(at, added);
        self.store(at.base, 0, Size::B8, deadline);
        arms.push(Arm { state: self.take_state(), values: vec![Abs::Int(new)] });
        Ok(arms)
    }

    /// Gives the new value.
    pub(super) fn atomic_add(&mut self, at: Place, added: Word) -> Word {
        let value = self.value(added);
        let old = self.emit(Op::AtomicAdd { size: Size::B8, base: at.base, disp: at.disp, value });
        self.add(old, added)
    }

    /// What was computed from a value read before gives way to the sum really stored.
    pub fn replace(&mut self, old: ir::Value, new: Word) {
        self.swap(&|value| (*value == Abs::Int(Word::Value(old))).then_some(Abs::Int(new)));
    }
}
