//! Which values are addresses, as the kernel's verifier tells them from numbers.

use crate::{BinaryOp, ControlFlow, Function, Op, UnaryOp, Value, helper};

/// The values of a function that are addresses, on some path at least.
#[derive(Debug, Default)]
pub struct Pointers(Vec<bool>);

impl Pointers {
    /// `is_address` tells of which displacements in the context the verifier makes addresses.
    pub fn find(function: &Function, flow: &ControlFlow, is_address: impl Fn(i16) -> bool) -> Pointers {
        let mut pointers = Pointers(vec![false; function.value_count as usize]);
        if let Some(context) = function.context() {
            pointers.add(context);
        }
        // An address may come round a loop to where it was met first.
        while pointers.spread(function, flow, &is_address) {}
        pointers
    }

    pub fn contains(&self, value: &Value) -> bool {
        self.0.get(value.index()).copied().unwrap_or(false)
    }

    /// Says whether that is new.
    fn add(&mut self, value: Value) -> bool {
        !std::mem::replace(&mut self.0[value.index()], true)
    }

    /// Adds results and parameters that are addresses because of those that are known; says whether there was one.
    fn spread(&mut self, function: &Function, flow: &ControlFlow, is_address: &dyn Fn(i16) -> bool) -> bool {
        let mut changed = false;
        for block in &flow.order {
            for inst in &function.block(*block).insts {
                let is_pointer = match &inst.op {
                    Op::DataAddress { .. } | Op::MapReference(_) | Op::SlotAddress(_) => true,
                    Op::FunctionReference(_) | Op::Unary(UnaryOp::Arena, _) => true,
                    Op::Load { base, disp, .. } => Some(*base) == function.context() && is_address(*disp),
                    Op::Helper { id, .. } => helper::gives_address(*id),
                    Op::Binary(BinaryOp::Add, base, _) => self.contains(base),
                    _ => false,
                };
                if let (true, Some(result)) = (is_pointer, inst.result) {
                    changed |= self.add(result);
                }
            }
            if let Some((terminator, _)) = &function.block(*block).terminator {
                terminator.for_each_target(|target| {
                    let params = &function.block(target.block).params;
                    for (param, arg) in params.iter().zip(&target.args) {
                        changed |= self.contains(arg) && self.add(*param);
                    }
                });
            }
        }
        changed
    }
}
