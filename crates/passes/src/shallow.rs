//! Shortens chains of calls: functions on chains that are too long come into the place of their calls, those that call nothing and those that are
//! called in one place.
//!
//! The kernel allows 8 nested frames (`MAX_CALL_FRAMES`), and of those that call a library's functions some are not ours.

use crate::combine::calls::{Calls, size};
use crate::combine::frame;
use moonhook_ir::*;

/// Shortens chains of calls from entries until they have at most so many frames, as far as that goes: functions that another compiler has made,
/// and those whose addresses the kernel is told, stay what they are. Gives which functions have changed.
pub fn run(module: &mut Module, most: usize) -> Vec<bool> {
    let mut changed = vec![false; module.functions.len()];
    while let Some((caller, callee)) = too_deep(module, most) {
        let function = module.functions[callee].clone();
        inline(&mut module.functions[caller], FunctionId(callee as u32), &function);
        changed[caller] = true;
    }
    changed
}

/// A function of a chain that is too long, and one that it calls which can come into the place of the calls: of those that are called in one place
/// the one at which most chains have begun, of others the one whose own frame is smallest, by estimate, for this is what its caller's grows by.
fn too_deep(module: &Module, most: usize) -> Option<(usize, usize)> {
    let known = Calls::new(module)?;
    let callees: Vec<Vec<usize>> = module.functions.iter().map(called).collect();
    let above = depths(module, &callees)?;
    let can_be_copied = |callee: usize| {
        let function = &module.functions[callee];
        let is_alone = known.sites(callee) == 1 && !known.is_referenced(callee);
        function.given.is_none() && !function.is_entry() && (callees[callee].is_empty() || is_alone)
    };
    let edges = callees.iter().enumerate().flat_map(|(caller, callees)| {
        // One whose address is told can be among them.
        let is_one = |callee: &usize| {
            above[caller] > 0
                && above[caller] + known.height(*callee) > most
                && can_be_copied(*callee)
                && calls(&module.functions[caller], *callee)
        };
        callees.iter().copied().filter(is_one).map(move |callee| (caller, callee)).collect::<Vec<_>>()
    });
    edges.min_by_key(|(caller, callee)| {
        let (function, sites) = (&module.functions[*callee], known.sites(*callee));
        let depth = if sites == 1 { above[*caller] } else { usize::MAX };
        (depth, frame::estimate(function), size(function) * sites as usize, *caller, *callee)
    })
}

/// The functions that one calls, or whose addresses it tells the kernel.
fn called(function: &Function) -> Vec<usize> {
    function.callees().map(|id| id.0 as usize).collect()
}

fn calls(function: &Function, callee: usize) -> bool {
    let is_call = |inst: &Inst| matches!(inst.op, Op::Call { function, .. } if function.0 as usize == callee);
    function.blocks.iter().any(|block| block.insts.iter().any(is_call))
}

/// By function, the frames of the longest chain of calls from an entry to it, its own included; 0 if none leads there. `None` if functions
/// call each other in circles.
fn depths(module: &Module, callees: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut depths: Vec<usize> = module.functions.iter().map(|function| function.is_entry().into()).collect();
    for _ in 0..=callees.len() {
        let mut changed = false;
        for (caller, callees) in callees.iter().enumerate() {
            let depth = depths[caller];
            for callee in callees.iter().filter(|_| depth > 0) {
                changed |= depths[*callee] <= depth;
                depths[*callee] = depths[*callee].max(depth + 1);
            }
        }
        if !changed {
            return Some(depths);
        }
    }
    None
}

/// Puts a function into the place of all its calls.
fn inline(caller: &mut Function, id: FunctionId, callee: &Function) {
    let mut at = 0;
    while at < caller.blocks.len() {
        let is_call = |inst: &Inst| matches!(inst.op, Op::Call { function, .. } if function == id);
        match caller.blocks[at].insts.iter().position(is_call) {
            Some(index) => put(caller, Block(at as u32), index, callee),
            None => at += 1,
        }
    }
}

/// Puts a function into the place of the call at `index` of a block.
fn put(caller: &mut Function, block: Block, index: usize, callee: &Function) {
    let behind = caller.new_block();
    let data = caller.block_mut(block);
    let rest = data.insts.split_off(index + 1);
    let (terminator, cold) = (data.terminator.take(), data.cold);
    let Some(Inst { op: Op::Call { args, .. }, result, loc }) = data.insts.pop() else { return };
    *caller.block_mut(behind) =
        BlockData { params: result.into_iter().collect(), insts: rest, terminator, cold };
    let entry = copy(caller, callee, &args, (behind, result.is_some(), cold));
    caller.block_mut(block).terminator = Some((Terminator::Jump(Target::new(entry, vec![])), loc));
}

/// Copies a function's blocks, with these in the place of its parameters, which go on in `behind` where it returns; gives the first of them.
fn copy(
    caller: &mut Function,
    callee: &Function,
    args: &[Value],
    (behind, gives, cold): (Block, bool, bool),
) -> Block {
    let (values, slots) = (caller.value_count, caller.slots.len() as u32);
    caller.value_count += callee.value_count;
    caller.alike |= callee.alike;
    caller.slots.extend(&callee.slots);
    let first = caller.blocks.len() as u32;
    let named = |value: Value| match callee.params.iter().position(|param| *param == value) {
        Some(place) => args[place],
        None => Value(value.0 + values),
    };
    for data in &callee.blocks {
        let mut data = data.clone();
        data.cold |= cold;
        data.params.iter_mut().for_each(|param| *param = named(*param));
        for inst in &mut data.insts {
            inst.op.map_values(named);
            inst.result = inst.result.map(named);
            if let Op::SlotAddress(slot) = &mut inst.op {
                slot.0 += slots;
            }
        }
        if let Some((terminator, _)) = &mut data.terminator {
            terminator.map_values(named);
            terminator.for_each_target_mut(|target| target.block.0 += first);
        }
        caller.blocks.push(data);
        let copied = Block(caller.blocks.len() as u32 - 1);
        go_on(caller, copied, behind, gives);
    }
    Block(first)
}

/// Lets a block that returns jump to `behind`, with what it returns if that is wanted.
fn go_on(caller: &mut Function, block: Block, behind: Block, gives: bool) {
    let Some((Terminator::Return(result), loc)) = caller.block(block).terminator else { return };
    let value = match result {
        _ if !gives => None,
        Operand::Value(value) => Some(value),
        Operand::Imm(number) => caller.push(block, Op::Const(number.into()), loc),
    };
    let target = Target::new(behind, value.into_iter().collect());
    caller.block_mut(block).terminator = Some((Terminator::Jump(target), loc));
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: &str = r#"
function top(v0) program "xdp" {
b0():
  v1 = const 5
  v2 = call f1(v1)
  return v2
}
function middle(v0) global {
b0():
  v1 = call f2(v0)
  v2 = call f2(v1)
  v3 = add v1, v2
  return v3
}
function last(v0) global {
  slot s0 8
b0():
  branch ugt v0, 5, b1(), b2()
b1():
  return 100
b2():
  v1 = add v0, 1
  return v1
}
"#;

    #[test]
    fn functions_with_small_frames_come_into_the_place_of_their_calls() {
        let mut module = parse(CHAIN.trim_start()).expect("it is a module");
        run(&mut module, 2);
        assert!(!calls(&module.functions[0], 1) && calls(&module.functions[0], 2), "{module}");
        assert!(module.functions[0].slots.is_empty());
        for function in &module.functions {
            verify::verify(function).expect("it keeps to the rules");
        }
        let before = module.to_string();
        run(&mut module, 2);
        assert_eq!(module.to_string(), before);
        run(&mut module, 1);
        assert_eq!(called(&module.functions[0]), [] as [usize; 0]);
        assert_eq!(module.functions[0].slots, [8, 8]);
        verify::verify(&module.functions[0]).expect("it keeps to the rules");
    }

    #[test]
    fn what_is_called_in_several_places_and_calls_others_stays() {
        let twice = CHAIN.replace("v2 = call f1(v1)", "v3 = call f1(v1)\n  v2 = call f1(v3)");
        let mut module = parse(twice.trim_start()).expect("it is a module");
        run(&mut module, 2);
        assert!(calls(&module.functions[0], 1) && !calls(&module.functions[1], 2), "{module}");
        verify::verify(&module.functions[1]).expect("it keeps to the rules");
    }
}
