//! Checks a function's invariants. Run on every function in tests and debug builds, between all passes.

use crate::*;
use std::collections::HashMap;

/// What a malformed function violates, in words, with block and value numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed IR in {function}: {problem}")]
pub struct VerifyError {
    pub function: String,
    pub problem: String,
}

/// Checks terminators, argument counts, single definition and dominance of definitions over uses.
pub fn verify(function: &Function) -> Result<(), VerifyError> {
    check(function).map_err(|problem| VerifyError { function: function.name.clone(), problem })
}

fn check(function: &Function) -> Result<(), String> {
    let mut defined: HashMap<Value, (usize, usize)> = HashMap::new();
    let mut define = |value: Value, block: usize, position: usize| {
        if value.0 >= function.value_count {
            return Err(format!("{value} is not below the function's value count"));
        }
        match defined.insert(value, (block, position)) {
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
    let dominators = immediate_dominators(function)?;
    for (index, block) in function.blocks.iter().enumerate() {
        if index != 0 && dominators[index].is_none() {
            continue; // unreachable: removed by the passes
        }
        let used = |value: Value, position: usize| match defined.get(&value) {
            None => Err(format!("b{index}: {value} is used but not defined")),
            Some(&(at, from)) if at == index && from <= position => Ok(()),
            Some(&(at, _)) if at != index && dominates(&dominators, at, index) => Ok(()),
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

fn dominates(dominators: &[Option<usize>], above: usize, mut below: usize) -> bool {
    while below != above {
        match dominators[below] {
            Some(next) if next != below => below = next,
            _ => return false,
        }
    }
    true
}

/// For each block its immediate dominator (the entry's is itself); `None` for unreachable blocks. Cooper, Harvey and
/// Kennedy's iteration. Fails where a block has no terminator or a jump does not fit its target.
fn immediate_dominators(function: &Function) -> Result<Vec<Option<usize>>, String> {
    let order = function.reverse_postorder()?;
    let mut number = vec![usize::MAX; function.blocks.len()];
    for (position, block) in order.iter().enumerate() {
        number[block.index()] = position;
    }
    let mut predecessors = vec![Vec::new(); function.blocks.len()];
    for block in &order {
        if let Some((terminator, _)) = &function.block(*block).terminator {
            terminator.targets().iter().for_each(|t| predecessors[t.block.index()].push(block.index()));
        }
    }
    let mut idom: Vec<Option<usize>> = vec![None; function.blocks.len()];
    idom[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for block in order.iter().skip(1).map(|b| b.index()) {
            let mut new: Option<usize> = None;
            for &predecessor in predecessors[block].iter().filter(|p| idom[**p].is_some()) {
                new = Some(match new {
                    None => predecessor,
                    Some(other) => intersect(&idom, &number, predecessor, other),
                });
            }
            if idom[block] != new {
                idom[block] = new;
                changed = true;
            }
        }
    }
    Ok(idom)
}

fn intersect(idom: &[Option<usize>], number: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while number[a] > number[b] {
            a = idom[a].unwrap_or(0);
        }
        while number[b] > number[a] {
            b = idom[b].unwrap_or(0);
        }
    }
    a
}

impl Function {
    /// The reachable blocks, each before its successors except along back edges. Fails where a block lacks its
    /// terminator or a jump does not fit its target.
    pub fn reverse_postorder(&self) -> Result<Vec<Block>, String> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.blocks.len()];
        let mut stack = vec![(Block(0), 0)];
        seen[0] = true;
        while let Some((block, next)) = stack.pop() {
            let Some((terminator, _)) = &self.block(block).terminator else {
                return Err(format!("{block} has no terminator"));
            };
            let targets = terminator.targets();
            let Some(target) = targets.get(next) else {
                order.push(block);
                continue;
            };
            stack.push((block, next + 1));
            let Some(data) = self.blocks.get(target.block.index()) else {
                return Err(format!("{block} jumps to {}, which does not exist", target.block));
            };
            if data.params.len() != target.args.len() {
                return Err(format!("{block} passes {} arguments to {}", target.args.len(), target.block));
            }
            if !std::mem::replace(&mut seen[target.block.index()], true) {
                stack.push((target.block, 0));
            }
        }
        order.reverse();
        Ok(order)
    }
}
