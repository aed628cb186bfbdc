//! Handlers of tracepoints and functions of the kernel: the event that they are given, and the kernel's structures to which it leads.
//!
//! An event is no packet, though it stands in the place of one ([`Object::Packet`]): its fields are the arguments of the place, and what the kernel
//! knows of the process that runs. An address of a structure is a value ([`Abs::Structure`]) whose type is known; its fields are
//! read when they are asked for, each by a helper that gives 0 where there is no memory.

mod current;
mod elements;
mod reads;
mod texts;
mod values;

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::members::{FIELDS, nearby};
use crate::paths::Arm;
use crate::value::{Abs, Word};
use moonhook_btf::{Event, Kind, TypeId, Types};
use moonhook_hook::Point;
use moonhook_snapshot::Snapshot;
use std::sync::Arc;

/// What errors call an event.
pub const EVENT: &str = "event";

/// The same in a sentence, and any structure.
pub const AN_EVENT: &str = "an event";
pub const A_STRUCTURE: &str = "a structure";

/// The types of the kernel that the script is for; those of none where it traces nothing.
pub fn types_of(snapshot: &Snapshot) -> Option<&Arc<Types>> {
    snapshot.traced.types()
}

/// What errors call a value that is an address of that type.
pub fn type_name(snapshot: &Snapshot, id: TypeId) -> String {
    let name = types_of(snapshot).map(|types| types.name(id)).unwrap_or_default();
    let is_array = types_of(snapshot).is_some_and(|types| matches!(types.kind(id), Kind::Array { .. }));
    match (name, is_array) {
        (_, true) => "array".to_string(),
        ("", _) => "structure".to_string(),
        (name, _) => name.to_string(),
    }
}

/// `event.name`: an arm for each way of getting it.
pub fn event_field(context: &mut Context<'_>, name: &str) -> Result<Vec<Arm>> {
    let Some(event) = context.traced_event() else { return Ok(vec![]) };
    if let Some(argument) = event.argument(name) {
        return values::argument(context, &event, argument);
    }
    match current::NAMES.iter().find(|(known, _)| *known == name) {
        Some((_, read)) => read(context),
        None => {
            let known = event.arguments.iter().map(|argument| &*argument.name);
            let known = known.chain(current::NAMES.iter().map(|(name, _)| *name));
            missing(context, EVENT.to_string(), name, &known.collect::<Vec<_>>())
        }
    }
}

/// `structure.name`, of the structure of a type at an address.
pub fn field(context: &mut Context<'_>, (id, address): (TypeId, Word), name: &str) -> Result<Vec<Arm>> {
    let Some(types) = types_of(context.snapshot).cloned() else { return Ok(vec![]) };
    match types.field(id, name) {
        Some(field) => values::field(context, &types, (id, address), &field),
        None => {
            let fields = types.fields(id);
            let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
            missing(context, type_name(context.snapshot, id), name, &known)
        }
    }
}

/// Whether an event has a field of that name.
pub fn has_event_field(event: &Event, name: &str) -> bool {
    event.argument(name).is_some() || current::content(name).is_some()
}

pub use current::content as current_content;
pub use elements::{element, length};

/// The same of a number, of what is no array.
pub fn no_such_field(context: &mut Context<'_>, owner: String, number: i64) -> Result<Vec<Arm>> {
    let (field, help) = (number.to_string(), "its fields are found by their names".to_string());
    context.refuse(LowerErrorKind::NoSuchField { header: owner.into(), field, help }, None)
}

/// The error that there is no field of that name.
fn missing(context: &mut Context<'_>, owner: String, name: &str, known: &[&str]) -> Result<Vec<Arm>> {
    let (field, help) = (name.to_string(), nearby(name, known, FIELDS));
    context.missing_field(LowerErrorKind::NoSuchField { header: owner.into(), field, help }, name);
    Ok(vec![])
}

impl Context<'_> {
    /// What cannot be done with an event or a structure: the script is refused, or, in general code, which does not know whether it comes to
    /// that, an error is raised.
    pub fn refuse_traced(&mut self, what: String, help: &'static str, name: &str) -> Result<()> {
        let refused = LowerErrorKind::Traced { what, help };
        match self.stub {
            Some(_) => {
                self.fail(Message::new(refused.to_string()));
                Ok(())
            }
            None => self.refuse(refused, Some(name)),
        }
    }

    /// The same of an event's text, or that of a structure: real Lua shows an address.
    pub fn refuse_text(&mut self, owner: &str) -> Result<()> {
        self.refuse_traced(format!("the text of {owner}"), "print its fields", "tostring")
    }

    /// What the program is attached to.
    pub fn point(&self) -> Option<&Point> {
        self.snapshot.points().get(self.target.program)
    }

    /// What the program's tracepoint or function hands to it; `None` at other hooks.
    pub fn traced_event(&self) -> Option<Arc<Event>> {
        self.snapshot.traced.event(self.point()?).cloned()
    }

    /// The address of a structure as a value: nil where it is 0.
    fn structure_or_nil(&mut self, id: TypeId, address: Word) -> Result<Vec<Arm>> {
        use moonhook_ir::CompareOp;
        use moonhook_ir::words::{Branches, PathState, Words};
        let none = self.compare(CompareOp::Eq, address, 0);
        let (none, some) = self.split(none);
        let mut arms = Vec::new();
        for (state, value) in [(none, Abs::Nil), (some, Abs::Structure { type_id: id.0, address })] {
            if state.alive() {
                arms.push(Arm { state, values: vec![value] });
            }
        }
        Ok(arms)
    }
}
