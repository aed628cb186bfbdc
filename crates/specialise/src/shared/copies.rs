//! Copies of entries, for expanded code ([`super::packet_copies`] has those of general code). What a handler reads of an entry in several words is read at once, when the entry is looked up, and the
//! copy is confirmed: the kernel may give a deleted or replaced entry's memory to another one at any time
//! (`kernel/bpf/hashtab.c`), so that half of what is read there may be another key's, or another assignment's.
//!
//! Which fields these are is learned by lowering the handlers without copies: those that something depends on, if there are
//! several, or if one has several words. What only an addition depends on is not read ([`super::adding`]). So who counts, and
//! who reads a single number, pays nothing.
//!
//! A copy is good if the key still has the same entry, and the same *version*: a random number, which each assignment of a
//! whole record puts into those bits of the record's first word that stand for no field. The entry's own element tells its key
//! ([`super::elements`]), or where it cannot be read, a second lookup. What the handler then assigns in place is read in place.

use super::known::FieldPath;
use crate::context::{Context, Result, Stop};
use crate::loops::Iteration;
use crate::paths::Arm;
use crate::shared::additions::Additions;
use crate::shared::known::SharedTables;
use crate::shared::map_calls::lookup;
use crate::state::{Copied, Facts, Looked, State};
use crate::value::{Abs, Identity, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size, helper};
use moonhook_schema::mixed::{STRING, WORD};
use moonhook_schema::{Schema, Type};
use moonhook_snapshot::{Snapshot, TableId};
use std::collections::{BTreeMap, BTreeSet};

impl Context<'_> {
    /// Notes that a value of an entry is read; `arms` are what it is.
    pub(super) fn note_read_of_entry(&mut self, table: TableId, path: FieldPath, ty: &Type, arms: &[Arm]) {
        if !self.around.learns() || matches!(ty, Type::Record(_)) {
            return;
        }
        let word = match arms {
            [Arm { values, .. }] if ty.size() == 8 => match values.as_slice() {
                [Abs::Int(Word::Value(value)) | Abs::Float(Word::Value(value))] => Some(*value),
                _ => None,
            },
            _ => None,
        };
        self.known.shared.reads.0.push((table, path, word));
    }

    /// Has what handlers read in several words copied, from the next attempt on.
    pub fn check_copies(&mut self) -> Result<()> {
        let needed = ir::needed_values(&self.code.function);
        let is_needed = |value: &Option<ir::Value>| value.is_none_or(|value| needed[value.index()]);
        let mut read: BTreeMap<TableId, BTreeSet<FieldPath>> = BTreeMap::new();
        for (table, path, value) in std::mem::take(&mut self.known.shared.reads.0) {
            if is_needed(&value) {
                read.entry(table).or_default().insert(path);
            }
        }
        let mut more = false;
        for (table, paths) in read {
            let Some((_, schema)) = self.shared_map(table)? else { continue };
            let one_word = |path: &FieldPath| field(&schema, path).is_some_and(|(_, ty)| ty.size() == 8);
            let one = paths.len() == 1 && paths.iter().all(one_word);
            let known = self.known.shared.know(self.snapshot, table);
            let needless = schema.per_cpu || one && known.copied.is_empty();
            if !(needless || paths.is_subset(&known.copied)) {
                known.copied.extend(paths);
                more = true;
            }
        }
        if more { Err(Stop::Restart) } else { Ok(()) }
    }

    pub(super) fn is_copied(&mut self, table: TableId) -> bool {
        !self.copied_paths(table).is_empty()
    }

    /// What is copied of the table's entries when they are looked up.
    fn copied_paths(&mut self, table: TableId) -> Vec<FieldPath> {
        self.around.copied_paths(self, table)
    }

    /// Whether whole records that are assigned get versions.
    fn has_versions(&mut self, table: TableId, schema: &Schema) -> bool {
        self.is_copied(table)
            || self.around.copies_records() && matches!(schema.value, Type::Record(_) | Type::Mixed(_))
    }

    /// Looks an entry up and copies it, until the copy is good; paths with the entry's address, and with 0 where there is none.
    pub(super) fn look_up_and_copy(
        &mut self,
        (table, identity): (TableId, &Identity),
        (map, schema): (ir::MapId, &Schema),
        key: ir::Value,
    ) -> Result<Vec<Arm>> {
        let attempt = |context: &mut Self| {
            let mut iteration = Iteration::default();
            let entry = lookup(context, map, key);
            let none = context.compare(CompareOp::Eq, entry, 0);
            let (none, there) = context.split(none);
            iteration.leave_in(none, vec![Abs::int(0)]);
            context.state = there;
            let mut moved = Vec::new();
            let copy = context.confirmed_copy(table, (map, schema), [key, entry], &mut moved)?;
            iteration.next.extend(moved.into_iter().map(|state| (state, vec![])));
            context.state.facts.hold_copy(table, identity, entry, copy);
            iteration.leave(context, vec![Abs::Int(entry.into())]);
            Ok(iteration)
        };
        // Once as a rule: what a loop costs is for those that come again.
        let first = attempt(self)?;
        self.enter(first.next.into_iter().map(|(state, _)| state).collect())?;
        self.make_cold();
        let mut paths = self.repeat(&[], &mut |context, _| attempt(context))?;
        paths.extend(first.exits);
        Ok(paths)
    }

    /// What handlers read of the table's entries, of the one at an address.
    fn copy_of(&mut self, table: TableId, schema: &Schema, entry: ir::Value) -> Result<Vec<Copied>> {
        let paths = self.copied_paths(table);
        let (mut words, mut texts) = (BTreeSet::new(), BTreeMap::new());
        for path in &paths {
            for length in 0..path.len() {
                words.extend(field(schema, &path[..length]).map(|(disp, _)| disp));
            }
            match field(schema, path) {
                Some((disp, Type::Text { capacity })) => {
                    texts.insert(disp, usize::from(*capacity));
                }
                Some((disp, Type::Mixed(mixed))) => {
                    words.extend([disp, disp + WORD as i16]);
                    texts.extend(mixed.text.map(|capacity| (disp + STRING as i16, usize::from(capacity))));
                }
                Some((disp, ty)) => words.extend((disp..disp + ty.size() as i16).step_by(8)),
                None => {}
            }
        }
        let mut copy = Vec::new();
        for disp in words {
            let value = Abs::Int(self.load(entry, disp, Size::B8, false));
            copy.push(Copied { disp, value });
        }
        for (disp, capacity) in texts {
            let value = Abs::Str(self.text_at(Address { base: entry, disp }, capacity)?);
            copy.push(Copied { disp, value });
        }
        Ok(copy)
    }

    /// Copies an entry that was looked up, and goes on where the copy is good; `moved` gets the states where it is not.
    pub(super) fn confirmed_copy(
        &mut self,
        table: TableId,
        (map, schema): (ir::MapId, &Schema),
        [key, entry]: [ir::Value; 2],
        moved: &mut Vec<State>,
    ) -> Result<Vec<Copied>> {
        let copy = &mut |context: &mut Self| context.copy_of(table, schema, entry);
        self.confirmed_by_version((map, schema), [key, entry], copy, moved)
    }

    /// Reads an entry that was looked up, and goes on where it is still what it was then.
    ///
    /// Where there are versions: the entry is whole when the second lookup finds it, and has the version that was read before.
    /// As the version is the first word of an assignment to be written, the fields are of the same one if the version is still
    /// there after they were read.
    ///
    /// Where the element can be read: a version that is there before and after was nobody else's in between. That the element was in a
    /// bucket then says that the assignment was written, and its key, afterwards, whose it was.
    pub(super) fn confirmed_by_version<T>(
        &mut self,
        (map, schema): (ir::MapId, &Schema),
        [key, entry]: [ir::Value; 2],
        read: &mut dyn FnMut(&mut Self) -> Result<T>,
        moved: &mut Vec<State>,
    ) -> Result<T> {
        let disp = schema.value_offset() as i16;
        let Some(fields) = schema.version_start().map(i64::from) else {
            let copy = read(self)?;
            self.leave_moved(map, [key, entry], moved);
            return Ok(copy);
        };
        let before = self.load(entry, disp, Size::B8, false);
        if self.reads_elements(map, schema) {
            let element = self.element_of(schema, entry);
            self.leave_unlinked(element, moved);
            let copy = read(self)?;
            self.leave_new_version(entry, (disp, fields), before, moved);
            self.leave_other_key(schema, [key, element], moved);
            return Ok(copy);
        }
        self.leave_moved(map, [key, entry], moved);
        let now = self.load(entry, disp, Size::B8, false);
        self.leave_replaced(fields, before, now, moved);
        let copy = read(self)?;
        self.leave_new_version(entry, (disp, fields), now, moved);
        Ok(copy)
    }

    /// Leaves where an entry's first word has another version than it had.
    fn leave_new_version(
        &mut self,
        entry: ir::Value,
        (disp, fields): (i16, i64),
        before: Word,
        moved: &mut Vec<State>,
    ) {
        // The upper half, for the whole word would be taken for the one that has just been read.
        let after = self.load(entry, disp + 4, Size::B4, false);
        let before = self.shr(before, 32);
        self.leave_replaced((fields - 32).max(0), before, after, moved);
    }

    /// Leaves where a key has another entry by now, or none.
    pub(super) fn leave_moved(
        &mut self,
        map: ir::MapId,
        [key, entry]: [ir::Value; 2],
        moved: &mut Vec<State>,
    ) {
        let again = lookup(self, map, key);
        let other = self.compare(CompareOp::Ne, again, entry);
        self.leave_if(other, moved);
    }

    /// Leaves where two words have different versions, which begin at a bit.
    fn leave_replaced(&mut self, start: i64, before: Word, now: Word, moved: &mut Vec<State>) {
        let difference = self.binary(BinaryOp::Xor, now, before);
        let difference = self.shr(difference, start);
        let replaced = self.compare(CompareOp::Ne, difference, 0);
        self.leave_if(replaced, moved);
    }

    /// Puts a new version into the bytes of a value that is being made.
    pub(super) fn put_version(&mut self, table: TableId, schema: &Schema, base: ir::Value) {
        if let (true, Some(fields)) = (self.has_versions(table, schema), schema.version_start()) {
            let random = self.helper(helper::GET_PRANDOM_U32, &[]);
            let high = self.shl(random, 32);
            let random = self.binary(BinaryOp::Or, random, high);
            let version = self.and(random, -1i64 << fields);
            let disp = schema.value_offset() as i16;
            let there = self.load(base, disp, Size::B8, false);
            let there = self.binary(BinaryOp::Or, there, version);
            self.store(base, disp, Size::B8, there);
        }
    }

    /// Copies what handlers read in several words of an entry that a traversal comes to; it is what is known of the entry from then
    /// on. `moved` gets the states where another entry may be there by now.
    pub fn copy_what_is_read(
        &mut self,
        (table, identity): (TableId, &Identity),
        (map, schema): (ir::MapId, &Schema),
        [key, entry]: [ir::Value; 2],
        moved: &mut Vec<State>,
    ) -> Result<()> {
        if self.is_copied(table) {
            let copy = self.confirmed_copy(table, (map, schema), [key, entry], moved)?;
            self.state.facts.hold_copy(table, identity, entry, copy);
        }
        Ok(())
    }

    /// A word at a place, of the copy if there is one.
    pub(super) fn word_of_entry(&mut self, at: Address) -> Word {
        match self.state.facts.copied_at(&self.known.shared.additions, at) {
            Some(Abs::Int(word)) => word,
            _ => self.load(at.base, at.disp, Size::B8, false),
        }
    }
}

impl Facts {
    /// What was copied of the word, or the string, at a place of an entry.
    pub(super) fn copied_at(&self, additions: &Additions, at: Address) -> Option<Abs> {
        let looked = self.looked.iter().filter(|looked| match looked.address {
            Word::Value(address) => additions.is_one_entry(address, at.base),
            Word::Imm(_) => false,
        });
        looked.filter_map(|looked| looked.copied(at.disp)).next().cloned()
    }

    /// Whether all of a value at a place was copied.
    pub(super) fn is_whole_copied(&self, additions: &Additions, at: Address, ty: &Type) -> bool {
        let word = |disp: i16| self.copied_at(additions, at.plus(disp)).is_some();
        match ty {
            Type::Text { .. } | Type::Mixed(_) | Type::Record(_) => word(0),
            ty => (0..ty.size() as i16).step_by(8).all(word),
        }
    }
}

impl Facts {
    /// What is known of the entry at an address is what was copied of it.
    pub fn hold_copy(&mut self, table: TableId, identity: &Identity, entry: ir::Value, copy: Vec<Copied>) {
        self.found_looked(table, identity, entry.into());
        let looked = self.looked.iter_mut();
        for looked in looked.filter(|looked| looked.table == table && looked.key == *identity) {
            looked.copy.clone_from(&copy);
        }
    }

    /// A field was assigned in place, in this entry or one that may be the same.
    pub fn forget_copied(&mut self, table: TableId, disp: i16, size: usize) {
        let within =
            |copied: &Copied| copied.disp >= disp && i32::from(copied.disp) < i32::from(disp) + size as i32;
        let assigned = |looked: &Looked| looked.table == table && looked.copy.iter().any(within);
        if self.looked.iter().any(assigned) {
            for looked in self.looked.iter_mut().filter(|looked| looked.table == table) {
                looked.copy.retain(|copied| !within(copied));
            }
        }
    }
}

impl SharedTables {
    /// What handlers were seen to read of the table's entries in several words.
    pub fn paths_read(&mut self, snapshot: &Snapshot, table: TableId) -> Vec<FieldPath> {
        self.know(snapshot, table).copied.iter().cloned().collect()
    }
}

/// Where a field is in a value, and its type.
fn field<'s>(schema: &'s Schema, path: &[String]) -> Option<(i16, &'s Type)> {
    let mut found = (schema.value_offset() as i16, &schema.value);
    for name in path {
        let (_, offset, ty) = found.1.field(name)?;
        found = (found.0 + offset as i16, ty);
    }
    Some(found)
}
