//! Removes calls of functions that do nothing but compute a result, where nobody needs the result, and then the functions
//! that nobody calls any more.
//!
//! Looks at the whole module, after its functions have been optimised: only then does it show that a result is not needed.
//! A header that is walked for one of its fields is where this matters: what the walk finds out besides is dropped.

use crate::values::use_counts;
use moonhook_ir::*;

/// Gives, by function, whether calls were removed from it; `None` if from none.
pub(crate) fn run(module: &mut Module) -> Option<Vec<bool>> {
    let free = without_effects(module);
    if !free.contains(&true) {
        return None;
    }
    let mut dropped = vec![false; module.functions.len()];
    let changed: Vec<bool> =
        module.functions.iter_mut().map(|function| remove_calls(function, &free, &mut dropped)).collect();
    changed.contains(&true).then(|| {
        let kept = remove_functions(module, dropped);
        changed.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(changed, _)| changed).collect()
    })
}

/// By function: it writes nothing that outlives a call, and neither do those that it calls, or what it writes is of use only to who has the
/// result. All functions end: the verifier
/// asks for no less.
fn without_effects(module: &Module) -> Vec<bool> {
    let mut free = vec![false; module.functions.len()];
    // From the leaves up; functions that call each other in circles stay out.
    loop {
        let more: Vec<usize> = (0..free.len())
            .filter(|index| !free[*index])
            .filter(|index| {
                let function = &module.functions[*index];
                let mut insts = function.blocks.iter().flat_map(|block| &block.insts);
                function.given.is_none()
                    && matches!(function.kind, FunctionKind::Subprogram { .. })
                    && (function.for_result || insts.all(|inst| is_free(&inst.op, &free)))
            })
            .collect();
        if more.is_empty() {
            return free;
        }
        more.into_iter().for_each(|index| free[index] = true);
    }
}

fn is_free(op: &Op, free: &[bool]) -> bool {
    match op {
        Op::Call { function, .. } => free.get(function.0 as usize).copied().unwrap_or(false),
        Op::Load { .. } => true,
        op => op.is_pure(),
    }
}

/// Removes the calls whose results have no use; marks the functions that they called in `dropped`.
fn remove_calls(function: &mut Function, free: &[bool], dropped: &mut [bool]) -> bool {
    let is_free = |callee: FunctionId| free.get(callee.0 as usize) == Some(&true);
    let calls = |inst: &Inst| matches!(inst.op, Op::Call { function, .. } if is_free(function));
    if !function.blocks.iter().any(|block| block.insts.iter().any(calls)) {
        return false;
    }
    let uses = use_counts(function);
    let mut changed = false;
    for block in &mut function.blocks {
        block.insts.retain(|inst| {
            let (Op::Call { function: callee, .. }, Some(result)) = (&inst.op, inst.result) else {
                return true;
            };
            let callee = callee.0 as usize;
            let unused = uses[result.index()] == 0 && free.get(callee) == Some(&true);
            if unused {
                dropped[callee] = true;
                changed = true;
            }
            !unused
        });
    }
    changed
}

/// Removes those of the `dropped` functions that are not called any more, and what only they call. Gives which are kept.
fn remove_functions(module: &mut Module, mut dropped: Vec<bool>) -> Vec<bool> {
    let mut kept = vec![true; module.functions.len()];
    loop {
        let mut called = vec![false; kept.len()];
        for (function, _) in module.functions.iter().zip(&kept).filter(|(_, kept)| **kept) {
            function.callees().for_each(|callee| called[callee.0 as usize] = true);
        }
        let Some(unused) = (0..kept.len()).find(|index| dropped[*index] && kept[*index] && !called[*index])
        else {
            break;
        };
        kept[unused] = false;
        module.functions[unused].callees().for_each(|callee| dropped[callee.0 as usize] = true);
    }
    let mut next = 0..;
    let ids: Vec<FunctionId> = kept
        .iter()
        .map(|kept| FunctionId(if *kept { next.next().unwrap_or_default() } else { u32::MAX }))
        .collect();
    let mut index = 0..;
    module.functions.retain(|_| index.next().is_some_and(|index: usize| kept[index]));
    for function in &mut module.functions {
        function.renumber(|id| *id = ids.get(id.0 as usize).copied().unwrap_or(*id), |_| {});
    }
    kept
}
