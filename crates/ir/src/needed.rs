//! Which values of a function anything depends on.

use crate::graph::Lists;
use crate::{Function, Op, Operand, Terminator, Value};

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
        let mut live = Needed { values: vec![false; function.value_count as usize], work: Vec::new() };
        let sources = Sources::of(function, |_| true);
        for block in &function.blocks {
            for inst in block.insts.iter().filter(|inst| inst.op.has_effect()) {
                inst.op.for_each_value(|value| live.mark(value));
            }
            match &block.terminator {
                Some((Terminator::Branch { condition, .. }, _)) => condition.for_each_value(|v| live.mark(v)),
                Some((Terminator::Return(Operand::Value(value)), _)) => live.mark(*value),
                _ => {}
            }
        }
        while let Some(value) = live.work.pop() {
            sources.for_each(value, |source| live.mark(source));
        }
        live
    }

    fn mark(&mut self, value: Value) {
        if !std::mem::replace(&mut self.values[value.index()], true) {
            self.work.push(value);
        }
    }
}

/// What values are made of.
pub struct Sources<'f> {
    function: &'f Function,
    /// By value, its block, and its place there: among the operations, or, with [`PARAM`], among the parameters.
    site: Vec<Option<(u32, u32)>>,
    /// By block, the jumps there: the block that they are in, and which of its targets it is.
    incoming: Lists<(u32, u32)>,
}

impl<'f> Sources<'f> {
    /// Of parameters, and of results of operations that `counts` is true of.
    pub fn of(function: &'f Function, counts: impl Fn(&Op) -> bool) -> Sources<'f> {
        let mut site = vec![None; function.value_count as usize];
        for (index, block) in function.blocks.iter().enumerate() {
            for (place, param) in block.params.iter().enumerate() {
                site[param.index()] = Some((index as u32, place as u32 | PARAM));
            }
            for (place, inst) in block.insts.iter().enumerate() {
                if let Some(result) = inst.result
                    && counts(&inst.op)
                {
                    site[result.index()] = Some((index as u32, place as u32));
                }
            }
        }
        let incoming = Lists::new(function.blocks.len(), |edge| {
            for (from, block) in function.blocks.iter().enumerate() {
                let Some((terminator, _)) = &block.terminator else { continue };
                let targets = (0..2).map_while(|number| Some((number, terminator.target(number as usize)?)));
                targets.for_each(|(number, target)| edge(target.block.index(), (from as u32, number)));
            }
        });
        Sources { function, site, incoming }
    }

    /// Calls `visit` with each value that `value` is made of: operands, or what jumps pass for a parameter.
    pub fn for_each(&self, value: Value, mut visit: impl FnMut(Value)) {
        let Some((block, place)) = self.site[value.index()] else { return };
        if place & PARAM == 0 {
            let op = &self.function.blocks[block as usize].insts[place as usize].op;
            return op.for_each_value(visit);
        }
        for (from, number) in self.incoming.of(block as usize) {
            let terminator = &self.function.blocks[*from as usize].terminator;
            let target = terminator.as_ref().and_then(|(terminator, _)| terminator.target(*number as usize));
            let args = target.map_or(&[] as &[Value], |target| &target.args);
            args.get((place & !PARAM) as usize).copied().into_iter().for_each(&mut visit);
        }
    }
}

/// Tells a parameter's place from an instruction's.
const PARAM: u32 = 1 << 31;
