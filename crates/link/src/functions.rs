//! Functions, and what their instructions refer to (relocations: Documentation/bpf/llvm_reloc.rst).

use crate::error::LinkErrorKind;
use crate::object::{File, Function, Linkage, Places, Reference, Target, code_sections, symbol};
use object::{Object as _, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SymbolKind};
use std::collections::{BTreeMap, HashMap};

/// Bytes of an instruction.
const SLOT: u64 = 8;

/// Codes of instructions (include/uapi/linux/bpf.h): of one that loads 64 bits, which takes two slots, and of a call.
const LOAD: u8 = 0x18;
const CALL: u8 = 0x85;

/// What the second register of a call says: a function of the object, or one that is linked with it (`BPF_PSEUDO_CALL`).
const OF_OBJECT: u8 = 1;

/// Where functions begin: by section and address, their numbers.
type Starts = HashMap<(SectionIndex, u64), usize>;

pub fn read(file: &File<'_>, places: &Places<'_>) -> Result<Vec<Function>, LinkErrorKind> {
    let (mut functions, mut starts, mut homes) = (Vec::new(), Starts::new(), Vec::new());
    for section in code_sections(file) {
        let bytes = section.data().map_err(malformed)?;
        let name = section.name().map_err(malformed)?.to_string();
        for (start, (symbol, linkage, end)) in extents(file, section.index(), bytes.len() as u64) {
            let code = bytes.get(start as usize..end as usize).unwrap_or_default();
            let is_whole = start.is_multiple_of(SLOT) && (code.len() as u64).is_multiple_of(SLOT);
            if code.is_empty() || !is_whole {
                return Err(LinkErrorKind::Cut { function: symbol });
            }
            starts.insert((section.index(), start), functions.len());
            homes.push((section.index(), start));
            let code = code.as_chunks::<8>().0.to_vec();
            let (references, lines) = Default::default();
            let (start, section) = ((start / SLOT) as usize, name.clone());
            functions.push(Function {
                name: symbol,
                section,
                linkage,
                code,
                start,
                references,
                lines,
                ty: None,
            });
        }
    }
    let relocations = relocations(file)?;
    for (function, home) in functions.iter_mut().zip(&homes) {
        function.references = references(file, function, *home, (&relocations, &starts, places))?;
    }
    Ok(functions)
}

fn malformed(problem: object::Error) -> LinkErrorKind {
    LinkErrorKind::Malformed { problem: problem.to_string() }
}

/// The functions of a section by where they begin: name, linkage, end.
fn extents(file: &File<'_>, section: SectionIndex, length: u64) -> BTreeMap<u64, (String, Linkage, u64)> {
    let mut found: BTreeMap<u64, (String, Linkage, u64)> = BTreeMap::new();
    for symbol in file.symbols() {
        if symbol.kind() != SymbolKind::Text
            || symbol.section_index() != Some(section)
            || symbol.address() >= length
        {
            continue;
        }
        let linkage = match (symbol.is_local(), symbol.is_weak()) {
            (true, _) => Linkage::Static,
            (_, true) => Linkage::Weak,
            _ => Linkage::Global,
        };
        let name = symbol.name().unwrap_or_default().to_string();
        let end = symbol.address().saturating_add(symbol.size());
        found.insert(symbol.address(), (name, linkage, end));
    }
    // One without a size ends where the next one begins.
    let starts: Vec<u64> = found.keys().copied().chain([length]).collect();
    for ((start, (_, _, end)), next) in found.iter_mut().zip(&starts[1..]) {
        if *end <= *start || *end > *next {
            *end = *next;
        }
    }
    found
}

/// By section and address, the symbols that instructions refer to.
type Relocations = HashMap<(SectionIndex, u64), object::SymbolIndex>;

fn relocations(file: &File<'_>) -> Result<Relocations, LinkErrorKind> {
    let mut all = Relocations::new();
    for section in code_sections(file) {
        for (address, relocation) in section.relocations() {
            match relocation.target() {
                RelocationTarget::Symbol(symbol) => all.insert((section.index(), address), symbol),
                _ => {
                    return Err(LinkErrorKind::Malformed { problem: "a relocation without a symbol".into() });
                }
            };
        }
    }
    Ok(all)
}

fn references(
    file: &File<'_>,
    function: &Function,
    (section, start): (SectionIndex, u64),
    (relocations, starts, places): (&Relocations, &Starts, &Places<'_>),
) -> Result<Vec<Reference>, LinkErrorKind> {
    let mut references = Vec::new();
    let mut slots = function.code.iter().enumerate();
    while let Some((slot, [code, registers, _, _, number @ ..])) = slots.next() {
        let (number, kind) = (i64::from(i32::from_le_bytes(*number)), registers >> 4);
        let address = start + slot as u64 * SLOT;
        let symbol = relocations.get(&(section, address)).map(|index| symbol(file, *index)).transpose()?;
        let target = match (*code, symbol) {
            (CALL, Some((name, None, _))) if places.kernel.contains(&name) => {
                return Err(LinkErrorKind::KernelFunction { function: function.name.clone(), name });
            }
            (CALL, Some((name, None, _))) if kind == OF_OBJECT => Some(Target::Missing(name)),
            (CALL, symbol) if kind == OF_OBJECT => {
                // The number is that of the instruction behind the call, from which it is counted.
                let (home, base) = match symbol {
                    Some((_, Some(home), value)) => (home, value),
                    _ => (section, address),
                };
                let callee = base.wrapping_add_signed(number.wrapping_add(1).wrapping_mul(SLOT as i64));
                let called = starts.get(&(home, callee)).copied();
                let none = || LinkErrorKind::NoFunction { function: function.name.clone() };
                Some(Target::Call(called.ok_or_else(none)?))
            }
            (LOAD, Some((name, home, value))) => {
                Some(loaded(function, (name, home, value), number, (starts, places))?)
            }
            _ => None,
        };
        references.extend(target.map(|target| Reference { slot, target }));
        if *code == LOAD && slots.next().is_none() {
            return Err(LinkErrorKind::Cut { function: function.name.clone() });
        }
    }
    Ok(references)
}

/// What a load of 64 bits is of.
fn loaded(
    function: &Function,
    (name, home, value): (String, Option<SectionIndex>, u64),
    number: i64,
    (starts, places): (&Starts, &Places<'_>),
) -> Result<Target, LinkErrorKind> {
    let nowhere = |name: String| LinkErrorKind::NoPlace { function: function.name.clone(), name };
    let Some(home) = home else { return Err(nowhere(name)) };
    if let Some(section) = places.data.get(&home) {
        let offset = value.wrapping_add_signed(number);
        let offset = u32::try_from(offset).map_err(|_| nowhere(name))?;
        return Ok(Target::Data { section: *section, offset });
    }
    if let Some(map) = places.maps.iter().position(|map| map.name == name) {
        return Ok(Target::Map(map));
    }
    // Where the address is of a section, the number is how far the function is from its start.
    let called = starts.get(&(home, value.wrapping_add_signed(number)));
    called.map(|called| Target::Function(*called)).ok_or_else(|| nowhere(name))
}
