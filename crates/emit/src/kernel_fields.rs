//! What an object says of the kernel's structures whose fields its code reads: for each field a structure of that name with the field at its
//! beginning, where the instructions read it (`bpf_core_patch_insn` of libbpf wants both to agree). Loaders look for the field in the
//! kernel's BTF, and put its offset into the instruction.

use crate::assemble::Reference;
use crate::btf::{Btf, FieldInfo, Member, TypeId};
use crate::program::Code;
use moonhook_ir::kernel_field::FieldContent;
use moonhook_ir::{KernelField, Size};

/// The fields that code reads, and the structure that was declared for each.
#[derive(Default)]
pub struct KernelFields {
    structures: Vec<(&'static KernelField, TypeId)>,
}

impl KernelFields {
    /// What a function reads.
    pub fn of(&mut self, code: &Code, btf: &mut Btf) -> Vec<FieldInfo> {
        let mut found = Vec::new();
        for (index, word) in code.words.iter().enumerate() {
            if let Some(Reference::Field(field)) = word.reference {
                let offset = code.offset + index as u32 * 8;
                // The first field of what an address of such a structure points to.
                found.push(FieldInfo {
                    offset,
                    structure: self.structure(field, btf),
                    path: btf.string("0:0"),
                });
            }
        }
        found
    }

    fn structure(&mut self, field: &'static KernelField, btf: &mut Btf) -> TypeId {
        if let Some((_, id)) = self.structures.iter().find(|(known, _)| *known == field) {
            return *id;
        }
        let type_id = match field.content {
            FieldContent::Number(Size::B1) => btf.byte(),
            FieldContent::Number(Size::B2) => btf.u16(),
            FieldContent::Number(Size::B4) => btf.u32(),
            FieldContent::Number(Size::B8) => btf.u64(),
            FieldContent::Address => btf.pointer(TypeId(0)),
        };
        let member = Member { name: field.name, type_id, offset: 0 };
        let id = btf.structure(field.structure, field.size() as u32, &[member]);
        self.structures.push((field, id));
        id
    }
}
