//! Events and the kernel's structures as general code uses them: fields, elements and lengths. A structure is a value whose tag says its type
//! ([`crate::structures::Structures`]).

use super::fields::store_and_leave;
use super::memory::text_of_payload;
use super::{Stubs, with_context, without_context};
use crate::arena;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::field_writes;
use crate::paths::Arm;
use crate::trace::{self, A_STRUCTURE, AN_EVENT, EVENT};
use crate::value::{Abs, Word};
use moonhook_btf::TypeId;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{CompareOp, FunctionId};
use moonhook_runtime::layout::{FAIL, L_CALL_DEST, L_CALL_FUNC, S_A, TAG_OBJECT, TAG_STRUCTURE};

/// What errors call the operation `#`.
const LENGTH: &str = "get length of";

impl Stubs<'_> {
    /// `(ctx, L, out) -> 0 | FAIL`: stores field `name` of the program's event at `out`. `None` if it has none.
    pub(super) fn event_field(&mut self, name: &str) -> Result<Option<FunctionId>> {
        let point = self.snapshot.points().get(self.program.1);
        let event = point.and_then(|point| self.snapshot.traced.event(point));
        if !event.is_some_and(|event| trace::has_event_field(event, name)) {
            return Ok(None);
        }
        let body = |context: &mut Context<'_>, parameters: &[Word]| {
            let &[out] = parameters else { return Ok(()) };
            let arms = trace::event_field(context, name)?;
            store_arms(context, arms, out)
        };
        self.make(&format!("event_{name}"), with_context(1), body).map(Some)
    }

    /// `(L, tag, address, out) -> 0 | FAIL`: stores field `name` of the structure with that tag at an address. An error where it has no such
    /// field. `None` if no structure has one.
    pub(super) fn structure_field(&mut self, name: &str) -> Result<Option<FunctionId>> {
        let Some(types) = self.snapshot.traced.types() else { return Ok(None) };
        let holders = self.host.structures().with_field(types, name);
        if holders.is_empty() {
            return Ok(None);
        }
        let missing = self.missing_traced_field()?;
        let body = |context: &mut Context<'_>, parameters: &[Word]| {
            let &[tag, address, out] = parameters else { return Ok(()) };
            for_each_type(context, tag, holders, &mut |context, id| {
                let arms = trace::field(context, (id, address), name)?;
                store_arms(context, arms, out)
            })?;
            let (state, key) = (context.state_address(), Word::Imm(context.image_string(name.as_bytes())));
            let failed = context.call_function(missing, &[state, tag, key]);
            context.give(failed);
            Ok(())
        };
        self.make(&format!("structure_{name}"), without_context(3), body).map(Some)
    }

    /// `(L, tag, address, number, out) -> 0 | FAIL`: stores an element of the array with that tag at an address.
    pub(super) fn element(&mut self) -> Result<FunctionId> {
        let arrays = self.arrays();
        self.make("array_element", without_context(4), |context, parameters| {
            let &[tag, address, number, out] = parameters else { return Ok(()) };
            for_each_type(context, tag, arrays, &mut |context, id| {
                let arms = trace::element(context, (id, address), number)?.unwrap_or_default();
                store_arms(context, arms, out)
            })?;
            context.give(FAIL);
            Ok(())
        })
    }

    /// Arrays among the structures, with their numbers.
    pub(super) fn arrays(&self) -> Vec<(i64, TypeId)> {
        let structures = self.host.structures();
        self.snapshot.traced.types().map(|types| structures.arrays(types)).unwrap_or_default()
    }

    /// `(L) -> 0 | FAIL`: stores the length (`#`) of the value at the address in `L_CALL_FUNC`, which arrays have, at that in `L_CALL_DEST`.
    pub(super) fn traced_length(&mut self) -> Result<FunctionId> {
        let arrays = self.arrays();
        self.make("traced_length", without_context(0), |context, _| {
            let [value, out] = [L_CALL_FUNC, L_CALL_DEST].map(|field| {
                let field = context.add(context.state_address(), field);
                arena::load(context, field)
            });
            let tag = arena::load(context, value);
            for_each_type(context, tag, arrays, &mut |context, id| {
                let length = trace::length(context.snapshot, id.0).unwrap_or(0);
                store_and_leave(context, out, &Abs::int(length))
            })?;
            let name = context.call_routine("operand_name", &[Word::Imm(S_A)]);
            let what = Word::Imm(context.image_string(LENGTH.as_bytes()));
            context.raise_by("operand_error", &[value, what, name]);
            Ok(())
        })
    }

    /// `(L, tag, key) -> FAIL`: raises the error that the event, or the structure with that tag, has no field `key`, the payload of a string.
    pub(super) fn missing_traced_field(&mut self) -> Result<FunctionId> {
        let structures: Vec<(i64, TypeId)> = self.host.structures().all().collect();
        self.make("missing_field", without_context(2), |context, parameters| {
            let &[tag, key] = parameters else { return Ok(()) };
            let mut owners = Vec::new();
            for_each_type(context, tag, structures, &mut |context, id| {
                let name = trace::type_name(context.snapshot, id);
                let name = context.image_string(name.as_bytes());
                owners.push(Arm { state: context.take_state(), values: vec![Abs::int(name)] });
                Ok(())
            })?;
            let name = context.image_string(EVENT.as_bytes());
            owners.push(Arm { state: context.take_state(), values: vec![Abs::int(name)] });
            let owner = context.join_word(owners)?;
            let [owner, key] = [owner, key].map(|word| Abs::Str(text_of_payload(context, word)));
            let parts = [Abs::text("'"), owner, Abs::text("' has no field '"), key, Abs::text("'")];
            let text = context.concatenate(&parts)?;
            context.raise_text(&text, true)
        })
    }

    /// `(ctx, L) -> FAIL`: raises the error that nothing is assigned to fields of events and structures.
    pub(super) fn traced_assignment(&mut self) -> Result<FunctionId> {
        self.make("object_assign", with_context(0), |context, _| {
            context.fail(Message::new(field_writes::READ_ONLY));
            Ok(())
        })
    }
}

/// Does `body`, which ends the state, where the tag is that of one of these types, and goes on where it is none of theirs.
fn for_each_type(
    context: &mut Context<'_>,
    tag: Word,
    types: Vec<(i64, TypeId)>,
    body: &mut dyn FnMut(&mut Context<'_>, TypeId) -> Result<()>,
) -> Result<()> {
    for (number, id) in types {
        let is = context.compare(CompareOp::Eq, tag, TAG_STRUCTURE + number);
        let (is, other) = context.split(is);
        context.state = is;
        body(context, id)?;
        context.state = other;
    }
    Ok(())
}

/// Stores what was read, whichever way.
pub(super) fn store_arms(context: &mut Context<'_>, arms: Vec<Arm>, out: Word) -> Result<()> {
    for arm in arms {
        context.state = arm.state;
        if context.state.alive() {
            let value = arm.values.into_iter().next().unwrap_or(Abs::Nil);
            context
                .for_each_alternative(&value, &mut |context, value| store_and_leave(context, out, value))?;
        }
    }
    Ok(())
}

/// Raises the error that the value with the tag has no text; there is none that has one.
pub(super) fn refuse_text(context: &mut Context<'_>, tag: Word) -> Result<()> {
    let event = context.compare(CompareOp::Eq, tag, TAG_OBJECT);
    let (event, structure) = context.split(event);
    for (state, owner) in [(event, AN_EVENT), (structure, A_STRUCTURE)] {
        context.state = state;
        context.refuse_text(owner)?;
    }
    Ok(())
}
