//! Reading the kernel's memory. What is not there is 0.

use crate::context::Context;
use crate::value::Word;
use moonhook_btf::{Content, Field, Kind, TypeId, Types};
use moonhook_ir::words::Words;
use moonhook_ir::{BinaryOp, FieldContent, FieldFact, KernelField, Op, Size, Value, helper};

/// The stack slot that numbers are read into, by the name that [`crate::shared::known::SharedTables::slot`] takes.
const SLOT: u32 = 6;

/// Names of structures in BTF, and of fields, are in objects, which say of what is without a name only where it lies.
pub fn described(types: &Types, id: TypeId, field: &Field<'_>) -> Option<&'static KernelField> {
    let Kind::Structure { is_union, .. } = types.kind(id) else { return None };
    let structure = Some(types.name(id)).filter(|name| !name.is_empty())?;
    let content = match (field.content, field.bits) {
        (Content::Number { bytes, signed, .. }, Some(bits)) => {
            FieldContent::Bits { of: size(bytes), signed, count: bits.count }
        }
        // Loaders know bits of numbers only.
        (_, Some(_)) => return None,
        _ => object_content(types, field.type_id),
    };
    let (structure, name) = (structure.to_string().into(), field.name.to_string().into());
    Some(KernelField { structure, is_union, name, content }.kept())
}

/// What objects say of a type.
fn object_content(types: &Types, id: TypeId) -> FieldContent {
    let id = types.resolved(id);
    match types.kind(id) {
        Kind::Integer { bytes, .. } => FieldContent::Number(size(bytes)),
        Kind::Enumeration { bytes, .. } => FieldContent::Enumeration(size(bytes)),
        Kind::Array { of, length } => FieldContent::Array(object_content(types, of).kept(), length),
        Kind::Pointer(_) => FieldContent::Address,
        _ => FieldContent::Part,
    }
}

pub fn size(bytes: u32) -> Size {
    match bytes {
        1 => Size::B1,
        2 => Size::B2,
        4 => Size::B4,
        _ => Size::B8,
    }
}

impl Context<'_> {
    /// The number of that size at an address of the kernel's memory.
    pub(super) fn kernel_number(&mut self, address: Word, size: Size, signed: bool) -> Word {
        let slot = self.slot_for_numbers();
        let bytes = Word::Imm(size as i64);
        self.helper(helper::PROBE_READ_KERNEL, &[slot.into(), bytes, address]);
        self.load(slot, 0, size, signed)
    }

    /// The number that some bits of a word are, of the structure at an address.
    pub(super) fn kernel_bits(
        &mut self,
        structure: Word,
        field: &Field<'_>,
        known: Option<&'static KernelField>,
        signed: bool,
    ) -> Word {
        let slot = self.slot_for_numbers();
        self.store(slot, 0, Size::B8, Word::Imm(0));
        let offset = self.offset_of(field, known);
        let address = self.add(structure, offset);
        let (bytes, left, right) = match (known, field.bits, field.content) {
            (Some(known), ..) => (
                self.field_fact(known, FieldFact::Bytes),
                self.field_fact(known, FieldFact::ShiftLeft),
                self.field_fact(known, FieldFact::ShiftRight),
            ),
            (None, Some(bits), Content::Number { bytes, .. }) => {
                let left = 64 - i64::from(bits.first + bits.count);
                (Word::Imm(bytes.into()), Word::Imm(left), Word::Imm(64 - i64::from(bits.count)))
            }
            // `bool` is a byte.
            (None, bits, _) => {
                let (first, count) = bits.map_or((0, 8), |bits| (bits.first, bits.count));
                let left = 64 - i64::from(first + count);
                (Word::Imm(1), Word::Imm(left), Word::Imm(64 - i64::from(count)))
            }
        };
        self.helper(helper::PROBE_READ_KERNEL, &[slot.into(), bytes, address]);
        let word = self.load(slot, 0, Size::B8, false);
        let word = self.binary(BinaryOp::Shl, word, left);
        self.binary(if signed { BinaryOp::AShr } else { BinaryOp::LShr }, word, right)
    }

    /// Where a field begins in its structure.
    pub(super) fn offset_of(&mut self, field: &Field<'_>, known: Option<&'static KernelField>) -> Word {
        match known {
            Some(known) => self.field_fact(known, FieldFact::Offset),
            None => Word::Imm(field.offset.into()),
        }
    }

    /// One slot for all: in a loop the verifier tells paths apart by which slots they have written.
    fn slot_for_numbers(&mut self) -> Value {
        let slot = self.known.shared.slot(SLOT, 8, &mut self.code.function);
        self.emit(Op::SlotAddress(slot))
    }
}
