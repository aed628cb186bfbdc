//! Records that handlers put in front of packets (`pkt.meta`): which fields they have.
//!
//! What is not found here is an error at packet time, where the fields of a table are counted.

use super::Kinds;
use super::graph::{Node, Owner, Place, Rule};
use moonhook_library::LIBRARIES;
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_specialise::note_fields::{MOST_FIELDS, NoteFields};
use moonhook_specialise::objects::has_field;
use moonhook_specialise::stubs::objects;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// The field of packets.
pub(super) const FIELD: &str = "meta";

type Names = BTreeSet<Arc<[u8]>>;

#[derive(Default)]
pub struct Notes {
    fields: NoteFields,
    /// The names of fields that functions of the script read, and that they assign, as they stand in the code.
    read: Names,
    assigned: Names,
}

impl Notes {
    /// The records where functions assign fields with these names to what is no table. Of computed names only those count that handlers read, or
    /// assign, by name.
    pub fn with_assigned(self, names: impl FnOnce() -> Option<Names>) -> NoteFields {
        let Notes { mut fields, read, assigned } = self;
        if fields.is_used() {
            let mut names = names().unwrap_or_default();
            // The record itself is assigned to what is no table, too.
            names.retain(|name| **name != *FIELD.as_bytes());
            // What is assigned by a computed name, or is only read by one, may be meant for other things: it counts if there is room.
            let are_read = names.iter().filter(|name| read.contains(*name)).cloned().collect::<Vec<_>>();
            let are_assigned = names.into_iter().filter(|name| assigned.contains(name)).collect();
            for names in [are_read, are_assigned] {
                let mut more = fields.clone();
                more.assign_all(names);
                if !more.are_too_many() {
                    fields = more;
                }
            }
        }
        fields
    }
}

impl Kinds<'_, '_> {
    /// A value is assigned.
    pub(super) fn assigned_note(&mut self, value: Node, (function, pc): (usize, usize)) {
        let place = self.loc(function, pc);
        self.first_note.get_or_insert(place);
        let notes = self.place(Place::Notes);
        self.graph.flow(value, notes);
    }

    /// A field of what is no table may be one of a record.
    pub(super) fn read_of_note(&mut self, name: &Rc<str>, to: Node) {
        if **name != *FIELD
            && let Some(notes) = self.graph.known(&Place::Notes)
        {
            self.graph.watch(notes, Rule::Read { name: Some(name.clone()), to });
        }
    }

    /// After the analysis: the records, if a table may be assigned at a hook where that can be done.
    pub(super) fn notes(&self) -> Notes {
        let owners = self.owners(&Place::Notes);
        let mut hooks = self.functions.snapshot.hooks();
        let is_assigned =
            |hook: &moonhook_hook::Hook| hook.context.note.is_some_and(|note| note.adjust.is_some());
        if owners.is_empty() || !hooks.any(is_assigned) {
            return Notes::default();
        }
        let Named { mut read, assigned, computed } = self.names();
        let mut names = Names::new();
        let mut others = Names::new();
        for owner in owners {
            self.names_in(owner, &mut names);
            if self.has_computed_names(owner) {
                others.extend(read.iter().cloned());
            }
        }
        // Names that packets and the library have as well are most often meant for those; there may be more of them than a record can have.
        let (own, shared) = others.into_iter().partition::<Names, _>(|name| self.is_own(name));
        names.extend(own);
        let kept = names.union(&shared).filter(|name| read.contains(*name)).count();
        if kept <= MOST_FIELDS {
            names.extend(shared);
        }
        let by_name = read.clone();
        if computed {
            read.extend(self.reach.mentions.iter().cloned());
        }
        let mut fields = NoteFields::of(names, read);
        fields.place = self.first_note;
        Notes { fields, read: by_name, assigned }
    }

    /// Whether a table may have names that do not stand where it is assigned.
    fn has_computed_names(&self, owner: Owner) -> bool {
        let others = self.graph.known(&Place::Others(owner));
        others.is_some_and(|others| !self.graph.held(others).is_empty())
    }

    /// The names that a table may have, as far as they stand there.
    fn names_in(&self, owner: Owner, names: &mut Names) {
        let fields = self.fields.get(&owner).into_iter().flatten();
        names.extend(fields.map(|name| Arc::from(name.as_bytes())));
        if let Owner::LoadTime(table) = owner {
            let entries = self.functions.snapshot.table(table).entries.iter();
            names.extend(entries.filter_map(|(key, _)| match key {
                Value::String(name) => Some(name.clone()),
                _ => None,
            }));
        }
    }

    /// Whether neither packets nor the library have anything of that name.
    fn is_own(&self, name: &[u8]) -> bool {
        let is_of_library = std::str::from_utf8(name)
            .is_ok_and(|name| LIBRARIES.iter().any(|library| library.function(name).is_some()));
        !is_of_library && !objects().any(|(_, object)| has_field(&object, name))
    }

    /// The names of fields, as they stand in the code of the script's functions.
    fn names(&self) -> Named {
        let mut names = Named::default();
        for function in self.visible() {
            let prototype = self.functions.get(function);
            let constant = |index: usize| match prototype.constants.get(index) {
                Some(Value::String(name)) => Some(name.clone()),
                _ => None,
            };
            for word in &prototype.code {
                let i = Instruction(*word);
                match i.opcode() {
                    Some(Opcode::GetField | Opcode::GetTabUp | Opcode::Self_) => {
                        names.read.extend(constant(i.c()))
                    }
                    Some(Opcode::GetTable) => names.computed = true,
                    Some(Opcode::SetField | Opcode::SetTabUp) => names.assigned.extend(constant(i.b())),
                    _ => {}
                }
            }
        }
        names
    }
}

#[derive(Default)]
struct Named {
    read: Names,
    assigned: Names,
    /// Names that are read are computed, too.
    computed: bool,
}
