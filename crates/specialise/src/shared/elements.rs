//! Whether an entry is still that of the key it was looked up with, seen in the kernel's own element: a few loads, where a second lookup
//! takes as long as the first.
//!
//! The kernel writes a key before its value when it gives an element to another key, and takes the element out of its bucket's list
//! before that (`htab_lru_map_update_elem`, `prealloc_lru_pop` and `htab_map_delete_elem` in kernel/bpf/hashtab.c). Programs read
//! elements, but not write them, by `bpf_rdonly_cast`, whose call the verifier replaces by a move.

use crate::context::Context;
use crate::state::State;
use moonhook_ir as ir;
use moonhook_ir::kernel_field::{ELEMENT_KEY, LINKED_FROM};
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, FieldFact, MapKind, MapType, Op, Size, helper};
use moonhook_schema::Schema;

/// Words of a key that are compared, at most: code for longer ones would be long.
const MOST_WORDS: usize = 8;

/// All addresses of the kernel have these highest bits (Documentation/arch/x86/x86_64/mm.rst), and what stands for them in what is in no list has not
/// (`LIST_POISON2`, include/linux/poison.h).
const KERNEL: i64 = 0xff;
const HIGHEST_BITS: i64 = 56;

impl Context<'_> {
    /// Whether the map's elements can be read, and are worth it.
    pub(super) fn reads_elements(&self, map: ir::MapId, schema: &Schema) -> bool {
        let map_type = match &self.output.module.maps[map.0 as usize].kind {
            MapKind::Map(definition) => Some(definition.map_type),
            _ => None,
        };
        self.options.kernel_types
            && schema.key_size() <= 8 * MOST_WORDS
            && matches!(map_type, Some(MapType::Hash | MapType::LruHash))
    }

    /// The element that an entry is the value of, at the address of its value.
    pub(super) fn element_of(&mut self, schema: &Schema, entry: ir::Value) -> ir::Value {
        let to_key = self.emit(Op::FieldFact { field: &ELEMENT_KEY, fact: FieldFact::Offset });
        // -1 - to_key: addresses are added to, and old verifiers know nothing of what is negated.
        let back = self.emit(Op::Binary(BinaryOp::Xor, to_key, ir::Operand::Imm(-1)));
        let begin = self.emit(Op::Binary(BinaryOp::Add, entry, back.into()));
        let key_size = schema.key_size() as i32;
        let begin = self.emit(Op::Binary(BinaryOp::Add, begin, ir::Operand::Imm(1 - key_size)));
        let structure = self.emit(Op::FieldFact { field: &ELEMENT_KEY, fact: FieldFact::Structure });
        self.emit(Op::Helper { id: helper::READ_ONLY_CAST, args: vec![begin, structure] })
    }

    /// Leaves where the element is in no bucket, and may just be written.
    pub(super) fn leave_unlinked(&mut self, element: ir::Value, moved: &mut Vec<State>) {
        let linked_from = self.kernel_field(element, &LINKED_FROM);
        let highest = self.shr(linked_from, HIGHEST_BITS);
        let unlinked = self.compare(CompareOp::Ne, highest, KERNEL);
        self.leave_if(unlinked, moved);
    }

    /// Leaves where the element has another key than the bytes at an address.
    pub(super) fn leave_other_key(
        &mut self,
        schema: &Schema,
        [key, element]: [ir::Value; 2],
        moved: &mut Vec<State>,
    ) {
        let place = self.kernel_place(element.into(), &ELEMENT_KEY);
        let place = self.value(place);
        let mut differences = ir::words::Word::Imm(0);
        for disp in (0..schema.key_size() as i16).step_by(8) {
            let wanted = self.load(key, disp, Size::B8, false);
            let there = self.load(place, disp, Size::B8, false);
            let difference = self.binary(BinaryOp::Xor, there, wanted);
            differences = self.binary(BinaryOp::Or, differences, difference);
        }
        let other = self.compare(CompareOp::Ne, differences, 0);
        self.leave_if(other, moved);
    }
}
