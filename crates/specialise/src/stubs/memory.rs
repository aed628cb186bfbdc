//! Values and strings of stubs in arena memory.

use crate::arena;
use crate::context::{Context, Result};
use crate::value::{Abs, Object, Space, Str, Word};
use moonhook_btf::TypeId;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, UnaryOp};
use moonhook_runtime::layout::{
    FAIL, L_HEAP, TAG_BUILTIN, TAG_FALSE, TAG_FLOAT, TAG_INT, TAG_NIL, TAG_OBJECT, TAG_STRING, TAG_STRUCTURE,
};

impl Context<'_> {
    /// Reserves `length` bytes of the arena's heap; gives their address. Ends the stub where there is no room. Whole words
    /// can be stored at any place in it.
    pub fn allocate_in_arena(&mut self, length: Word) -> Word {
        let room = self.add(length, 8);
        let start = self.call_routine("alloc", &[room]);
        let none = self.compare(CompareOp::Eq, start, 0);
        self.fail_if(none, |context| context.give(FAIL));
        start
    }

    /// Gives back all of what was reserved last, at `start`, but the first bytes.
    pub fn shorten_in_arena(&mut self, start: Word, length: Word) {
        let length = self.add(length, 7);
        let length = self.and(length, -8);
        let end = self.add(start, length);
        let heap = self.add(self.state_address(), L_HEAP);
        arena::store(self, heap, end);
    }

    /// A constant string as a slice of the arena.
    pub(super) fn image_text(&mut self, text: &[u8]) -> (Space, Word, Word) {
        let payload = self.image_string(text);
        (Space::Scratch, Word::Imm(payload & 0xffff_ffff), Word::Imm(text.len() as i64))
    }

    /// The address of the runtime's state.
    pub fn state_address(&self) -> Word {
        self.stub.as_ref().map_or(Word::Imm(0), |stub| stub.state.into())
    }

    /// The payload of a constant string.
    pub(super) fn image_string(&mut self, text: &[u8]) -> i64 {
        self.stub.as_mut().map_or(0, |stub| stub.host.text(text) as i64)
    }

    /// The payload of a string; its bytes are copied into the arena's heap unless they are in the arena.
    pub(super) fn payload_of_text(&mut self, text: &Str) -> Result<Word> {
        let text = match text {
            Str::Const(bytes) => return Ok(Word::Imm(self.image_string(bytes))),
            Str::Slice { space: Space::Packet | Space::Pool, .. } | Str::Cased { .. } => {
                self.copied(text.clone())?
            }
            text => text.clone(),
        };
        let (_, start, length) = self.slice(&text)?;
        let length = self.shl(length, 32);
        Ok(self.binary(BinaryOp::Or, length, start))
    }

    /// Stores a value of known type at an address of the arena.
    pub(super) fn store_value(&mut self, address: Word, value: &Abs) -> Result<()> {
        let (tag, payload) = match value {
            Abs::Nil => (Word::Imm(TAG_NIL), Word::Imm(0)),
            Abs::Union(_) | Abs::Entry { .. } => {
                return self.internal_fault("a value of several types where one is stored");
            }
            // `TAG_TRUE` follows.
            Abs::Bool(word) => (self.add(*word, TAG_FALSE), Word::Imm(0)),
            Abs::Int(word) => (Word::Imm(TAG_INT), *word),
            Abs::Float(word) => (Word::Imm(TAG_FLOAT), *word),
            Abs::Str(text) => (Word::Imm(TAG_STRING), self.payload_of_text(text)?),
            Abs::Object(Object::Builtin(name)) => {
                let value = self.stub.as_mut().map(|stub| stub.host.builtin(name));
                let (tag, payload) = value.unwrap_or((TAG_BUILTIN, 0));
                (Word::Imm(tag), Word::Imm(payload as i64))
            }
            Abs::Structure { type_id, address } => {
                let structures = self.stub.as_ref().map(|stub| stub.host.structures()).unwrap_or_default();
                let Some(number) = structures.number(TypeId(*type_id)) else {
                    return self.internal_fault("a structure without a number");
                };
                (Word::Imm(TAG_STRUCTURE + number), *address)
            }
            Abs::Object(object) => {
                let Some((payload, _)) = super::objects().find(|(_, known)| known == object) else {
                    return self.internal_fault("an object without a number");
                };
                (Word::Imm(TAG_OBJECT), Word::Imm(payload))
            }
        };
        arena::store(self, address, tag);
        let at = self.add(address, 8);
        arena::store(self, at, payload);
        Ok(())
    }
}

/// The string that a payload stands for.
pub fn text_of_payload(words: &mut impl Words, payload: Word) -> Str {
    let start = words.unary(UnaryOp::ZeroExtend32, payload);
    let length = words.shr(payload, 32);
    Str::Slice { space: Space::Scratch, start, length }
}
