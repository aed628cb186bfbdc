//! Checks a function's invariants. Run on every function in tests and debug builds, between all passes.

use crate::*;

/// What a malformed function violates, in words, with block and value numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed IR in {function}: {problem}")]
pub struct VerifyError {
    pub function: String,
    pub problem: String,
}

/// Checks terminators, argument counts, single definition, dominance of definitions over uses, and that every cycle goes
/// through a [`Terminator::MayGoto`]. Unreachable blocks may be malformed, but not define a value twice.
pub fn verify(function: &Function) -> Result<(), VerifyError> {
    check(function).map_err(|problem| VerifyError { function: function.name.clone(), problem })
}

fn check(function: &Function) -> Result<(), String> {
    if function.given.is_some() {
        return check_given(function);
    }
    let mut defined: Vec<Option<(u32, u32)>> = vec![None; function.value_count as usize];
    let mut define = |value: Value, block: usize, position: usize| {
        let Some(known) = defined.get_mut(value.index()) else {
            return Err(format!("{value} is not below the function's value count"));
        };
        match known.replace((block as u32, position as u32)) {
            None => Ok(()),
            Some(_) => Err(format!("{value} is defined twice")),
        }
    };
    for param in &function.params {
        define(*param, 0, 0)?;
    }
    for (index, block) in function.blocks.iter().enumerate() {
        for param in &block.params {
            define(*param, index, 0)?;
        }
        for (position, inst) in block.insts.iter().enumerate() {
            if inst.result.is_some() != inst.op.has_result() {
                return Err(format!("b{index}: `{}` with the wrong number of results", inst.op));
            }
            if let Some(result) = inst.result {
                define(result, index, position + 1)?;
            }
        }
    }
    if !function.blocks[0].params.is_empty() {
        return Err("the entry block has parameters".to_string());
    }
    let flow = ControlFlow::new(function)?;
    if let Some(block) = cycle_without_may_goto(function, &flow) {
        return Err(format!("{block} is on a cycle without may_goto"));
    }
    for (index, block) in function.blocks.iter().enumerate() {
        let here = Block(index as u32);
        if !flow.is_reachable(here) {
            continue; // unreachable: removed by the passes
        }
        let used = |value: Value, position: usize| match defined.get(value.index()).copied().flatten() {
            None => Err(format!("b{index}: {value} is used but not defined")),
            Some((at, from)) if at == here.0 && from as usize <= position => Ok(()),
            Some((at, _)) if at != here.0 && flow.dominates(Block(at), here) => Ok(()),
            Some(_) => Err(format!("b{index}: the use of {value} is not dominated by its definition")),
        };
        for (position, inst) in block.insts.iter().enumerate() {
            let mut result = Ok(());
            inst.op.for_each_value(|value| result = result.clone().and_then(|()| used(value, position)));
            result?;
        }
        if let Some((terminator, _)) = &block.terminator {
            let mut result = Ok(());
            let end = block.insts.len();
            terminator.for_each_value(|value| result = result.clone().and_then(|()| used(value, end)));
            result?;
        }
    }
    Ok(())
}

/// Code of others is the kernel's to check; around it there is nothing.
fn check_given(function: &Function) -> Result<(), String> {
    match function.blocks.as_slice() {
        [BlockData { insts, terminator: None, .. }] if insts.is_empty() && function.slots.is_empty() => {
            Ok(())
        }
        _ => Err("blocks besides code that is given".to_string()),
    }
}

/// Finds a cycle that no [`Terminator::MayGoto`] is part of: a depth-first walk that does not go on from one.
fn cycle_without_may_goto(function: &Function, flow: &ControlFlow) -> Option<Block> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; function.blocks.len()];
    let mut stack = Vec::new();
    for &start in flow.order.iter() {
        if state[start.index()] != State::New {
            continue;
        }
        stack.push((start, 0));
        while let Some((block, next)) = stack.pop() {
            if next == 0 && state[block.index()] != State::New {
                continue;
            }
            state[block.index()] = State::Open;
            let target = match &function.block(block).terminator {
                None | Some((Terminator::MayGoto { .. }, _)) => None,
                Some((terminator, _)) => terminator.target(next),
            };
            match target {
                None => state[block.index()] = State::Done,
                Some(target) if state[target.block.index()] == State::Open => return Some(target.block),
                Some(target) => stack.extend([(block, next + 1), (target.block, 0)]),
            }
        }
    }
    None
}
