//! Puts what is in a module's arena into a data section, for loaders and kernels that know no arenas, or that leave an arena
//! empty where nobody but the loader can fill it.
//!
//! An offset in the arena becomes one in the section: its high bits are masked away, which is what the verifier takes for the proof
//! that the access is inside. So the section's length is a power of two, with room on both sides for the displacements of loads and
//! stores. Accesses outside of the arena, which would read 0 and lose what they write, end up somewhere in the section instead:
//! correct programs make them on paths only whose results they do not use. Adds nothing for modules without an arena.

use moonhook_ir::{BinaryOp, Function, Inst, Loc, MapId, MapKind, Module, Op, Operand, PAGE, UnaryOp, Value};
use std::collections::{HashMap, HashSet};

/// How far a displacement, which is 16 bits wide, can lead out of the memory. The widest access is shorter than the rest.
const GUARD: usize = (1 << 15) + 64;

/// What the kernel lets programs address in one map: `BPF_MAX_VAR_OFF` (include/linux/bpf_verifier.h).
pub const MOST: usize = 1 << 29;

/// The name of the section, in the place of the arena.
pub const NAME: &str = "lua_memory";

/// Rewrites the module.
///
/// # Errors
/// How many bytes the section would have, if those are more than [`MOST`]; the module is as before then.
pub fn run(module: &mut Module) -> Result<(), usize> {
    let Some(map) = module.arena() else { return Ok(()) };
    let arena = &mut module.maps[map.0 as usize];
    let MapKind::Arena { pages, image } = &mut arena.kind else { return Ok(()) };
    let memory = (*pages as usize * PAGE).max(image.len()).next_power_of_two();
    let length = memory + 2 * GUARD;
    if length > MOST {
        return Err(length);
    }
    let mut bytes = vec![0; length];
    bytes[GUARD..GUARD + image.len()].copy_from_slice(image);
    arena.kind = MapKind::Data(bytes);
    name_section(module, map);
    let section = Section { map, mask: memory as i32 - 1 };
    module.functions.iter_mut().for_each(|function| section.use_in(function));
    Ok(())
}

/// Makes data of sections that begin with zeros: older loaders (libbpf 1.1) know one such section only, which has no name of its own.
pub fn write_zeros(module: &mut Module) {
    for map in &mut module.maps {
        if let MapKind::Zeros(size) = map.kind {
            map.kind = MapKind::Data(vec![0; size as usize]);
        }
    }
}

/// Names are symbols of one object: a table that has the name gets another.
fn name_section(module: &mut Module, section: MapId) {
    let taken = |name: &str| {
        module.maps.iter().any(|map| map.name == name) || module.functions.iter().any(|f| f.name == name)
    };
    let free = (1..).map(|number| format!("{NAME}_{number}")).find(|name| !taken(name)).unwrap_or_default();
    for map in module.maps.iter_mut().filter(|map| map.name == NAME) {
        map.name.clone_from(&free);
    }
    module.maps[section.0 as usize].name = NAME.to_string();
}

#[derive(Clone, Copy)]
struct Section {
    map: MapId,
    mask: i32,
}

impl Section {
    fn use_in(&self, function: &mut Function) {
        let constants = constants(function);
        let aligned = atomic_bases(function);
        for index in 0..function.blocks.len() {
            let block = &mut function.blocks[index];
            let mut insts = Vec::with_capacity(block.insts.len());
            for inst in std::mem::take(&mut block.insts) {
                match (&inst.op, inst.result) {
                    (Op::Unary(UnaryOp::Arena, offset), Some(result)) => {
                        let known = constants.get(offset).copied();
                        let section = if aligned.contains(&result) { self.aligned() } else { *self };
                        let fresh = &mut function.value_count;
                        section.address(*offset, known, (result, inst.loc), fresh, &mut insts);
                    }
                    _ => insts.push(inst),
                }
            }
            function.blocks[index].insts = insts;
        }
    }

    /// For multiples of 8 only, which the verifier asks for where operations are atomic.
    fn aligned(&self) -> Section {
        Section { mask: self.mask & !7, ..*self }
    }

    /// The operations that make `result` the address of the byte at `offset`.
    fn address(
        &self,
        offset: Value,
        known: Option<i64>,
        (result, loc): (Value, Loc),
        fresh: &mut u32,
        insts: &mut Vec<Inst>,
    ) {
        let mut push = |op, result| insts.push(Inst { op, result: Some(result), loc });
        let data = |offset: u32| Op::DataAddress { map: self.map, offset: offset + GUARD as u32 };
        if let Some(known) = known {
            return push(data(known as u32 & self.mask as u32), result);
        }
        let (masked, start) = (Value(*fresh), Value(*fresh + 1));
        *fresh += 2;
        push(Op::Binary(BinaryOp::And, offset, Operand::Imm(self.mask)), masked);
        push(data(0), start);
        push(Op::Binary(BinaryOp::Add, start, Operand::Value(masked)), result);
    }
}

/// The values that are constants.
fn constants(function: &Function) -> HashMap<Value, i64> {
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    let constant = |inst: &Inst| match (&inst.op, inst.result) {
        (Op::Const(constant), Some(result)) => Some((result, *constant)),
        _ => None,
    };
    insts.filter_map(constant).collect()
}

/// The values that atomic operations have as their base.
fn atomic_bases(function: &Function) -> HashSet<Value> {
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    let base = |inst: &Inst| match inst.op {
        Op::Atomic { base, .. } => Some(base),
        _ => None,
    };
    insts.filter_map(base).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_ir::{Map, Size, parse_function};

    fn module(pages: u32) -> Module {
        let text = "function f(v0) global {
b0():
  v1 = const 40
  v2 = arena v1
  v3 = arena v0
  v4 = load.u64 v2+8
  v5 = load.u64 v3-8
  v6 = arena v4
  v7 = atomic_add.64 v6+8, v5
  return v7
}
";
        let arena = Map { name: "a".into(), kind: MapKind::Arena { pages, image: vec![7; 48] } };
        Module { functions: vec![parse_function(text).unwrap()], maps: vec![arena], ..Module::default() }
    }

    #[test]
    fn offsets_are_masked_and_the_image_is_behind_the_guard() {
        let mut module = module(3);
        assert_eq!(run(&mut module), Ok(()));
        let MapKind::Data(bytes) = &module.maps[0].kind else { panic!("{:?}", module.maps[0]) };
        assert_eq!((bytes.len(), bytes[GUARD - 1], bytes[GUARD]), (4 * PAGE + 2 * GUARD, 0, 7));
        assert_eq!(module.maps[0].name, NAME);
        let function = &module.functions[0];
        assert_eq!(moonhook_ir::verify::verify(function), Ok(()));
        let ops: Vec<&Op> = function.blocks[0].insts.iter().map(|inst| &inst.op).collect();
        let known = Op::DataAddress { map: MapId(0), offset: GUARD as u32 + 40 };
        assert_eq!(ops[1], &known);
        assert_eq!(ops[2], &Op::Binary(BinaryOp::And, Value(0), Operand::Imm(0x3fff)));
        // What is changed atomically has to be aligned.
        assert!(ops.contains(&&Op::Binary(BinaryOp::And, Value(4), Operand::Imm(0x3ff8))), "{function}");
        assert!(matches!(ops.last(), Some(Op::Atomic { size: Size::B8, .. })));
    }

    #[test]
    fn more_than_the_kernel_addresses_is_refused() {
        let mut large = module(1 << 17);
        let before = large.clone();
        assert_eq!(run(&mut large), Err((1 << 29) + 2 * GUARD));
        assert_eq!(large, before);
        let mut none = Module::default();
        assert_eq!((run(&mut none), none), (Ok(()), Module::default()));
    }
}
