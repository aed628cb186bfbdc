//! Gives variables that handlers only add to a word for each CPU.
//!
//! An atomic addition waits until all that the CPU has written before is in its cache, and takes the word away from the other CPUs. A word of
//! the CPU's own needs neither: programs are not moved to another CPU, and those of most hooks are not interrupted by others of the script.
//! User space takes the sum ([`Sums`]).
//!
//! Looks at the whole module, after its functions have been optimised: only then does it show what is not read.

use crate::values::{Definition, definitions, use_counts};
use crate::{Around, dce};
use moonhook_hook::Hook;
use moonhook_ir::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Two cache lines, which processors fetch together.
const APART: u32 = 128;

/// `cpus` is how many CPUs there can be. Modules with an arena are left alone, for their variables are there.
pub fn run(module: &mut Module, cpus: u32) {
    let state = module.maps.iter().position(|map| map.name == maps::STATE);
    let Some(state) = state.filter(|_| module.arena().is_none()) else { return };
    let map = MapId(state as u32);
    let Some(added) = only_added_to(module, map) else { return };
    let MapKind::Data(bytes) = &mut module.maps[state].kind else { return };
    if added.is_empty() {
        return;
    }
    let start = (bytes.len() as u32).next_multiple_of(APART);
    let stride = (8 * added.len() as u32).next_power_of_two().max(APART);
    let cpus = cpus.next_power_of_two();
    bytes.resize((start + cpus * stride) as usize, 0);
    let first: HashMap<u32, u32> = added.into_iter().zip((start..).step_by(8)).collect();
    for variable in &mut module.variables {
        variable.sums = first.get(&variable.offset).map(|first| Sums { first: *first, stride });
    }
    let hooks = module.sections().map(Hook::of_section);
    let is_interrupted = hooks.into_iter().any(|hook| hook.is_none_or(|hook| hook.is_interrupted));
    let rows = Rows { map, first, stride, cpus, is_interrupted };
    let (functions, around) = Around::of(module);
    for function in functions {
        rows.rewrite(function);
        dce::run(function, &around);
    }
}

/// The offsets of variables that are added to, and not touched otherwise. `None` where it does not show which ones are.
fn only_added_to(module: &Module, map: MapId) -> Option<BTreeSet<u32>> {
    let (mut added, mut others) = (BTreeSet::new(), BTreeSet::new());
    for function in &module.functions {
        let (uses, places) = (use_counts(function), places(function, map));
        let mut left = places.keys().map(|place| uses[place.index()]).sum::<u32>();
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            let Some((base, disp)) = accessed(&inst.op) else { continue };
            let Some(place) = places.get(&base) else { continue };
            let at = place.checked_add_signed(disp.into())?;
            let variable = at - at % Variable::SIZE;
            let is_sum = at - variable == Variable::PAYLOAD && is_plain_sum(inst, &uses);
            if is_sum {
                added.insert(variable)
            } else {
                others.insert(variable)
            };
            left -= 1;
        }
        // An address that is computed with, or kept, may be that of any variable later on.
        if left > 0 {
            return None;
        }
    }
    Some(added.difference(&others).copied().collect())
}

/// The addresses within a data section that a function computes, as offsets.
fn places(function: &Function, map: MapId) -> BTreeMap<Value, u32> {
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    let place = |inst: &Inst| match (&inst.op, inst.result) {
        (Op::DataAddress { map: of, offset }, Some(result)) if *of == map => Some((result, *offset)),
        _ => None,
    };
    insts.filter_map(place).collect()
}

/// The address that an operation accesses.
fn accessed(op: &Op) -> Option<(Value, i16)> {
    match op {
        Op::Load { base, disp, .. } | Op::Store { base, disp, .. } | Op::Atomic { base, disp, .. } => {
            Some((*base, *disp))
        }
        _ => None,
    }
}

/// An addition of which nobody wants to know what was there before.
fn is_plain_sum(inst: &Inst, uses: &[u32]) -> bool {
    matches!(inst.op, Op::Atomic { op: AtomicOp::Add, size: Size::B8, .. })
        && inst.result.is_none_or(|result| uses[result.index()] == 0)
}

/// The words of all CPUs.
struct Rows {
    map: MapId,
    /// By the variable's offset.
    first: HashMap<u32, u32>,
    stride: u32,
    /// A power of two.
    cpus: u32,
    /// A program of the script may run in the middle of another one, on the same CPU.
    is_interrupted: bool,
}

impl Rows {
    fn rewrite(&self, function: &mut Function) {
        let (places, definitions) = (places(function, self.map), definitions(function));
        let operand = |value: Value| match definitions[value.index()] {
            Definition::Const(number) => number.try_into().map_or(value.into(), Operand::Imm),
            _ => value.into(),
        };
        let mut next = function.value_count;
        for block in &mut function.blocks {
            let mut insts = Vec::with_capacity(block.insts.len());
            for inst in std::mem::take(&mut block.insts) {
                match self.sum(&inst.op, &places) {
                    Some((first, value)) => {
                        let added = (value, operand(value));
                        insts.extend(self.own_sum(first, added, inst.loc, &mut next));
                    }
                    None => insts.push(inst),
                }
            }
            block.insts = insts;
        }
        function.value_count = next;
    }

    /// The first CPU's word of what is added to, and what is added.
    fn sum(&self, op: &Op, places: &BTreeMap<Value, u32>) -> Option<(u32, Value)> {
        let Op::Atomic { base, disp, value, .. } = op else { return None };
        let at = places.get(base)?.checked_add_signed((*disp).into())?;
        Some((*self.first.get(&(at - at % Variable::SIZE))?, *value))
    }

    /// The same addition to this CPU's word.
    fn own_sum(&self, first: u32, (value, operand): (Value, Operand), loc: Loc, next: &mut u32) -> Vec<Inst> {
        let mut insts = Vec::new();
        let mut emit = |op: Op| {
            let result = op.has_result().then(|| Value(std::mem::replace(next, *next + 1)));
            insts.push(Inst { op, result, loc });
            result.unwrap_or(value)
        };
        let cpu = emit(Op::Helper { id: helper::GET_SMP_PROCESSOR_ID, args: vec![] });
        let cpu = emit(Op::Binary(BinaryOp::And, cpu, Operand::Imm(self.cpus as i32 - 1)));
        let row = emit(Op::Binary(BinaryOp::Shl, cpu, Operand::Imm(self.stride.trailing_zeros() as i32)));
        let base = emit(Op::DataAddress { map: self.map, offset: first });
        let base = emit(Op::Binary(BinaryOp::Add, base, row.into()));
        if self.is_interrupted {
            emit(Op::Atomic { op: AtomicOp::Add, size: Size::B8, base, disp: 0, value });
        } else {
            let sum = emit(Op::Load { size: Size::B8, signed: false, base, disp: 0 });
            let sum = emit(Op::Binary(BinaryOp::Add, sum, operand));
            emit(Op::Store { size: Size::B8, base, disp: 0, value: sum.into() });
        }
        insts
    }
}
