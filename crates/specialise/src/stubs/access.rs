//! The access that general code leaves to the program: a field, or the length, of an object, with a key of any type.

use super::fields::store_and_leave;
use super::{Stubs, objects, with_context};
use crate::arena;
use crate::context::{Context, Result};
use crate::field_writes::THAT_CAN_BE;
use crate::meta;
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::stubs::memory::text_of_payload;
use crate::value::{Abs, Object, Str, Word};
use moonhook_btf::TypeId;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{CompareOp, FunctionId};
use moonhook_runtime::layout::{
    L_CALL_COUNT, L_CALL_DEST, L_CALL_FUNC, TAG_FALSE, TAG_INT, TAG_NIL, TAG_OBJECT, TAG_STRING,
    TAG_STRUCTURE, TAG_TRUE,
};

impl Stubs<'_> {
    /// `(ctx, L) -> 0 | FAIL`: does what a routine that gave [`moonhook_runtime::layout::OBJECT`] asks for. Stores, at the
    /// address in `L_CALL_DEST`, the field of the object in the value at the address in `L_CALL_FUNC` whose key is the value
    /// at the address in `L_CALL_COUNT`; the object's length if that is 0.
    ///
    /// Only fields and methods among `names` are known, those that the script mentions; the others are taken for missing.
    pub fn access<'n>(&mut self, names: impl IntoIterator<Item = &'n [u8]>) -> Result<FunctionId> {
        if self.program.0.is_trace() {
            return self.traced_access(names);
        }
        let (missing, length) = (self.missing_field("")?, self.length()?);
        let mut known = Vec::new();
        for name in names {
            known.extend(self.field(name)?.map(|stub| (name, stub)));
        }
        self.make("object_access", with_context(0), |context, _| {
            let asked = Asked::described(context);
            let access = asked.of_object(context);
            let keyed = asked.split_length(context, |context| access.call(context, length));
            context.state = keyed;
            access.by_key(context, asked.key, &known, missing, Access::by_bytes)
        })
    }

    /// `(ctx, L, object, place) -> 0 | FAIL`: the same for one name, without asking for it: stores the field of an object, by the payload of its
    /// value. `None` where that takes more, or no object has such a field.
    pub fn access_to(&mut self, name: &[u8]) -> Result<Option<FunctionId>> {
        if self.program.0.is_trace() || self.host.notes().is_used() {
            return Ok(None);
        }
        self.field(name)
    }

    /// The same in a program at a tracepoint.
    fn traced_access<'n>(&mut self, names: impl IntoIterator<Item = &'n [u8]>) -> Result<FunctionId> {
        let (missing, length) = (self.missing_traced_field()?, self.traced_length()?);
        let (mut of_event, mut of_structures) = (Vec::new(), Vec::new());
        for name in names {
            let Ok(text) = std::str::from_utf8(name) else { continue };
            of_event.extend(self.event_field(text)?.map(|stub| (name, stub)));
            of_structures.extend(self.structure_field(text)?.map(|stub| (name, stub)));
        }
        let arrays = self.arrays();
        let element = if arrays.is_empty() { None } else { Some(self.element()?) };
        self.make("object_access", with_context(0), |context, _| {
            let asked = Asked::described(context);
            let keyed = asked.split_length(context, |context| {
                let failed = context.call_function(length, &[asked.state]);
                context.give(failed);
            });
            context.state = keyed;
            let tag = arena::load(context, asked.object);
            let event = context.compare(CompareOp::Eq, tag, TAG_OBJECT);
            let (event, structure) = context.split(event);
            context.state = event;
            let access = asked.of_event(tag);
            access.by_key(context, asked.key, &of_event, missing, Access::by_routine)?;
            context.state = structure;
            let access = asked.of_structure(context, tag);
            if let Some(element) = element {
                access.by_number(context, asked.key, element, &arrays)?;
            }
            access.by_key(context, asked.key, &of_structures, missing, Access::by_routine)
        })
    }

    /// `(ctx, L) -> 0 | FAIL`: does what a routine that gave [`moonhook_runtime::layout::ASSIGN_OBJECT`] asks for: as
    /// [`Stubs::access`], but the value at the address in `L_CALL_DEST` is assigned.
    pub fn assign<'n>(&mut self, names: impl IntoIterator<Item = &'n [u8]>) -> Result<FunctionId> {
        if self.program.0.is_trace() {
            return self.traced_assignment();
        }
        let missing = self.missing_field(THAT_CAN_BE)?;
        let mut known = Vec::new();
        for name in names {
            known.extend(self.assignment(name)?.map(|stub| (name, stub)));
        }
        self.make("object_assign", with_context(0), |context, _| {
            let asked = Asked::described(context);
            // Few scripts assign fields by names that they compute, and those need not be fast, but short.
            let access = Access { record: None, ..asked.of_object(context) };
            access.by_key(context, asked.key, &known, missing, Access::by_routine)
        })
    }
}

/// What a routine has described.
struct Asked {
    program: Word,
    state: Word,
    /// Addresses of values, and where the value goes to, or comes from.
    object: Word,
    key: Word,
    place: Word,
}

impl Asked {
    fn described(context: &mut Context<'_>) -> Asked {
        let state = context.state_address();
        let [object, key, place] = [L_CALL_FUNC, L_CALL_COUNT, L_CALL_DEST].map(|field| {
            let field = context.add(state, field);
            arena::load(context, field)
        });
        Asked { program: context.code.function.params[0].into(), state, object, key, place }
    }

    /// Does `length`, which ends the state, where that is asked for; gives the state where a field is.
    fn split_length(&self, context: &mut Context<'_>, length: impl FnOnce(&mut Context<'_>)) -> State {
        let keyless = context.compare(CompareOp::Eq, self.key, 0);
        let (keyless, keyed) = context.split(keyless);
        context.state = keyless;
        length(context);
        keyed
    }

    fn payload(&self, context: &mut Context<'_>) -> Word {
        let payload = context.add(self.object, 8);
        arena::load(context, payload)
    }

    fn of_object(&self, context: &mut Context<'_>) -> Access {
        let object = self.payload(context);
        let arguments = vec![self.program, self.state, object, self.place];
        let record = context.known.notes.is_used().then(|| (payload_of(&meta::OBJECT), self.place));
        Access { state: self.state, object, arguments, record }
    }

    fn of_event(&self, tag: Word) -> Access {
        let arguments = vec![self.program, self.state, self.place];
        Access { state: self.state, object: tag, arguments, record: None }
    }

    fn of_structure(&self, context: &mut Context<'_>, tag: Word) -> Access {
        let address = self.payload(context);
        let arguments = vec![self.state, tag, address, self.place];
        Access { state: self.state, object: tag, arguments, record: None }
    }
}

/// How what is asked for is found.
struct Access {
    state: Word,
    /// What tells objects apart.
    object: Word,
    /// What stubs are given.
    arguments: Vec<Word>,
    /// The payload of records in front of packets, where these have nothing under names that nobody assigns, and where such a nil goes.
    record: Option<(i64, Word)>,
}

/// Finds the stub for a key that is a string, of those for these names; goes on where there is none.
type ByText = fn(&Access, &mut Context<'_>, Word, &[(&[u8], FunctionId)]) -> Result<()>;

impl Access {
    /// Calls the stub for a key, of any type; where there is none, `missing` raises the error.
    fn by_key(
        &self,
        context: &mut Context<'_>,
        key: Word,
        known: &[(&[u8], FunctionId)],
        missing: FunctionId,
        other_texts: ByText,
    ) -> Result<()> {
        let tag = arena::load(context, key);
        let payload = context.add(key, 8);
        let payload = arena::load(context, payload);
        let text = context.compare(CompareOp::Eq, tag, TAG_STRING);
        let (text, other) = context.split(text);
        context.state = text;
        self.by_constant(context, payload, known);
        other_texts(self, context, payload, known)?;
        if let Some((record, out)) = self.record {
            let is_record = context.compare(CompareOp::Eq, self.object, record);
            let (is_record, other) = context.split(is_record);
            context.state = is_record;
            store_and_leave(context, out, &Abs::Nil)?;
            context.state = other;
        }
        let text = context.take_state();
        context.state = other;
        let shown = key_text(context, tag, payload)?;
        let arms = [
            Arm { state: text, values: vec![Abs::Int(payload)] },
            Arm { state: context.take_state(), values: vec![Abs::Int(shown)] },
        ];
        if let Some([Abs::Int(key)]) = context.join(arms.into())?.as_deref() {
            let failed = context.call_function(missing, &[self.state, self.object, *key]);
            context.give(failed);
        }
        Ok(())
    }

    /// Calls `element` where the key is an integer and the structure one of these arrays; goes on elsewhere.
    fn by_number(
        &self,
        context: &mut Context<'_>,
        key: Word,
        element: FunctionId,
        arrays: &[(i64, TypeId)],
    ) -> Result<()> {
        let tag = arena::load(context, key);
        let number = context.compare(CompareOp::Eq, tag, TAG_INT);
        let (number, other) = context.split(number);
        let mut others = vec![other];
        context.state = number;
        for (array, _) in arrays {
            let is = context.compare(CompareOp::Eq, self.object, TAG_STRUCTURE + array);
            let (is, other) = context.split(is);
            context.state = is;
            let number = context.add(key, 8);
            let number = arena::load(context, number);
            let mut arguments = self.arguments.clone();
            arguments.insert(arguments.len() - 1, number);
            let result = context.call_function(element, &arguments);
            context.give(result);
            context.state = other;
        }
        others.push(context.take_state());
        context.enter(others)
    }

    /// Ends with a stub's result.
    fn call(&self, context: &mut Context<'_>, stub: FunctionId) {
        if context.state.alive() {
            let result = context.call_function(stub, &self.arguments);
            context.give(result);
        }
    }

    /// Finds the stub for a key that is a string and, as mostly, a constant of the script, which is the same text of the image as the
    /// field's name; goes on where it is not.
    fn by_constant(&self, context: &mut Context<'_>, key: Word, known: &[(&[u8], FunctionId)]) {
        for (name, stub) in known {
            let constant = context.image_string(name);
            let same = context.compare(CompareOp::Eq, key, constant);
            let (same, other) = context.split(same);
            context.state = same;
            self.call(context, *stub);
            context.state = other;
        }
    }

    /// Finds the stub for a key that is a string by its bytes; goes on where there is none.
    fn by_bytes(&self, context: &mut Context<'_>, key: Word, known: &[(&[u8], FunctionId)]) -> Result<()> {
        let Str::Slice { space, start, length } = text_of_payload(context, key) else { return Ok(()) };
        for (name, stub) in known {
            let (same, other) = context.split_equal_constant(Slice::plain(space, start, length), name)?;
            context.enter(same)?;
            self.call(context, *stub);
            context.enter(other)?;
        }
        Ok(())
    }

    /// As [`Access::by_bytes`], in less code.
    fn by_routine(&self, context: &mut Context<'_>, key: Word, known: &[(&[u8], FunctionId)]) -> Result<()> {
        for (name, stub) in known {
            let constant = Word::Imm(context.image_string(name));
            let same = context.call_routine_without_state("text_equal", &[key, constant]);
            let same = context.compare(CompareOp::Ne, same, 0);
            let (same, other) = context.split(same);
            context.state = same;
            self.call(context, *stub);
            context.state = other;
        }
        Ok(())
    }
}

/// What the object's values have as payload.
fn payload_of(object: &Object) -> i64 {
    let found = objects().find(|(_, known)| known == object);
    found.map_or(0, |(payload, _)| payload)
}

/// How the error message shows a key that is no string, as a payload word (`luaL_tolstring`; where that shows an address, it is
/// the name of the type).
fn key_text(context: &mut Context<'_>, tag: Word, payload: Word) -> Result<Word> {
    let number = context.compare(CompareOp::Eq, tag, TAG_INT);
    let (number, other) = context.split(number);
    context.state = number;
    let text = context.integer_text(payload)?;
    let text = context.payload_of_text(&text)?;
    let mut arms = vec![Arm { state: context.take_state(), values: vec![Abs::Int(text)] }];
    context.state = other;
    for (known, name) in [(TAG_NIL, "nil"), (TAG_FALSE, "false"), (TAG_TRUE, "true")] {
        let is = context.compare(CompareOp::Eq, tag, known);
        let (is, other) = context.split(is);
        let text = context.image_string(name.as_bytes());
        arms.push(Arm { state: is, values: vec![Abs::int(text)] });
        context.state = other;
    }
    let name = context.call_routine_without_state("tag_name", &[tag]);
    arms.push(Arm { state: context.take_state(), values: vec![Abs::Int(name)] });
    context.join_word(arms)
}
