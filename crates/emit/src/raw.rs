//! Programs without an object file: instructions that a process hands to the kernel itself, with their BTF and lines. What takes a loader
//! (kernel functions, CO-RE relocations, an arena) has no such form.

use crate::assemble::Reference;
use crate::btf::Btf;
use crate::describe;
use crate::error::EmitError;
use crate::frame;
use crate::isa::Word;
use crate::program::Code;
use moonhook_hook::Hook;
use moonhook_ir::{Function, FunctionId, FunctionKind, MapId, Module};
use std::collections::HashMap;

/// The programs of a module.
#[derive(Clone, Debug)]
pub struct Raw {
    pub programs: Vec<RawProgram>,
    /// For `BPF_BTF_LOAD`.
    pub btf: Vec<u8>,
}

/// A program, with all functions that it may call behind it.
#[derive(Clone, Debug)]
pub struct RawProgram {
    pub name: String,
    /// The section that the program would be in, which says of what type it is.
    pub section: String,
    /// Slots of 8 bytes.
    pub code: Vec<[u8; 8]>,
    /// Slots (`ld_imm64`) that get the descriptor of a map.
    pub maps: Vec<MapUse>,
    /// `struct bpf_func_info` and `struct bpf_line_info` (include/uapi/linux/bpf.h).
    pub functions: Vec<[u32; 2]>,
    pub lines: Vec<[u32; 4]>,
}

/// A map in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapUse {
    /// The number of the slot.
    pub slot: usize,
    pub map: MapId,
    /// The code has the address of its only value, at an offset that is in the second slot, and not the map itself.
    pub is_value: bool,
}

/// `BPF_PSEUDO_FUNC` (include/uapi/linux/bpf.h): the instruction's constant is where a function begins, from the next instruction on.
const PSEUDO_FUNCTION: u8 = 4;

/// Makes the programs of a module, `None` if that takes a loader.
///
/// # Errors
/// As of [`crate::emit`].
pub fn raw(module: &Module) -> Result<Option<Raw>, EmitError> {
    crate::check(module)?;
    if module.arena().is_some() || !describe::called_of_kernel(module).is_empty() {
        return Ok(None);
    }
    match raw_with(module, crate::LARGE_FRAME) {
        Err(EmitError::ChainTooLarge { .. }) => raw_with(module, 0),
        outcome => outcome,
    }
}

fn raw_with(module: &Module, large_frame: u32) -> Result<Option<Raw>, EmitError> {
    let codes = crate::compile_all(module, large_frame)?;
    let stacks: Vec<u32> = codes.iter().map(|code| code.stack).collect();
    frame::check_chains(module, &stacks)?;
    let is_field =
        |code: &Code| code.words.iter().any(|word| matches!(word.reference, Some(Reference::Field(..))));
    if codes.iter().any(is_field) {
        return Ok(None);
    }
    let mut btf = Btf::default();
    let types = module.functions.iter().map(|function| describe::signature(function, &mut btf));
    let types: Vec<u32> = types.map(|id| id.map(|id| id.0)).collect::<Result<_, EmitError>>()?;
    let mut programs = Vec::new();
    for (number, function) in module.functions.iter().enumerate() {
        if let FunctionKind::Program { section } = &function.kind {
            let order = reached(&codes, number);
            let section = Hook::section_in_objects(section);
            programs.push(program((module, &codes, &types), (function, section), &order, &mut btf));
        }
    }
    Ok(Some(Raw { programs, btf: btf.finish() }))
}

/// The functions that a program may call, itself first.
fn reached(codes: &[Code], program: usize) -> Vec<usize> {
    let mut order = vec![program];
    let mut at = 0;
    while at < order.len() {
        for word in &codes[order[at]].words {
            if let Some(Reference::Function(FunctionId(callee)) | Reference::Callback(FunctionId(callee))) =
                word.reference
                && !order.contains(&(callee as usize))
            {
                order.push(callee as usize);
            }
        }
        at += 1;
    }
    order
}

fn program(
    (module, codes, types): (&Module, &[Code], &[u32]),
    (function, section): (&Function, &str),
    order: &[usize],
    btf: &mut Btf,
) -> RawProgram {
    let mut starts: HashMap<usize, usize> = HashMap::new();
    let mut length = 0;
    for number in order {
        starts.insert(*number, length);
        length += codes[*number].words.len();
    }
    let mut made = RawProgram {
        name: function.name.clone(),
        section: section.to_string(),
        code: Vec::with_capacity(length),
        maps: Vec::new(),
        functions: Vec::new(),
        lines: Vec::new(),
    };
    for number in order {
        let (start, code) = (starts[number], &codes[*number]);
        made.functions.push([start as u32, types[*number]]);
        describe::lines(module, code, btf, start as u32, &mut made.lines);
        for word in &code.words {
            let slot = made.code.len();
            let to = |callee: FunctionId| (starts[&(callee.0 as usize)] as i64 - slot as i64 - 1) as i32;
            let word = match word.reference {
                Some(Reference::Data(map)) => {
                    made.maps.push(MapUse { slot, map, is_value: true });
                    word.word
                }
                Some(Reference::Map(map)) => {
                    made.maps.push(MapUse { slot, map, is_value: false });
                    word.word
                }
                Some(Reference::Function(callee)) => Word { imm: to(callee), ..word.word },
                Some(Reference::Callback(callee)) => {
                    Word { src: PSEUDO_FUNCTION, imm: to(callee), ..word.word }
                }
                Some(Reference::Kernel(_) | Reference::Field(..)) | None => word.word,
            };
            made.code.push(word.bytes());
        }
    }
    made
}
