//! The access that general code leaves to the program: a field, or the length, of an object, with a key of any type.

use super::{Stubs, with_context};
use crate::arena;
use crate::context::{Context, Result};
use crate::field_writes::THAT_CAN_BE;
use crate::paths::Arm;
use crate::strings::Slice;
use crate::stubs::memory::text_of_payload;
use crate::value::{Abs, Str, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{CompareOp, FunctionId};
use moonhook_runtime::layout::{
    L_CALL_COUNT, L_CALL_DEST, L_CALL_FUNC, TAG_FALSE, TAG_INT, TAG_NIL, TAG_STRING, TAG_TRUE,
};

impl Stubs<'_> {
    /// `(ctx, L) -> 0 | FAIL`: does what a routine that gave [`moonhook_runtime::layout::OBJECT`] asks for. Stores, at the
    /// address in `L_CALL_DEST`, the field of the object in the value at the address in `L_CALL_FUNC` whose key is the value
    /// at the address in `L_CALL_COUNT`; the object's length if that is 0.
    ///
    /// Only fields and methods among `names` are known, those that the script mentions; the others are taken for missing.
    pub fn access<'n>(&mut self, names: impl IntoIterator<Item = &'n [u8]>) -> Result<FunctionId> {
        let (missing, length) = (self.missing_field("")?, self.length()?);
        let mut known = Vec::new();
        for name in names {
            known.extend(self.field(name)?.map(|stub| (name, stub)));
        }
        self.make("object_access", with_context(0), |context, _| {
            let (access, key) = Access::described(context);
            let keyless = context.compare(CompareOp::Eq, key, 0);
            let (keyless, keyed) = context.split(keyless);
            context.state = keyless;
            access.call(context, length);
            context.state = keyed;
            access.by_key(context, key, &known, missing, Access::by_bytes)
        })
    }

    /// `(ctx, L) -> 0 | FAIL`: does what a routine that gave [`moonhook_runtime::layout::ASSIGN_OBJECT`] asks for: as
    /// [`Stubs::access`], but the value at the address in `L_CALL_DEST` is assigned.
    pub fn assign<'n>(&mut self, names: impl IntoIterator<Item = &'n [u8]>) -> Result<FunctionId> {
        let missing = self.missing_field(THAT_CAN_BE)?;
        let mut known = Vec::new();
        for name in names {
            known.extend(self.assignment(name)?.map(|stub| (name, stub)));
        }
        self.make("object_assign", with_context(0), |context, _| {
            let (access, key) = Access::described(context);
            // Few scripts assign fields by names that they compute, and those need not be fast, but short.
            access.by_key(context, key, &known, missing, Access::by_routine)
        })
    }
}

/// What is asked for.
struct Access {
    program: Word,
    state: Word,
    object: Word,
    /// Where the value goes to, or comes from.
    place: Word,
}

/// Finds the stub for a key that is a string, of those for these names; goes on where there is none.
type ByText = fn(&Access, &mut Context<'_>, Word, &[(&[u8], FunctionId)]) -> Result<()>;

impl Access {
    /// What a routine has described, and the address of the key.
    fn described(context: &mut Context<'_>) -> (Access, Word) {
        let state = context.state_address();
        let [object, key, place] = [L_CALL_FUNC, L_CALL_COUNT, L_CALL_DEST].map(|field| {
            let field = context.add(state, field);
            arena::load(context, field)
        });
        let object = context.add(object, 8);
        let object = arena::load(context, object);
        (Access { program: context.code.function.params[0].into(), state, object, place }, key)
    }

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

    /// Ends with a stub's result.
    fn call(&self, context: &mut Context<'_>, stub: FunctionId) {
        if context.state.alive() {
            let result = context.call_function(stub, &[self.program, self.state, self.object, self.place]);
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
            let (same, other) = context.split_equal_constant(Slice { space, start, length }, name)?;
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
