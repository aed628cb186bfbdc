//! An object taken apart.

use crate::error::{LinkError, LinkErrorKind};
use crate::{functions, lines, maps};
use moonhook_btf::{Kind, TypeId, Types};
use object::elf::{EM_BPF, FileHeader64};
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{
    LittleEndian, Object as _, ObjectSection, ObjectSymbol, SectionIndex, SectionKind, SymbolIndex,
};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) type File<'d> = ElfFile64<'d, LittleEndian>;

/// An object.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// As a person has named the file.
    pub name: String,
    pub functions: Vec<Function>,
    pub maps: Vec<Map>,
    /// Sections with variables and constants that functions refer to.
    pub data: Vec<Data>,
    pub types: Arc<Types>,
    /// What the section `license` says; empty without one.
    pub licence: String,
}

/// A function: a program, or what others call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Where it is: programs are in sections that say what they are attached to, others in `.text`.
    pub section: String,
    pub linkage: Linkage,
    /// `struct bpf_insn`.
    pub code: Vec<[u8; 8]>,
    /// Where it begins in the section, in slots.
    pub start: usize,
    /// In the order of their slots.
    pub references: Vec<Reference>,
    /// In the order of their slots.
    pub lines: Vec<Line>,
    /// Its type in [`Object::types`], a function; `None` where the object does not say.
    pub ty: Option<TypeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Nothing else than the object sees it.
    Static,
    Global,
    /// Another one of that name takes its place.
    Weak,
}

/// Something that an instruction refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The instruction's number in the function, in slots of 8 bytes.
    pub slot: usize,
    pub target: Target,
}

/// What that is; numbers are those in the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The call of a function.
    Call(usize),
    /// The address of a function, for helpers that call it.
    Function(usize),
    Map(usize),
    /// A byte of a section.
    Data {
        section: usize,
        offset: u32,
    },
    /// The call of a function that is not in the object.
    Missing(String),
}

/// From which line an instruction and those behind it are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub slot: usize,
    pub file: String,
    pub number: u32,
    pub text: String,
}

/// A map as the object defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    pub name: String,
    /// `enum bpf_map_type`.
    pub map_type: u32,
    /// In bytes, with the types, where the object says them.
    pub key: (u32, Option<TypeId>),
    pub value: (u32, Option<TypeId>),
    pub max_entries: u32,
    pub flags: u32,
    /// Another one of that name takes its place.
    pub is_weak: bool,
}

/// A section with variables or constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    pub section: String,
    pub bytes: Vec<u8>,
    pub is_constant: bool,
}

impl Object {
    /// Takes an object apart that is called `name`.
    ///
    /// # Errors
    /// What it has that programs of ours cannot have, and what is no object.
    pub fn read(bytes: &[u8], name: &str) -> Result<Object, LinkError> {
        read(bytes).map(|object| Object { name: name.into(), ..object }).map_err(|kind| kind.of(name))
    }

    /// The number of the function of that name that others can call.
    pub fn function(&self, name: &str) -> Option<usize> {
        let is_it = |function: &Function| function.name == name && function.linkage != Linkage::Static;
        self.functions.iter().position(is_it)
    }
}

fn malformed(problem: object::Error) -> LinkErrorKind {
    LinkErrorKind::Malformed { problem: problem.to_string() }
}

fn read(bytes: &[u8]) -> Result<Object, LinkErrorKind> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(malformed)?;
    if header.e_machine(LittleEndian) != EM_BPF {
        return Err(LinkErrorKind::Foreign { what: format!("machine {}", header.e_machine(LittleEndian)) });
    }
    let file = File::parse(bytes).map_err(malformed)?;
    let content =
        |name: &str| file.section_by_name(name).map(|section| section.data().map_err(malformed)).transpose();
    let types = Types::parse(content(".BTF")?.ok_or(LinkErrorKind::NoTypes)?.to_vec())?;
    let licence = content("license")?.unwrap_or_default();
    let maps = maps::read(&file, &types)?;
    let (data, numbers) = data(&file)?;
    let places = Places { maps: &maps, kernel: of_kernel(&types), data: &numbers };
    let mut functions = functions::read(&file, &places)?;
    for function in &mut functions {
        function.ty = types.find(&function.name, |kind| matches!(kind, Kind::Function(_)));
    }
    if let Some(more) = content(".BTF.ext")? {
        lines::read(more, &types, &mut functions)?;
    }
    let licence = String::from_utf8_lossy(licence).trim_end_matches('\0').to_string();
    Ok(Object { name: String::new(), functions, maps, data, types: Arc::new(types), licence })
}

/// The section of types in which functions of the kernel are.
const KERNEL: &str = ".ksyms";

fn of_kernel(types: &Types) -> Vec<String> {
    let section = types.all().find(|id| types.kind(*id) == Kind::Section && types.name(*id) == KERNEL);
    let members = section.map(|section| types.members(section)).unwrap_or_default();
    members.into_iter().map(|member| member.name.to_string()).collect()
}

/// What functions can refer to.
pub(crate) struct Places<'a> {
    pub maps: &'a [Map],
    /// Names of functions of the kernel, which are in a section of types and in no other one.
    pub kernel: Vec<String>,
    /// Numbers of data sections, by their indices in the file.
    pub data: &'a HashMap<SectionIndex, usize>,
}

/// Sections with variables and constants, and which numbers they have.
fn data(file: &File<'_>) -> Result<(Vec<Data>, HashMap<SectionIndex, usize>), LinkErrorKind> {
    let (mut all, mut numbers) = (Vec::new(), HashMap::new());
    for section in file.sections() {
        let name = section.name().map_err(malformed)?;
        let begins = |wanted: &str| {
            name == wanted || name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
        };
        let is_constant = begins(".rodata");
        if !is_constant && !begins(".data") && !begins(".bss") {
            continue;
        }
        let bytes = match begins(".bss") {
            true => zeros(section.size())?,
            false => section.data().map_err(malformed)?.to_vec(),
        };
        numbers.insert(section.index(), all.len());
        all.push(Data { section: name.into(), bytes, is_constant });
    }
    Ok((all, numbers))
}

/// No map has a value of more bytes (`KMALLOC_MAX_SIZE`, kernel/bpf/arraymap.c): a file that says so is none.
const MOST_ZEROS: u64 = 1 << 31;

fn zeros(length: u64) -> Result<Vec<u8>, LinkErrorKind> {
    match length <= MOST_ZEROS {
        true => Ok(vec![0; length as usize]),
        false => Err(LinkErrorKind::Malformed { problem: "a section is larger than any map".into() }),
    }
}

/// Sections with code.
pub(crate) fn code_sections<'f, 'd>(
    file: &'f File<'d>,
) -> impl Iterator<Item = object::read::elf::ElfSection64<'d, 'f, LittleEndian>> {
    file.sections().filter(|section| section.kind() == SectionKind::Text && section.size() > 0)
}

/// The symbol with that index, by its name and place.
pub(crate) fn symbol(
    file: &File<'_>,
    index: SymbolIndex,
) -> Result<(String, Option<SectionIndex>, u64), LinkErrorKind> {
    let symbol = file.symbol_by_index(index).map_err(malformed)?;
    let name = symbol.name().map_err(malformed)?.to_string();
    Ok((name, symbol.section_index(), symbol.address()))
}
