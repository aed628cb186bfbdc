//! What is known of the records that handlers put in front of packets (`pkt.meta`): the fields that some handler assigns and some handler reads. What
//! nobody reads needs no place.

use crate::hashing;
use moonhook_ir::Loc;
pub use moonhook_packet::protocols::MOST_FIELDS;
use moonhook_packet::protocols::{Kinds, Records};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Default, Debug)]
pub struct NoteFields {
    /// Handlers put records there.
    is_used: bool,
    assigned: BTreeMap<Arc<[u8]>, Kinds>,
    read: BTreeSet<Arc<[u8]>>,
    /// Of general code: where one is put there.
    pub place: Option<Loc>,
}

impl NoteFields {
    /// Records whose fields have the names that are assigned, and may be integers and booleans. Of these, only what is read is kept.
    pub fn of(assigned: BTreeSet<Arc<[u8]>>, read: BTreeSet<Arc<[u8]>>) -> NoteFields {
        let mut known = NoteFields { is_used: true, read, ..NoteFields::default() };
        known.assign_all(assigned);
        known
    }

    /// Adds fields that may be integers and booleans.
    pub fn assign_all(&mut self, names: impl IntoIterator<Item = Arc<[u8]>>) {
        let kinds = Kinds { integer: true, boolean: true };
        self.assigned.extend(names.into_iter().map(|name| (name, kinds)));
    }

    /// The names of all fields that are assigned, also if nobody reads them.
    pub fn assigned(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        self.assigned.keys()
    }

    pub fn is_assigned(&self, name: &[u8]) -> bool {
        self.assigned.contains_key(name)
    }

    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// Takes note that records are put there; says whether that is new, as the others do.
    pub fn note_used(&mut self) -> bool {
        !std::mem::replace(&mut self.is_used, true)
    }

    /// Takes note that a field is assigned.
    pub fn note_assigned(&mut self, name: &Arc<[u8]>, kinds: Kinds) -> bool {
        let known = self.assigned.entry(name.clone()).or_default();
        let all = Kinds { integer: known.integer || kinds.integer, boolean: known.boolean || kinds.boolean };
        std::mem::replace(known, all) != all && self.read.contains(name)
    }

    /// Takes note that a field is read.
    pub fn note_read(&mut self, name: &[u8]) -> bool {
        !self.read.contains(name) && self.read.insert(name.into()) && self.assigned.contains_key(name)
    }

    /// The fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&Arc<[u8]>, Kinds)> {
        let kinds = self.assigned.iter().filter(|(name, _)| self.read.contains(*name));
        kinds.map(|(name, kinds)| (name, *kinds))
    }

    /// A field's number, and what it may be; `None` of one that nobody reads, or that is never there.
    pub fn find(&self, name: &[u8]) -> Option<(usize, Kinds)> {
        let mut fields = self.fields().enumerate();
        fields.find_map(|(number, (known, kinds))| (**known == *name).then_some((number, kinds)))
    }

    /// Whether there are more fields than a record can have.
    pub fn are_too_many(&self) -> bool {
        self.fields().count() > MOST_FIELDS
    }

    /// The records of the script whose file has that name.
    pub fn records(&self, script: &str) -> Option<Records> {
        if !self.is_used {
            return None;
        }
        let mut hash = hashing::of_bytes(script.as_bytes());
        for (name, kinds) in self.fields() {
            let kinds = i64::from(kinds.integer) | i64::from(kinds.boolean) << 1;
            hash = hashing::step(hashing::step(hash, hashing::of_bytes(name)), kinds);
        }
        let count = self.fields().count().min(MOST_FIELDS);
        Some(Records { count, signature: hash as u32 >> 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGER: Kinds = Kinds { integer: true, boolean: false };
    const BOOLEAN: Kinds = Kinds { integer: false, boolean: true };

    #[test]
    fn fields_are_what_is_assigned_and_read() {
        let mut known = NoteFields::default();
        assert_eq!(known.records("a.lua"), None);
        assert!(known.note_used() && !known.note_used());
        let [b, a] = ["b", "a"].map(|name| Arc::from(name.as_bytes()));
        assert!(!known.note_assigned(&b, INTEGER), "nobody reads it");
        assert!(known.note_read(b"b") && !known.note_read(b"b"));
        assert!(!known.note_read(b"a"), "nobody assigns it");
        assert_eq!(known.find(b"b"), Some((0, INTEGER)));
        assert!(known.note_assigned(&a, BOOLEAN) && !known.note_assigned(&a, BOOLEAN));
        assert_eq!(known.find(b"b"), Some((1, INTEGER)));
        assert!(known.note_assigned(&a, INTEGER));
        assert_eq!(known.find(b"a"), Some((0, Kinds { integer: true, boolean: true })));
    }

    #[test]
    fn the_signature_tells_lists_of_fields_apart() {
        let records = |names: &[(&str, Kinds)]| {
            let mut known = NoteFields::default();
            known.note_used();
            for (name, kinds) in names {
                known.note_assigned(&Arc::from(name.as_bytes()), *kinds);
                known.note_read(name.as_bytes());
            }
            known.records("a.lua").expect("there are records")
        };
        assert_eq!(records(&[("a", INTEGER), ("b", INTEGER)]), records(&[("b", INTEGER), ("a", INTEGER)]));
        assert_ne!(records(&[("a", INTEGER)]), records(&[("b", INTEGER)]));
        assert_ne!(records(&[("a", INTEGER)]), records(&[("a", BOOLEAN)]));
    }
}
