//! What the verifier has to know for an access: which values are addresses, and of which numbers it needs the bounds.

use crate::around::context_of;
use crate::values::Definition;
use moonhook_ir::*;
use std::collections::HashMap;

/// Addresses, what is added to an address without having been masked, and what helpers are given.
pub(crate) struct Proofs {
    values: Vec<bool>,
    pointers: Pointers,
    /// What is added to an address where a comparison with a constant says that it is small enough.
    compared: Vec<bool>,
}

impl Proofs {
    pub fn find(function: &Function, flow: &ControlFlow, definitions: &[Definition]) -> Self {
        let count = function.value_count as usize;
        let context = context_of(function);
        let is_address = |disp| context.is_some_and(|context| context.is_address(disp));
        let pointers = Pointers::find(function, flow, is_address);
        let mut proofs = Proofs { values: vec![false; count], pointers, compared: vec![false; count] };
        let mut sources: Vec<Vec<Value>> = vec![Vec::new(); count];
        for data in &function.blocks {
            if let Some((terminator, _)) = &data.terminator {
                terminator.for_each_target(|target| {
                    let params = &function.block(target.block).params;
                    let pairs = params.iter().zip(&target.args);
                    pairs.for_each(|(param, arg)| sources[param.index()].push(*arg));
                });
            }
        }
        let mut work = proofs.roots(function, flow);
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut proofs.values[value.index()], true) {
                continue;
            }
            work.append(&mut sources[value.index()]);
            match definitions[value.index()] {
                // A mask bounds whatever it is applied to.
                Definition::Binary(BinaryOp::And, _, Operand::Imm(mask)) if mask >= 0 => {}
                Definition::Binary(_, lhs, rhs) => work.extend([lhs].into_iter().chain(rhs.value())),
                Definition::Unary(_, value) => work.push(value),
                _ => {}
            }
        }
        proofs
    }

    fn roots(&mut self, function: &Function, flow: &ControlFlow) -> Vec<Value> {
        let mut checks: HashMap<Value, Vec<Block>> = HashMap::new();
        for data in flow.order.iter().map(|block| function.block(*block)) {
            if let Some((Terminator::Branch { condition, then, otherwise }, _)) = &data.terminator
                && let Some(small) = self.side_of_small(condition, then, otherwise)
            {
                checks.entry(condition.lhs).or_default().push(small);
            }
        }
        let mut roots = Vec::new();
        for block in &flow.order {
            for inst in &function.block(*block).insts {
                match &inst.op {
                    Op::Binary(BinaryOp::Add, base, Operand::Value(offset))
                        if self.pointers.contains(base) =>
                    {
                        let mut small = checks.get(offset).into_iter().flatten();
                        let proved = small.any(|small| flow.dominates(*small, *block));
                        self.compared[offset.index()] |= proved;
                        roots.extend(Some(*offset).filter(|_| !proved));
                    }
                    Op::Helper { args, .. } => roots.extend(args),
                    _ => {}
                }
            }
        }
        roots
    }

    /// Where the branch goes if its value is no larger than a constant.
    fn side_of_small(&self, condition: &Condition, then: &Target, otherwise: &Target) -> Option<Block> {
        match (condition.op, condition.rhs) {
            (CompareOp::UGt | CompareOp::UGe, Operand::Imm(_)) => Some(otherwise.block),
            (CompareOp::ULt | CompareOp::ULe, Operand::Imm(_)) => Some(then.block),
            _ => None,
        }
    }

    /// Whether the comparison may be what says that `value` is small enough.
    pub fn is_proof(&self, condition: &Condition, value: Value) -> bool {
        use CompareOp::*;
        self.compared[value.index()]
            && (condition.lhs, condition.rhs.value()) == (value, None)
            && matches!(condition.op, UGt | UGe | ULt | ULe)
    }

    pub fn contains(&self, value: Value) -> bool {
        self.values[value.index()] || self.pointers.contains(&value)
    }

    pub fn is_pointer(&self, value: Value) -> bool {
        self.pointers.contains(&value)
    }
}
