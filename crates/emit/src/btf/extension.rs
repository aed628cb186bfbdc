//! `.BTF.ext`: which functions and lines instructions are of, and which of them read fields of the kernel.

use super::{TypeId, header};
use moonhook_ir::FieldFact;

/// Of `.BTF.ext`, with the part about CO-RE relocations: loaders that do those read no shorter one.
const EXTENSION_HEADER_LEN: u32 = 32;

/// Where a program's function starts, for `.BTF.ext`.
#[derive(Clone, Copy, Debug)]
pub struct FunctionInfo {
    /// In bytes from the section's start.
    pub offset: u32,
    pub type_id: TypeId,
}

/// Which line a program's instructions from `offset` on come from.
#[derive(Clone, Copy, Debug)]
pub struct LineInfo {
    /// In bytes from the section's start.
    pub offset: u32,
    /// Strings of the `.BTF` section.
    pub file: u32,
    pub text: u32,
    pub line: u32,
}

/// What `.BTF.ext` says about one program section.
#[derive(Clone, Debug, Default)]
pub struct SectionInfo {
    /// The section's name, a string of the `.BTF` section.
    pub name: u32,
    pub functions: Vec<FunctionInfo>,
    /// By rising offset.
    pub lines: Vec<LineInfo>,
    pub fields: Vec<FieldInfo>,
}

/// That an instruction reads a field of the kernel's (`struct bpf_core_relo`, include/uapi/linux/bpf.h).
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// In bytes from the section's start.
    pub offset: u32,
    /// The structure, as far as the object knows it, and a string that says which of its fields: `0:3`.
    pub structure: TypeId,
    pub path: u32,
    /// What the instruction wants to know of it.
    pub fact: FieldFact,
}

/// The `.BTF.ext` section.
pub fn extension(sections: &[SectionInfo]) -> Vec<u8> {
    let functions = records(8, sections, |section, out| {
        for info in &section.functions {
            out.extend([info.offset, info.type_id.0]);
        }
    });
    let lines = records(16, sections, |section, out| {
        for info in &section.lines {
            // The low 10 bits are the column: not known.
            out.extend([info.offset, info.file, info.text, info.line << 10]);
        }
    });
    let fields = records(16, sections, |section, out| {
        for info in &section.fields {
            out.extend([info.offset, info.structure.0, info.path, info.fact as u32]);
        }
    });
    // Loaders read no vmlinux BTF where nothing is to be found in it.
    let fields = if sections.iter().all(|section| section.fields.is_empty()) { Vec::new() } else { fields };
    let mut out = header(EXTENSION_HEADER_LEN);
    // Start and length of each part.
    let mut start = 0;
    for part in [&functions, &lines, &fields] {
        let length = part.len() as u32;
        out.extend([start, length].into_iter().flat_map(u32::to_le_bytes));
        start += length;
    }
    [functions, lines, fields].into_iter().for_each(|part| out.extend(part));
    out
}

/// A part of `.BTF.ext`: records of `size` bytes, by section.
fn records(size: u32, sections: &[SectionInfo], list: impl Fn(&SectionInfo, &mut Vec<u32>)) -> Vec<u8> {
    let mut words = vec![size];
    for section in sections {
        let mut of_section = Vec::new();
        list(section, &mut of_section);
        if !of_section.is_empty() {
            words.extend([section.name, of_section.len() as u32 * 4 / size]);
            words.extend(of_section);
        }
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_says_that_it_has_no_relocations() {
        let functions = vec![FunctionInfo { offset: 0, type_id: TypeId(3) }];
        let words = words(&[SectionInfo { name: 1, functions, ..SectionInfo::default() }]);
        // Header length; where functions, lines and relocations begin behind it, and how long they are.
        assert_eq!(words[1..8], [32, 0, 20, 20, 4, 24, 0]);
        assert_eq!(words[8..], [8, 1, 1, 0, 3, 16]);
    }

    #[test]
    fn the_extension_says_which_instructions_read_fields() {
        let fields = vec![FieldInfo { offset: 24, structure: TypeId(9), path: 5, fact: FieldFact::Offset }];
        let words = words(&[SectionInfo { name: 1, fields, ..SectionInfo::default() }]);
        assert_eq!(words[1..8], [32, 0, 4, 4, 4, 8, 28]);
        // Size of a record; the section, how many there are; instruction, type, path, kind.
        assert_eq!(words[8..], [8, 16, 16, 1, 1, 24, 9, 5, 0]);
    }

    fn words(sections: &[SectionInfo]) -> Vec<u32> {
        let bytes = extension(sections);
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }
}
