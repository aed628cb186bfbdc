//! The ELF file: a relocatable object as `clang -target bpf` writes it, for libbpf and what is built on it.

use crate::assemble::{CodeWord, Reference};
use crate::describe::{Description, called_of_kernel, section_of};
use crate::error::EmitError;
use crate::isa::Word;
use crate::program::{ARENA_IMAGE, Code, DATA_ALIGNMENT, data_section};
use moonhook_ir::{Function, FunctionId, FunctionKind, MapKind, Module};
use object::write::{Object, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope, elf,
};

/// Writes the object. Linkers want the licences of all objects to be the same text, so a library leaves it to the program.
pub fn write(
    module: &Module,
    codes: &[Code],
    description: Description,
    license: Option<&[u8]>,
) -> Result<Vec<u8>, EmitError> {
    let mut writer = Writer {
        object: Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little),
        maps: Vec::new(),
        functions: Vec::new(),
        kernel: Vec::new(),
        sections: Vec::new(),
    };
    writer.maps(module, &description);
    writer.functions(module, codes);
    writer.kernel_functions(module);
    writer.relocations(module, codes)?;
    if let Some(license) = license {
        let id = writer.section("license", SectionKind::Data);
        writer.object.append_section_data(id, license, 1);
        writer.symbol("_license", SymbolKind::Data, true, id, 0, license.len() as u64);
    }
    for (name, bytes) in [(".BTF", &description.btf), (".BTF.ext", &description.extension)] {
        let id = writer.section(name, SectionKind::Metadata);
        writer.object.append_section_data(id, bytes, 4);
    }
    writer.object.write().map_err(problem)
}

fn problem(error: object::write::Error) -> EmitError {
    EmitError::ObjectFile { problem: error.to_string() }
}

/// A word's bytes, with the offset of a function that a helper is to call.
fn bytes_of(word: &CodeWord, codes: &[Code]) -> [u8; 8] {
    match word.reference {
        Some(Reference::Callback(callee)) => {
            let offset = codes[callee.0 as usize].offset;
            Word { imm: offset as i32, ..word.word }.bytes()
        }
        _ => word.word.bytes(),
    }
}

struct Writer<'a> {
    object: Object<'a>,
    /// By map and by function; of data sections the sections' own symbols.
    maps: Vec<SymbolId>,
    functions: Vec<Option<SymbolId>>,
    /// The kernel's functions, by their numbers.
    kernel: Vec<(u32, SymbolId)>,
    /// Code sections by name.
    sections: Vec<(&'a str, SectionId)>,
}

impl<'a> Writer<'a> {
    fn section(&mut self, name: &str, kind: SectionKind) -> SectionId {
        self.object.add_section(Vec::new(), name.as_bytes().to_vec(), kind)
    }

    fn symbol(
        &mut self,
        name: &str,
        kind: SymbolKind,
        global: bool,
        section: SectionId,
        value: u64,
        size: u64,
    ) -> SymbolId {
        self.object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value,
            size,
            kind,
            scope: if global { SymbolScope::Dynamic } else { SymbolScope::Compilation },
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        })
    }

    fn maps(&mut self, module: &Module, description: &Description) {
        let mut definitions = None;
        for (map, offset) in module.maps.iter().zip(&description.map_offsets) {
            let symbol = match data_section(map) {
                Some(section) => {
                    let (id, size) = (self.section(&section.name, section.kind), section.size());
                    if section.kind == SectionKind::UninitializedData {
                        self.object.append_section_bss(id, size as u64, DATA_ALIGNMENT as u64);
                    } else {
                        let mut bytes = section.bytes.to_vec();
                        bytes.resize(size, 0);
                        self.object.append_section_data(id, &bytes, DATA_ALIGNMENT as u64);
                    }
                    self.symbol(&map.name, SymbolKind::Data, true, id, 0, size as u64);
                    // Loaders differ in whether an offset in the instruction counts where a variable is meant.
                    self.object.section_symbol(id)
                }
                None => {
                    let id = *definitions.get_or_insert_with(|| {
                        let id = self.section(".maps", SectionKind::Data);
                        self.object.append_section_data(id, &vec![0; description.maps_size as usize], 8);
                        id
                    });
                    let next = description.map_offsets.iter().find(|next| *next > offset);
                    let size = next.unwrap_or(&description.maps_size) - offset;
                    self.symbol(&map.name, SymbolKind::Data, true, id, u64::from(*offset), u64::from(size))
                }
            };
            self.maps.push(symbol);
            if let MapKind::Arena { image, .. } = &map.kind
                && !image.is_empty()
            {
                let id = self.section(ARENA_IMAGE, SectionKind::Data);
                self.object.append_section_data(id, image, DATA_ALIGNMENT as u64);
            }
        }
    }

    fn functions(&mut self, module: &'a Module, codes: &[Code]) {
        for (function, code) in module.functions.iter().zip(codes) {
            if code.words.is_empty() {
                self.functions.push(None);
                continue;
            }
            let id = self.code_section(function);
            let bytes: Vec<u8> = code.words.iter().flat_map(|word| bytes_of(word, codes)).collect();
            self.object.append_section_data(id, &bytes, 8);
            let global = !matches!(function.kind, FunctionKind::Subprogram { global: false, .. });
            let (offset, size) = (u64::from(code.offset), bytes.len() as u64);
            let symbol = self.symbol(&function.name, SymbolKind::Text, global, id, offset, size);
            if let Some(prototype) = &function.prototype {
                let binding = if prototype.is_weak { elf::STB_WEAK } else { elf::STB_GLOBAL };
                let visibility = if prototype.is_hidden { elf::STV_HIDDEN } else { elf::STV_DEFAULT };
                let st_info = elf::SymbolInfo::new(binding, elf::STT_FUNC);
                self.object.symbol_mut(symbol).flags =
                    SymbolFlags::Elf { st_info, st_other: visibility.into() };
            }
            self.functions.push(Some(symbol));
        }
    }

    fn kernel_functions(&mut self, module: &Module) {
        for function in called_of_kernel(module) {
            let symbol = self.object.add_symbol(Symbol {
                name: function.name.as_bytes().to_vec(),
                value: 0,
                size: 0,
                kind: SymbolKind::Unknown,
                scope: SymbolScope::Unknown,
                weak: false,
                section: SymbolSection::Undefined,
                flags: SymbolFlags::None,
            });
            self.kernel.push((function.id, symbol));
        }
    }

    fn code_section(&mut self, function: &'a Function) -> SectionId {
        let name = section_of(function);
        if let Some((_, id)) = self.sections.iter().find(|(known, _)| *known == name) {
            return *id;
        }
        let id = self.section(name, SectionKind::Text);
        self.sections.push((name, id));
        id
    }

    /// libbpf takes addresses of static functions as offsets in their section (`sym_is_subprog`).
    fn section_symbol(&mut self, module: &'a Module, function: FunctionId) -> SymbolId {
        let id = self.code_section(module.function(function));
        self.object.section_symbol(id)
    }

    fn relocations(&mut self, module: &'a Module, codes: &[Code]) -> Result<(), EmitError> {
        let undeclared = || EmitError::ObjectFile { problem: "an undeclared function".into() };
        for (function, code) in module.functions.iter().zip(codes) {
            let section = self.code_section(function);
            for (index, word) in code.words.iter().enumerate() {
                let Some(reference) = word.reference else { continue };
                let (symbol, r_type) = match reference {
                    Reference::Data(map) | Reference::Map(map) => {
                        (self.maps[map.0 as usize], elf::R_BPF_64_64)
                    }
                    Reference::Function(callee) => {
                        (self.functions[callee.0 as usize].ok_or_else(undeclared)?, elf::R_BPF_64_32)
                    }
                    Reference::Kernel(id) => {
                        let symbol = self.kernel.iter().find(|(known, _)| *known == id);
                        (symbol.ok_or_else(undeclared)?.1, elf::R_BPF_64_32)
                    }
                    // In `.BTF.ext`.
                    Reference::Field(..) => continue,
                    Reference::Callback(callee) => (self.section_symbol(module, callee), elf::R_BPF_64_64),
                };
                let relocation = Relocation {
                    offset: u64::from(code.offset) + index as u64 * 8,
                    symbol,
                    addend: 0, // In the instruction.
                    flags: RelocationFlags::Elf { r_type },
                };
                self.object.add_relocation(section, relocation).map_err(problem)?;
            }
        }
        Ok(())
    }
}
