//! Where numbers came from: what a word of an entry held, plus something. Assigned to the word that it came from, such a number is
//! an addition to that word ([`super::adding`]).
//!
//! What a lookup gave is followed through arithmetic and joins: a value is an entry's value, counted as 0 where there is no
//! entry, plus something. Where paths meet on which it came from different words, or from none, the word's address becomes
//! a variable of the join, so that the program can tell which word it was.

use super::addresses::{EntryOf, Lookup};
use crate::state::Facts;
use crate::value::{Abs, Identity, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, forget_values};
use moonhook_snapshot::TableId;
use std::collections::{BTreeMap, HashMap};

/// Words that one value is followed to at most: of `t[a] + t[b]`, both.
const MOST: usize = 4;

/// Where values came from.
#[derive(Debug, Default)]
pub struct Additions {
    pub(super) lookups: Vec<Lookup>,
    /// Values that are the address that a lookup gave, or 0.
    pub(super) entries: BTreeMap<ir::Value, EntryOf>,
    /// Tags of unions: which one says that the word with a marker is not there.
    pub(super) nil_tags: BTreeMap<ir::Value, (i64, ir::Value)>,
    /// Addresses of entries: for a value that is one, or 0, that one.
    pub(super) roots: BTreeMap<ir::Value, ir::Value>,
    pub(super) loads: Vec<Load>,
    /// For a marker, the last load that has it.
    pub(super) marked: BTreeMap<ir::Value, usize>,
    /// Values that are what a load gave plus something.
    pub(super) sums: BTreeMap<ir::Value, Vec<Sum>>,
    pub(super) of_table: HashMap<TableId, OfTable>,
    /// Lookups before this one have keys that are equal to none.
    cleared: usize,
}

/// What there is of one table since something was last added to it.
#[derive(Debug, Default)]
pub(super) struct OfTable {
    /// Lookups that hold.
    pub lookups: Vec<usize>,
    /// Values that are sums of what was loaded, and values that are others by now.
    pub sums: Vec<ir::Value>,
}

/// What a word held plus something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    pub(super) load: usize,
    /// The first value that it depends on: in a loop, an older one is from an earlier turn.
    since: u32,
    pub(super) at: At,
    /// What the word held, if it is at hand.
    pub(super) old: Option<Word>,
    /// What was added; nothing where it is the difference to `old`.
    pub(super) added: Option<Word>,
    /// There was a word to load, on all paths.
    pub(super) there: bool,
    /// It is such a sum on all paths.
    everywhere: bool,
}

/// Where a word is. The base, or the address, is 0 where there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum At {
    Place(Address),
    Address(ir::Value),
}

/// A read of a word of an entry.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub table: TableId,
    /// Nothing for a field of a record.
    pub key: Option<Identity>,
    /// Where the word is; the base, or the address, is 0 where there is no entry.
    pub at: At,
    /// Stands in [`Facts::absent`] where there is no such word; it counts as 0 then.
    pub marker: ir::Value,
    /// The first value that what was read depends on.
    pub since: u32,
}

/// Whether two words are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SameWord {
    Always,
    Never,
    /// If this address is that of the place, its displacement included or not.
    If(ir::Value, bool),
}

/// What becomes of a sum where paths meet: the words of each path that the merged one needs, if they differ.
pub struct Meeting {
    load: usize,
    since: u32,
    there: bool,
    everywhere: bool,
    added: Option<Word>,
    disp: Option<i16>,
    paths: Vec<Option<Sum>>,
    missing: Vec<bool>,
    of_fields: bool,
}

impl Additions {
    pub fn forget(&mut self, count: u32) {
        // What a sum is made of is never a later value than the sum.
        forget_values(&mut self.sums, count, drop);
        forget_values(&mut self.entries, count, drop);
        forget_values(&mut self.roots, count, drop);
        forget_values(&mut self.marked, count, drop);
        forget_values(&mut self.nil_tags, count, drop);
    }

    /// Notes that `sum` is `a + b`.
    pub fn note_addition(&mut self, sum: Word, a: Word, b: Word) {
        for (one, other) in [(a, b), (b, a)] {
            let added = |known: &Sum| match (known.added?, other) {
                (Word::Imm(0), other) => Some(other),
                (Word::Imm(x), Word::Imm(y)) => Some(Word::Imm(x.wrapping_add(y))),
                _ => None,
            };
            self.note_change(sum, one, &added);
        }
    }

    /// Notes that `difference` is `from` less something.
    pub fn note_difference(&mut self, difference: Word, from: Word) {
        self.note_change(difference, from, &|_| None);
    }

    fn note_change(&mut self, new: Word, from: Word, added: &dyn Fn(&Sum) -> Option<Word>) {
        let (Word::Value(new), Word::Value(from)) = (new, from) else { return };
        for sum in self.sums.get(&from).cloned().unwrap_or_default() {
            let added = added(&sum);
            // Without either of them nothing tells how much it is.
            if (added.is_some() || sum.old.is_some()) && new != from {
                self.set(new, Sum { added, ..sum });
            }
        }
    }

    fn set(&mut self, value: ir::Value, sum: Sum) {
        let sums = self.sums.entry(value).or_default();
        if sums.len() < MOST && !sums.contains(&sum) {
            sums.push(sum);
            self.of_table.entry(self.loads[sum.load].table).or_default().sums.push(value);
        }
    }

    /// Notes that a value is what a load gave.
    pub(super) fn note_load(&mut self, value: ir::Value, load: Load) {
        let at = load.at;
        self.add_load(load);
        let (old, added) = (Some(Word::Value(value)), Some(Word::Imm(0)));
        let sum =
            Sum { load: self.loads.len() - 1, since: value.0, at, old, added, there: true, everywhere: true };
        self.of_table.entry(self.loads[sum.load].table).or_default().sums.push(value);
        self.sums.insert(value, vec![sum]);
    }

    fn add_load(&mut self, load: Load) {
        self.marked.insert(load.marker, self.loads.len());
        self.loads.push(load);
    }

    /// How the words that a join merges came from words of entries, on paths with these facts.
    pub fn meetings(&self, paths: &[(Word, &Facts)]) -> Vec<Meeting> {
        let mut found: Vec<Meeting> = Vec::new();
        for (word, _) in paths {
            for sum in self.sums_of(*word) {
                let known = found.iter().any(|meeting| meeting.paths.contains(&Some(*sum)));
                if !known && found.len() < MOST {
                    found.push(self.meeting(sum, paths));
                }
            }
        }
        found
    }

    fn sums_of(&self, word: Word) -> &[Sum] {
        match word {
            Word::Value(value) => self.sums.get(&value).map_or(&[], Vec::as_slice),
            Word::Imm(_) => &[],
        }
    }

    fn meeting(&self, first: &Sum, paths: &[(Word, &Facts)]) -> Meeting {
        let own: Vec<Option<Sum>> =
            paths.iter().map(|(word, facts)| self.counterpart(first, *word, facts)).collect();
        let all = || own.iter().flatten();
        let of_place = |sum: &Sum| match sum.at {
            At::Place(place) => Some(place.disp),
            At::Address(_) => None,
        };
        let load = &self.loads[first.load];
        // What was read of an entry that is there comes in a value.
        let is_missing = |(own, (word, _)): (&Option<Sum>, &(Word, &Facts))| {
            load.key.is_some() && own.is_some() && self.sums_of(*word).is_empty()
        };
        let missing = own.iter().zip(paths).map(is_missing).collect();
        let one_key = all().all(|sum| self.loads[sum.load].key == load.key);
        Meeting {
            // A key that is equal to no other one stands for several.
            load: if one_key { first.load } else { usize::MAX },
            since: all().map(|sum| sum.since).min().unwrap_or(0),
            there: own.iter().all(|sum| sum.is_some_and(|sum| sum.there)),
            everywhere: own.iter().all(|sum| sum.is_some_and(|sum| sum.everywhere)),
            // What is added on some paths only is not known where they meet.
            added: first.added.filter(|added| {
                let everywhere = matches!(added, Word::Imm(_)) || own.iter().all(Option::is_some);
                everywhere && all().all(|sum| sum.added == Some(*added))
            }),
            disp: of_place(first).filter(|disp| all().all(|sum| of_place(sum) == Some(*disp))),
            paths: own,
            missing,
            of_fields: load.key.is_none(),
        }
    }

    /// Where a word that comes on another path came from, if it is the same kind of word.
    fn counterpart(&self, first: &Sum, word: Word, facts: &Facts) -> Option<Sum> {
        let load = &self.loads[first.load];
        let alike = |other: &Load| other.table == load.table && other.key.is_some() == load.key.is_some();
        let sums = self.sums_of(word);
        let same = sums.iter().find(|sum| sum.load == first.load);
        if let Some(sum) = same.or_else(|| sums.iter().find(|sum| alike(&self.loads[sum.load]))) {
            return Some(*sum);
        }
        // There is no such word, and it is as if it were 0.
        let added = first.added.filter(|added| *added == word)?;
        let absent = || facts.absent.iter().rev().filter_map(|marker| self.marked.get(marker).copied());
        let number = match facts.absent.contains(&load.marker) {
            true => first.load,
            false => absent().find(|number| alike(&self.loads[*number]))?,
        };
        let Load { at, since, .. } = self.loads[number];
        // An address that was merged may be that of another word, or 0.
        let everywhere = matches!(at, At::Place(_));
        Some(Sum {
            load: number,
            since,
            at,
            old: Some(Word::Imm(0)),
            added: Some(added),
            there: false,
            everywhere,
        })
    }

    /// Notes what a merged value is: its address and what it held, merged.
    pub fn meet(&mut self, value: Word, meeting: &Meeting, [address, old]: [Option<Word>; 2]) {
        let (Word::Value(value), Some(Word::Value(address))) = (value, address) else { return };
        let mut load = meeting.load;
        if load == usize::MAX {
            let first = meeting.paths.iter().flatten().next().map(|sum| self.loads[sum.load].clone());
            let Some(first) = first else { return };
            self.loads.push(Load { key: Some(Vec::new()), ..first });
            load = self.loads.len() - 1;
        }
        let at = match meeting.disp {
            Some(disp) => At::Place(Address { base: address, disp }),
            None => At::Address(address),
        };
        // Nothing added: the value is what the word holds.
        let old = old.or_else(|| (meeting.added == Some(Word::Imm(0))).then_some(Word::Value(value)));
        let Meeting { since, added, there, everywhere, .. } = *meeting;
        self.set(value, Sum { load, since, at, old, added, there, everywhere });
    }

    /// The table of the fields of a meeting, and the first value that what was read depends on.
    pub(super) fn of_meeting(&self, meeting: &Meeting) -> Option<(TableId, u32)> {
        let first = meeting.paths.iter().flatten().next()?;
        Some((self.loads[first.load].table, meeting.since))
    }

    /// Fields of one table that were not there, others on each path: for each path the one read last, if any. Nothing where that is so on
    /// less than two.
    pub(super) fn missing_fields(&self, paths: &[&Facts]) -> Option<Vec<Option<usize>>> {
        let field = |marker: &ir::Value| {
            let load = *self.marked.get(marker)?;
            self.loads[load].key.is_none().then_some(load)
        };
        let last = |facts: &&Facts| facts.absent.iter().rev().find_map(field);
        let (with, first) = paths.iter().enumerate().find_map(|(path, facts)| Some((path, last(facts)?)))?;
        let table = self.loads[first].table;
        let of_table = |facts: &&Facts| last(facts).filter(|load| self.loads[*load].table == table);
        let fields: Vec<_> = paths.iter().map(of_table).collect();
        fields[with + 1..].iter().flatten().any(|field| *field != first).then_some(fields)
    }

    /// Notes that a field at that address, or none if it is 0, is not there where a marker, which is a value of its own, says so.
    pub(super) fn note_missing(
        &mut self,
        (table, since): (TableId, u32),
        address: ir::Value,
        marker: ir::Value,
    ) {
        self.add_load(Load { table, key: None, at: At::Address(address), marker, since });
    }

    /// What the value may be as the value of an entry of the table, or as a field of one.
    pub(super) fn candidates(
        &self,
        value: &Abs,
        (table, field): (TableId, bool),
        loop_start: u32,
        facts: &Facts,
    ) -> Vec<Sum> {
        let Abs::Int(word) = value else { return Vec::new() };
        let fits = |sum: &&Sum| {
            let load = &self.loads[sum.load];
            load.table == table
                && load.key.is_none() == field
                && sum.since >= loop_start
                && !facts.assigned.iter().any(|assignment| assignment.is_of(sum.since, load, sum.at))
        };
        self.sums_of(*word).iter().filter(fits).copied().collect()
    }

    /// Whether a field that was read is the one at a place.
    pub(super) fn same_word(&self, sum: &Sum, place: Address) -> SameWord {
        match sum.at {
            At::Address(address) => SameWord::If(address, true),
            At::Place(own) if own.disp != place.disp => SameWord::Never,
            At::Place(own) if sum.everywhere && self.is_one_entry(own.base, place.base) => SameWord::Always,
            At::Place(own) => SameWord::If(own.base, false),
        }
    }

    /// Whether a value that was read is surely that of the entry with the key.
    pub(super) fn is_of(&self, sum: &Sum, key: &Identity) -> bool {
        sum.everywhere && self.loads[sum.load].key.as_ref() == Some(key)
    }

    /// What was looked up may have had another key.
    pub fn forget_keys(&mut self) {
        self.sums.clear();
        // Equal to no key from now on.
        self.lookups[self.cleared..].iter_mut().for_each(|lookup| lookup.key.clear());
        self.cleared = self.lookups.len();
    }
}

impl Meeting {
    /// Whether the words are fields, of which some may not be there.
    pub(super) fn has_missing_fields(&self) -> bool {
        let missing = || self.paths.iter().flatten().any(|sum| !sum.there);
        self.of_fields && self.added == Some(Word::Imm(0)) && missing()
    }

    /// The sum that comes on a path, if one does.
    pub(super) fn sum(&self, path: usize) -> Option<&Sum> {
        self.paths[path].as_ref()
    }

    /// Whether there is no entry on a path, so that the word's base is 0.
    pub(super) fn is_missing(&self, path: usize) -> bool {
        self.missing[path]
    }

    /// Whether all words are at one displacement from their bases.
    pub(super) fn is_of_places(&self) -> bool {
        self.disp.is_some()
    }

    /// Whether what the words held has to be merged too, because different things were added.
    pub(super) fn needs_old(&self) -> bool {
        self.added.is_none()
    }
}
