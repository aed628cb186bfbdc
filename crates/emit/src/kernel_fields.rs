//! What an object says of the kernel's structures whose fields its code reads: for each field a structure of that name with the field at its
//! beginning, where the instructions read it (`bpf_core_patch_insn` of libbpf wants both to agree). Loaders look for the field in the
//! kernel's BTF, and put its offset into the instruction.

use crate::assemble::Reference;
use crate::btf::{Btf, FieldInfo, Member, TypeId};
use crate::program::Code;
use moonhook_ir::kernel_field::FieldContent;
use moonhook_ir::{FieldFact, KernelField, Size};

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
            if let Some(Reference::Field(field, fact)) = word.reference {
                let offset = code.offset + index as u32 * 8;
                // The structure, or the first field of what an address of such a structure points to.
                let path = if fact == FieldFact::Structure { "0" } else { "0:0" };
                let structure = self.structure(field, btf);
                found.push(FieldInfo { offset, structure, path: btf.string(path), fact });
            }
        }
        found
    }

    fn structure(&mut self, field: &'static KernelField, btf: &mut Btf) -> TypeId {
        if let Some((_, id)) = self.structures.iter().find(|(known, _)| *known == field) {
            return *id;
        }
        let member = Member { name: &field.name, type_id: type_of(field.content, btf), offset: 0 };
        let size = field.content.bytes();
        let id = match field.content {
            FieldContent::Bits { count, .. } => {
                btf.structure_of_bits(&field.structure, size, (&member, count))
            }
            _ if field.is_union => btf.union(&field.structure, size, &[member]),
            _ => btf.structure(&field.structure, size, &[member]),
        };
        self.structures.push((field, id));
        id
    }
}

/// What loaders take for the same type as the kernel's (`bpf_core_fields_are_compat` of libbpf): numbers of any size and names, addresses of
/// anything, all structures, enumerations without a name.
fn type_of(content: FieldContent, btf: &mut Btf) -> TypeId {
    match content {
        FieldContent::Number(size) => number(size, btf),
        FieldContent::Bits { of: Size::B4, signed: true, .. } => btf.int(),
        FieldContent::Bits { of: Size::B8, signed: true, .. } => btf.i64(),
        FieldContent::Bits { of, .. } => number(of, btf),
        FieldContent::Address => btf.pointer(TypeId(0)),
        FieldContent::Enumeration(size) => btf.enumeration(size as u32),
        FieldContent::Part => btf.structure("", 0, &[]),
        FieldContent::Array(of, length) => {
            let of = type_of(*of, btf);
            btf.array(of, length)
        }
    }
}

fn number(size: Size, btf: &Btf) -> TypeId {
    match size {
        Size::B1 => btf.byte(),
        Size::B2 => btf.u16(),
        Size::B4 => btf.u32(),
        Size::B8 => btf.u64(),
    }
}
