//! Records that handlers put in front of packets (`pkt.meta`): which fields they have.
//!
//! What is not found here is an error at packet time, where the fields of a table are counted.

use super::Kinds;
use super::graph::{Node, Owner, Place, Rule};
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_specialise::note_fields::NoteFields;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// The field of packets.
pub(super) const FIELD: &str = "meta";

type Names = BTreeSet<Arc<[u8]>>;

impl Kinds<'_, '_> {
    /// A value is assigned.
    pub(super) fn assigned_note(&mut self, value: Node) {
        let notes = self.place(Place::Notes);
        self.graph.flow(value, notes);
    }

    /// A field of what is no table may be one of a record.
    pub(super) fn read_of_note(&mut self, name: &Rc<str>, to: Node) {
        if let Some(notes) = self.graph.known(&Place::Notes) {
            self.graph.watch(notes, Rule::Read { name: Some(name.clone()), to });
        }
    }

    /// After the analysis: the records, if a table may be assigned at a hook where that can be done.
    pub(super) fn notes(&self) -> NoteFields {
        let owners = self.owners(&Place::Notes);
        let hooks = self.functions.snapshot.hooks();
        let is_assigned =
            |hook: &&moonhook_hook::Hook| hook.context.note.is_some_and(|note| note.adjust.is_some());
        if owners.is_empty() || !hooks.iter().any(is_assigned) {
            return NoteFields::default();
        }
        let read = self.read_names();
        let mut names = Names::new();
        for owner in owners {
            self.names_in(owner, &read, &mut names);
        }
        NoteFields::of(names, read)
    }

    /// The names that a table may have; those of `read` where names are computed.
    fn names_in(&self, owner: Owner, read: &Names, names: &mut Names) {
        let fields = self.fields.get(&owner).into_iter().flatten();
        names.extend(fields.map(|name| Arc::from(name.as_bytes())));
        let others = self.graph.known(&Place::Others(owner));
        if others.is_some_and(|others| !self.graph.held(others).is_empty()) {
            names.extend(read.iter().cloned());
        }
        if let Owner::LoadTime(table) = owner {
            let entries = self.functions.snapshot.table(table).entries.iter();
            names.extend(entries.filter_map(|(key, _)| match key {
                Value::String(name) => Some(name.clone()),
                _ => None,
            }));
        }
    }

    /// The names of fields that functions of the script read; all names where some are computed.
    fn read_names(&self) -> Names {
        let mut names = Names::new();
        for function in self.visible() {
            let prototype = self.functions.get(function);
            for word in &prototype.code {
                let i = Instruction(*word);
                match (i.opcode(), prototype.constants.get(i.c())) {
                    (Some(Opcode::GetField | Opcode::Self_), Some(Value::String(name))) => {
                        names.insert(name.clone());
                    }
                    (Some(Opcode::GetTable), _) => {
                        names.extend(self.reach.mentions.iter().cloned());
                        return names;
                    }
                    _ => {}
                }
            }
        }
        names
    }
}
