//! Which values are addresses of entries, and what it says that one of them is 0, or that the tag of a union is nil: what a lookup gave
//! is followed through joins.

use super::additions::Additions;
use crate::state::Facts;
use crate::value::Identity;
use crate::value::Word;
use moonhook_ir as ir;
use moonhook_snapshot::TableId;

#[derive(Debug)]
pub(super) struct Lookup {
    pub table: TableId,
    pub key: Identity,
    /// The address; stands in [`Facts::absent`] where there is no entry.
    pub entry: ir::Value,
}

/// What an address, or 0, is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntryOf {
    lookup: usize,
    /// 0 means that the lookup found nothing.
    zero_is_absent: bool,
}

impl Additions {
    /// Whether the key was looked up, and is not there.
    pub(super) fn is_absent(&self, table: TableId, key: &Identity, facts: &Facts) -> bool {
        let holding = self.of_table.get(&table).into_iter().flat_map(|of| &of.lookups);
        let mut same = holding.map(|lookup| &self.lookups[*lookup]).filter(|lookup| lookup.key == *key);
        let holds =
            |since: u32| !facts.assigned.iter().any(|assignment| assignment.ends_lookup(table, since));
        same.any(|lookup| facts.absent.contains(&lookup.entry) && holds(lookup.entry.0))
    }

    /// Whether the value is the address of the entry with that key.
    pub(super) fn is_entry(&self, table: TableId, key: &Identity, value: Word) -> bool {
        let Word::Value(value) = value else { return false };
        let lookup = self.entries.get(&value).map(|entry| &self.lookups[entry.lookup]);
        lookup.is_some_and(|lookup| lookup.table == table && lookup.key == *key)
    }

    /// What the lookup that gave the address, or 0, is known by where there is no entry.
    pub(super) fn absent_entry(&self, address: ir::Value) -> Option<ir::Value> {
        let entry = self.entries.get(&address).filter(|entry| entry.zero_is_absent)?;
        Some(self.lookups[entry.lookup].entry)
    }

    pub(super) fn note_lookup(&mut self, table: TableId, key: Identity, entry: ir::Value) {
        self.entries.insert(entry, EntryOf { lookup: self.lookups.len(), zero_is_absent: true });
        self.of_table.entry(table).or_default().lookups.push(self.lookups.len());
        self.lookups.push(Lookup { table, key, entry });
    }

    /// What the value of a join is, where `words` come: an entry's address on some paths, and 0 on the others.
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

    /// The address of an entry that a value is, if it is not 0.
    fn root(&self, value: ir::Value) -> ir::Value {
        self.roots.get(&value).copied().unwrap_or(value)
    }

    /// Whether two addresses are those of one entry, if neither is 0.
    pub(super) fn is_one_entry(&self, a: ir::Value, b: ir::Value) -> bool {
        self.root(a) == self.root(b)
    }

    /// Which value stands for all that are joined, if they are one address or 0.
    pub fn root_of_join(&self, words: &[(Word, &Facts)]) -> Option<ir::Value> {
        let mut roots = words.iter().filter_map(|(word, _)| match word {
            Word::Value(value) => Some(Some(self.root(*value))),
            Word::Imm(0) => None,
            Word::Imm(_) => Some(None),
        });
        let first = roots.next()??;
        roots.all(|root| root == Some(first)).then_some(first)
    }

    /// What it says that the tag which is joined is `nil`: the words are those that come on paths with these facts.
    pub fn nil_of_join(&self, nil: i64, words: &[(Word, &Facts)]) -> Option<ir::Value> {
        let (_, facts) = words.iter().find(|(word, _)| *word == Word::Imm(nil))?;
        let says = |marker: ir::Value| {
            words.iter().all(|(word, facts)| match word {
                Word::Imm(tag) => *tag != nil || facts.absent.contains(&marker),
                Word::Value(tag) => self.nil_tags.get(tag) == Some(&(nil, marker)),
            })
        };
        // Of a field, the entry's address may not be at hand there.
        let of_entry =
            |marker: &ir::Value| self.marked.get(marker).is_some_and(|load| self.loads[*load].key.is_some());
        facts.absent.iter().rev().copied().find(|marker| of_entry(marker) && says(*marker))
    }

    pub fn set_nil(&mut self, tag: Word, nil: i64, marker: ir::Value) {
        if let Word::Value(tag) = tag {
            self.nil_tags.insert(tag, (nil, marker));
        }
    }

    /// What is not there where the tag of a union has that value.
    pub(super) fn absent_by_tag(&self, tag: Word, is: i64) -> Option<ir::Value> {
        let Word::Value(tag) = tag else { return None };
        self.nil_tags.get(&tag).filter(|(nil, _)| *nil == is).map(|(_, marker)| *marker)
    }

    pub fn set_root(&mut self, value: Word, root: ir::Value) {
        if let Word::Value(value) = value
            && value != root
        {
            self.roots.insert(value, root);
        }
    }
}
