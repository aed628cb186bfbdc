//! Which values of a function anything depends on.

use crate::{Function, Operand, Target, Terminator, Value};

/// For each value whether a branch, a result, a store or a call depends on it.
pub fn needed_values(function: &Function) -> Vec<bool> {
    Needed::find(function).values
}

struct Needed {
    values: Vec<bool>,
    work: Vec<Value>,
}

impl Needed {
    fn find(function: &Function) -> Self {
        let count = function.value_count as usize;
        let mut site: Vec<Option<(u32, u32)>> = vec![None; count];
        let mut incoming: Vec<Vec<&Target>> = vec![Vec::new(); function.blocks.len()];
        let mut live = Needed { values: vec![false; count], work: Vec::new() };
        for (index, block) in function.blocks.iter().enumerate() {
            for (place, param) in block.params.iter().enumerate() {
                site[param.index()] = Some((index as u32, place as u32 | PARAM));
            }
            for (place, inst) in block.insts.iter().enumerate() {
                if let Some(result) = inst.result {
                    site[result.index()] = Some((index as u32, place as u32));
                }
                if inst.op.has_effect() {
                    inst.op.for_each_value(|value| live.mark(value));
                }
            }
            match &block.terminator {
                Some((Terminator::Branch { condition, .. }, _)) => condition.for_each_value(|v| live.mark(v)),
                Some((Terminator::Return(Operand::Value(value)), _)) => live.mark(*value),
                _ => {}
            }
            if let Some((terminator, _)) = &block.terminator {
                terminator.for_each_target(|target| incoming[target.block.index()].push(target));
            }
        }
        while let Some(value) = live.work.pop() {
            let Some((block, place)) = site[value.index()] else { continue };
            if place & PARAM == 0 {
                let op = &function.blocks[block as usize].insts[place as usize].op;
                op.for_each_value(|value| live.mark(value));
            } else {
                let place = (place & !PARAM) as usize;
                incoming[block as usize].iter().for_each(|target| live.mark(target.args[place]));
            }
        }
        live
    }

    fn mark(&mut self, value: Value) {
        if !std::mem::replace(&mut self.values[value.index()], true) {
            self.work.push(value);
        }
    }
}

/// Tells a parameter's place from an instruction's.
const PARAM: u32 = 1 << 31;
