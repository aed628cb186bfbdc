//! What the object says about itself in BTF: its functions, maps, data sections and script lines.

use crate::btf::{Btf, FunctionInfo, LineInfo, Linkage, Member, SectionInfo, TypeId};
use crate::entries;
use crate::error::EmitError;
use crate::kernel_fields::KernelFields;
use crate::program::{Code, TEXT, data_section};
use moonhook_btf::Types;
use moonhook_hook::Hook;
use moonhook_ir::helper::{self, Gives, KernelFunction, Parameter};
use moonhook_ir::{
    CType, Function, FunctionKind, Loc, MapDefinition, MapKind, MapTypes, Module, Op, Prototype, SourceFile,
};
use std::collections::HashMap;
use std::sync::Arc;

/// The last line number that line information holds (22 bits).
const MAX_LINE: u32 = (1 << 22) - 1;

/// The contents of `.BTF` and `.BTF.ext`.
pub struct Description {
    pub btf: Vec<u8>,
    pub extension: Vec<u8>,
    /// The offset of each map's definition in `.maps`, and that section's size; both in bytes.
    pub map_offsets: Vec<u32>,
    pub maps_size: u32,
}

/// Describes the module whose functions became `codes`; its licence has so many bytes, if it has one.
pub fn describe(module: &Module, codes: &[Code], license: Option<u32>) -> Result<Description, EmitError> {
    let mut btf = Btf::default();
    let (map_offsets, maps_size) = maps(module, &mut btf);
    data(module, &mut btf)?;
    if let Some(length) = license {
        let license_type = btf.array(btf.byte(), length);
        let variable = btf.variable("_license", license_type);
        let member = Member { name: "_license", type_id: variable, offset: 0 };
        btf.section("license", length, &[(member, length)]);
    }
    let extension = functions(module, codes, &mut btf)?;
    kernel_functions(module, &mut btf);
    Ok(Description { btf: btf.finish(), extension, map_offsets, maps_size })
}

/// Describes the maps as libbpf reads them: a structure whose members are pointers to arrays, whose lengths are the
/// numbers (`__uint` of bpf_helpers.h), or to the types of keys and values (`__type`).
fn maps(module: &Module, btf: &mut Btf) -> (Vec<u32>, u32) {
    let mut offsets = Vec::with_capacity(module.maps.len());
    let mut variables = Vec::new();
    let mut size = 0;
    let mut copied: Vec<(&Arc<Types>, HashMap<u32, TypeId>)> = Vec::new();
    for (index, map) in module.maps.iter().enumerate() {
        offsets.push(size);
        let table = module.tables.iter().find(|table| table.map.0 as usize == index);
        let (mut numbers, extra) = match &map.kind {
            MapKind::Map(definition) => (definition_members(definition), None),
            MapKind::Arena { pages, .. } => (arena_members(*pages), Some(ARENA_ADDRESS)),
            MapKind::ReadOnlyData(_) | MapKind::Data(_) | MapKind::Zeros(_) => continue,
        };
        let described = module.map_types.iter().find(|types| types.map.0 as usize == index);
        let entry = match described {
            Some(described) => Some(copy(described, btf, &mut copied)),
            None => table.map(|table| entries::types(&table.schema, btf)),
        };
        if entry.is_some() {
            // The types say it.
            numbers.retain(|(name, _)| !["key_size", "value_size"].contains(name));
        }
        let mut members: Vec<Member> = (numbers.iter().enumerate())
            .map(|(index, (name, number))| {
                let array = btf.array(btf.int(), *number);
                Member { name, type_id: btf.pointer(array), offset: index as u32 * 8 }
            })
            .collect();
        for (name, to) in entry.into_iter().flat_map(|(key, value)| [("key", key), ("value", value)]) {
            members.push(Member { name, type_id: btf.pointer(to), offset: members.len() as u32 * 8 });
        }
        if let Some(extra) = extra {
            let type_id = btf.wide_number(&format!("{}_map_extra", map.name), extra);
            members.push(Member { name: "map_extra", type_id, offset: members.len() as u32 * 8 });
        }
        let bytes = members.len() as u32 * 8;
        let structure = btf.structure("", bytes, &members);
        let variable = btf.variable(&map.name, structure);
        variables.push((Member { name: &map.name, type_id: variable, offset: size }, bytes));
        size += bytes;
    }
    if !variables.is_empty() {
        btf.section(".maps", size, &variables);
    }
    (offsets, size)
}

/// The types of keys and values that came with the map; those of one object are copied once.
fn copy<'a>(
    described: &'a MapTypes,
    btf: &mut Btf,
    copied: &mut Vec<(&'a Arc<Types>, HashMap<u32, TypeId>)>,
) -> (TypeId, TypeId) {
    let MapTypes { types, key, value, .. } = described;
    let known = copied.iter().position(|(known, _)| Arc::ptr_eq(known, types)).unwrap_or_else(|| {
        copied.push((types, HashMap::new()));
        copied.len() - 1
    });
    let [key, value] = btf.copy(types, [*key, *value], &mut copied[known].1);
    (key, value)
}

/// The members of a map's definition. Those that are 0 are left out: for ring buffers libbpf refuses them.
fn definition_members(definition: &MapDefinition) -> Vec<(&'static str, u32)> {
    let MapDefinition { map_type, key_size, value_size, max_entries, flags } = definition;
    let all = [
        ("type", map_type.number()),
        ("max_entries", *max_entries),
        ("key_size", *key_size),
        ("value_size", *value_size),
        ("map_flags", *flags),
    ];
    all.into_iter().filter(|(_, number)| *number != 0).collect()
}

/// Where user space sees the arena: a multiple of 4 GiB, so that the low half of its byte 0's address is 0. A loader that
/// has several at once gives each an address of its own.
const ARENA_ADDRESS: u64 = 1 << 44;

/// An arena's definition (`arena_map_alloc`, kernel/bpf/arena.c); its address is in `map_extra`.
fn arena_members(pages: u32) -> Vec<(&'static str, u32)> {
    const BPF_MAP_TYPE_ARENA: u32 = 33;
    const BPF_F_MMAPABLE: u32 = 1 << 10;
    vec![("type", BPF_MAP_TYPE_ARENA), ("max_entries", pages), ("map_flags", BPF_F_MMAPABLE)]
}

/// One variable per data section, as long as the section. libbpf lets user space map sections with a global variable
/// into its memory.
fn data(module: &Module, btf: &mut Btf) -> Result<(), EmitError> {
    for map in &module.maps {
        let Some(section) = data_section(map) else { continue };
        let size = u32::try_from(section.size())
            .map_err(|_| EmitError::Malformed { problem: format!("{} exceeds 4 GiB", section.name) })?;
        let array = btf.array(btf.byte(), size);
        let variable = btf.variable(&map.name, array);
        btf.section(&section.name, size, &[(Member { name: &map.name, type_id: variable, offset: 0 }, size)]);
    }
    Ok(())
}

/// Declares the kernel's functions that the module calls, as libbpf looks for them (`bpf_object__collect_externs`).
fn kernel_functions(module: &Module, btf: &mut Btf) {
    let mut declared = Vec::new();
    for function in called_of_kernel(module) {
        let types: Vec<(&str, TypeId)> = (function.parameters.iter())
            .map(|parameter| match parameter {
                Parameter::Number => ("", btf.u64()),
                Parameter::Address => ("", btf.pointer(TypeId(0))),
                Parameter::Structure(name) => {
                    let structure = btf.structure(name, 0, &[]);
                    ("", btf.pointer(structure))
                }
            })
            .collect();
        let result = match function.gives {
            Gives::Number => btf.int(),
            Gives::Nothing => TypeId(0),
            Gives::Address => btf.pointer(TypeId(0)),
            Gives::Structure(name) => {
                let structure = btf.structure(name, 0, &[]);
                btf.pointer(structure)
            }
        };
        let type_id = btf.function(function.name, Linkage::Extern, result, &types);
        declared.push((Member { name: function.name, type_id, offset: 0 }, 0));
    }
    if !declared.is_empty() {
        btf.section(".ksyms", 0, &declared);
    }
}

/// The kernel's functions that a module calls, each once.
pub fn called_of_kernel(module: &Module) -> Vec<&'static KernelFunction> {
    let mut called: Vec<&KernelFunction> = Vec::new();
    for inst in module.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.insts) {
        if let Op::Helper { id, .. } = inst.op
            && let Some(function) = helper::kernel_function(id)
            && !called.iter().any(|known| known.id == id)
        {
            called.push(function);
        }
    }
    called
}

/// Describes the functions and the lines they come from: the `.BTF.ext` section.
fn functions(module: &Module, codes: &[Code], btf: &mut Btf) -> Result<Vec<u8>, EmitError> {
    let mut sections: Vec<(&str, SectionInfo)> = Vec::new();
    let mut fields = KernelFields::default();
    let mut lines = Lines { sources: &module.sources, split: Vec::new() };
    let there = module.functions.iter().zip(codes).filter(|(_, code)| !code.words.is_empty());
    for (function, code) in there {
        let name = section_of(function);
        let position = sections.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            sections.push((name, SectionInfo { name: btf.string(name), ..Default::default() }));
            sections.len() - 1
        });
        let info = &mut sections[position].1;
        info.functions.push(FunctionInfo { offset: code.offset, type_id: signature(function, btf)? });
        lines.add(code, btf, &mut info.lines);
        info.fields.extend(fields.of(code, btf));
    }
    // Of one section, the functions come in the order of their offsets already.
    let sections: Vec<SectionInfo> = sections.into_iter().map(|(_, info)| info).collect();
    Ok(crate::btf::extension(&sections))
}

/// The ELF section with a function's code.
pub fn section_of(function: &Function) -> &str {
    match &function.kind {
        _ if function.prototype.is_some() => TEXT,
        FunctionKind::Program { section } => Hook::section_in_objects(section),
        FunctionKind::Subprogram { .. } => TEXT,
    }
}

/// A program takes its context, other functions take numbers or the context and numbers; the verifier checks global
/// functions by this (`btf_prepare_func_args`, kernel/bpf/btf.c).
pub fn signature(function: &Function, btf: &mut Btf) -> Result<TypeId, EmitError> {
    if let Some(prototype) = &function.prototype {
        return Ok(declared(&function.name, prototype, btf));
    }
    Ok(match &function.kind {
        FunctionKind::Program { section } => {
            let context = context(section, btf)?;
            let result = btf.int();
            btf.function(&function.name, Linkage::Global, result, &[("ctx", context)])
        }
        FunctionKind::Subprogram { global, context: of_section } => {
            let linkage = if *global { Linkage::Global } else { Linkage::Static };
            let word = btf.u64();
            let names = ["a", "b", "c", "d", "e"];
            let mut params: Vec<(&str, TypeId)> =
                names.into_iter().take(function.params.len()).map(|name| (name, word)).collect();
            if let (Some(section), Some(first)) = (of_section, params.first_mut()) {
                *first = ("ctx", context(section, btf)?);
            }
            btf.function(&function.name, linkage, word, &params)
        }
    })
}

/// A function as C declares it. Linkers compare that with what C says (`glob_sym_btf_matches` of libbpf).
fn declared(name: &str, prototype: &Prototype, btf: &mut Btf) -> TypeId {
    let mut of = |ty: CType| match ty {
        CType::Int => btf.int(),
        CType::LongLong => btf.i64(),
        CType::Size => btf.u64(),
        CType::Context(structure) => {
            let structure = btf.structure(structure, 0, &[]);
            btf.pointer(structure)
        }
        CType::Text => {
            let byte = btf.char();
            btf.pointer(byte)
        }
        CType::Memory => btf.pointer(TypeId(0)),
    };
    let result = of(prototype.result);
    let parameters: Vec<(&str, TypeId)> =
        prototype.parameters.iter().map(|(name, ty)| (*name, of(*ty))).collect();
    btf.function(name, Linkage::Global, result, &parameters)
}

/// A pointer to the context of programs in that section; the kernel knows it by the structure's name.
///
/// # Errors
/// No hook has programs in that section.
fn context(section: &str, btf: &mut Btf) -> Result<TypeId, EmitError> {
    let hook = Hook::of_section(section)
        .ok_or_else(|| EmitError::Malformed { problem: format!("no hook has a section `{section}`") })?;
    let structure = btf.structure(hook.context.structure, 0, &[]);
    Ok(btf.pointer(structure))
}

/// The lines of a function's code as the kernel takes them, in slots from a program's start, at which the function begins at `start`.
pub fn lines(module: &Module, code: &Code, btf: &mut Btf, start: u32, out: &mut Vec<[u32; 4]>) {
    let mut lines = Lines { sources: &module.sources, split: Vec::new() };
    let mut found = Vec::new();
    lines.add(code, btf, &mut found);
    // Of code without a place, the offsets are from its own start.
    let line = |info: LineInfo| [start + info.offset / 8, info.file, info.text, info.line << 10];
    out.extend(found.into_iter().map(line));
}

/// Line information from the words' places in the script.
struct Lines<'a> {
    sources: &'a [SourceFile],
    /// By source, its lines; filled when the source is first met.
    split: Vec<Option<Vec<&'a str>>>,
}

impl<'a> Lines<'a> {
    fn add(&mut self, code: &Code, btf: &mut Btf, out: &mut Vec<LineInfo>) {
        // The kernel wants information at a function's first instruction.
        let known = |loc: &Loc| loc.line != 0;
        let mut last = code.words.iter().map(|word| word.loc).find(known).unwrap_or_default();
        for (index, word) in code.words.iter().enumerate() {
            // Neither nowhere nor the second half of a two-slot instruction starts a line.
            let starts = known(&word.loc) && word.loc != last && word.word.code != 0;
            if starts {
                last = word.loc;
            }
            if starts || index == 0 {
                out.push(self.line(last, code.offset + index as u32 * 8, btf));
            }
        }
    }

    fn line(&mut self, loc: Loc, offset: u32, btf: &mut Btf) -> LineInfo {
        let source = usize::from(loc.source);
        let line = loc.line.min(MAX_LINE);
        let Some(file) = self.sources.get(source) else {
            return LineInfo { offset, file: 0, text: 0, line };
        };
        if self.split.len() <= source {
            self.split.resize(source + 1, None);
        }
        let lines = self.split[source].get_or_insert_with(|| file.text.lines().collect());
        let text = (loc.line as usize).checked_sub(1).and_then(|index| lines.get(index).copied());
        let text = btf.string(text.unwrap_or_default());
        LineInfo { offset, file: btf.string(&file.name), text, line }
    }
}
