//! Records that handlers put in front of packets (`pkt.meta`): which fields they have.
//!
//! What is not found here is an error at packet time, where the fields of a table are counted.

use super::Kinds;
use super::graph::{Node, Owner, Place, Rule};
use moonhook_library::LIBRARIES;
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_specialise::note_fields::NoteFields;
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
    /// The names of fields that functions of the script read, as they stand in the code.
    named: Names,
}

impl Notes {
    /// The records where functions assign fields with these names to what is no table. Of computed names only those count that handlers read by name.
    pub fn with_assigned(self, names: impl FnOnce() -> Option<Names>) -> NoteFields {
        let Notes { mut fields, named } = self;
        if fields.is_used() {
            let names = names().unwrap_or_default();
            fields.assign_all(names.into_iter().filter(|name| named.contains(name)));
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
        let hooks = self.functions.snapshot.hooks();
        let is_assigned =
            |hook: &&moonhook_hook::Hook| hook.context.note.is_some_and(|note| note.adjust.is_some());
        if owners.is_empty() || !hooks.iter().any(is_assigned) {
            return Notes::default();
        }
        let (named, computed) = self.read_names();
        let mut names = Names::new();
        for owner in owners {
            self.names_in(owner, &named, &mut names);
        }
        let mut read = named.clone();
        if computed {
            read.extend(self.reach.mentions.iter().cloned());
        }
        let mut fields = NoteFields::of(names, read);
        fields.place = self.first_note;
        Notes { fields, named }
    }

    /// The names that a table may have. Computed ones are those that handlers read by a name which nothing else has.
    fn names_in(&self, owner: Owner, read: &Names, names: &mut Names) {
        let fields = self.fields.get(&owner).into_iter().flatten();
        names.extend(fields.map(|name| Arc::from(name.as_bytes())));
        let others = self.graph.known(&Place::Others(owner));
        if others.is_some_and(|others| !self.graph.held(others).is_empty()) {
            names.extend(read.iter().filter(|name| self.is_own(name)).cloned());
        }
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

    /// The names of fields that functions of the script read, as they stand in the code, and whether others are computed.
    fn read_names(&self) -> (Names, bool) {
        let (mut names, mut computed) = (Names::new(), false);
        for function in self.visible() {
            let prototype = self.functions.get(function);
            for word in &prototype.code {
                let i = Instruction(*word);
                match (i.opcode(), prototype.constants.get(i.c())) {
                    (Some(Opcode::GetField | Opcode::Self_), Some(Value::String(name))) => {
                        names.insert(name.clone());
                    }
                    (Some(Opcode::GetTable), _) => computed = true,
                    _ => {}
                }
            }
        }
        (names, computed)
    }
}
