//! Numbers that are compared behind a loop that they cross.
//!
//! Where a number differs from one path into a loop to another (which header there is, which arm was taken), the verifier walks the
//! loop for each, unless it takes one for a case of the other. Kernels before 6.17 do that wrongly: what is read behind the loop
//! is not noted in states inside of it that came round to its head (the marks are propagated along back edges since then:
//! `propagate_backedges`, kernel/bpf/verifier.c). The second path is cut off inside the loop, a comparison behind it seems to end as on the
//! first path always, and the kernel removes the branch. So such a comparison is made on a copy that the verifier knows nothing of:
//! both of its sides are walked whatever came before. What is computed behind the loop from such a number is no better known, and what is
//! computed or read there once more may be taken from before the loop by the passes.

mod loops;
mod origins;

use crate::invariants::{Definitions, pointers};
use loops::{Crossed, Loops};
use moonhook_ir::{
    BinaryOp, Block, CompareOp, Condition, ControlFlow, Function, Inst, Loc, MapId, Op, Operand, Pointers,
    Size, Terminator, UnaryOp, Value,
};
use origins::Origins;
use rustc_hash::{FxHashMap, FxHashSet};

/// Hides what comparisons look at; `opaque` is a writable zero. Goes by the function's graph and the heads of its loops.
pub fn hide(function: &mut Function, (flow, headers): (&ControlFlow, &[Block]), opaque: MapId) {
    let pointers = pointers(function, flow);
    let proving = addends(function, &pointers);
    let defined_in = Definitions::of(function);
    let origins = Origins::find(function, flow, &pointers);
    let mut crossings = Crossings {
        loops: Loops::find(function, flow, headers),
        defined_in,
        flow,
        pointers,
        proving,
        origins,
        crossed: Crossed::default(),
    };
    for block in flow.order.clone() {
        crossings.hide_in(function, block, opaque);
    }
}

struct Crossings<'f> {
    loops: Loops,
    defined_in: Definitions,
    flow: &'f ControlFlow,
    pointers: Pointers,
    /// Numbers whose comparisons can be the proof that an access is allowed.
    proving: FxHashSet<Value>,
    origins: Origins,
    crossed: Crossed,
}

impl Crossings<'_> {
    fn hide_in(&mut self, function: &mut Function, block: Block, opaque: MapId) {
        let mut insts = Vec::with_capacity(function.block(block).insts.len());
        for mut inst in std::mem::take(&mut function.block_mut(block).insts) {
            if let Op::Compare(condition) = &mut inst.op {
                self.hide_operands(function, (block, inst.loc), condition, opaque, &mut insts);
            }
            insts.push(inst);
        }
        let mut terminator = function.block_mut(block).terminator.take();
        let mut bounded = None;
        if let Some((Terminator::Branch { condition, then, otherwise }, loc)) = &mut terminator {
            let number = condition.lhs;
            self.hide_operands(function, (block, *loc), condition, opaque, &mut insts);
            let within = match condition.op {
                CompareOp::ULt | CompareOp::ULe => then.block,
                _ => otherwise.block,
            };
            if is_bound(condition)
                && self.proving.contains(&number)
                && self.crosses(number, block)
                && self.flow.single_predecessor(within) == Some(block)
            {
                let copy = hidden(function, number, *loc, opaque, &mut insts);
                condition.lhs = copy;
                bounded = Some((within, number, copy));
            }
        }
        let data = function.block_mut(block);
        (data.insts, data.terminator) = (insts, terminator);
        if let Some((within, number, copy)) = bounded {
            self.defined_in.insert(copy, block);
            self.proving.insert(copy);
            self.rename(function, (block, within), number, copy);
        }
    }

    /// Where a comparison has shown that the number is small, its copy takes its place, for the verifier knows that of the copy.
    fn rename(&self, function: &mut Function, (from, to): (Block, Block), number: Value, copy: Value) {
        let new = |value: Value| if value == number { copy } else { value };
        debug_assert_eq!(self.flow.single_predecessor(to), Some(from));
        let mut work = vec![to];
        while let Some(block) = work.pop() {
            work.extend(self.flow.dominated(block));
            let data = function.block_mut(block);
            data.insts.iter_mut().for_each(|inst| inst.op.map_values(new));
            if let Some((terminator, _)) = &mut data.terminator {
                terminator.map_values(new);
            }
        }
    }

    fn hide_operands(
        &mut self,
        function: &mut Function,
        (block, loc): (Block, Loc),
        condition: &mut Condition,
        opaque: MapId,
        insts: &mut Vec<Inst>,
    ) {
        let mut operands: Vec<Value> = std::iter::once(condition.lhs).chain(condition.rhs.value()).collect();
        let proves = is_bound(condition);
        operands.retain(|value| !(proves && self.proving.contains(value)) && self.crosses(*value, block));
        for operand in operands {
            let hidden = hidden(function, operand, loc, opaque, insts);
            condition.map_values(|value| if value == operand { hidden } else { value });
        }
    }

    /// Whether a number that is compared in a block comes from before a loop, or what it is computed from does.
    fn crosses(&mut self, value: Value, block: Block) -> bool {
        if self.pointers.contains(&value) {
            return false;
        }
        let defined = |value: Value| self.defined_in.block(value);
        self.origins.varies(self.origins.name(value))
            && self.crossed.has(&self.loops, &self.origins, defined, (value, block))
    }
}

/// Appends a copy of a number that the verifier knows nothing of.
fn hidden(function: &mut Function, number: Value, loc: Loc, opaque: MapId, insts: &mut Vec<Inst>) -> Value {
    let mut emit = |op: Op| {
        let result = function.new_value();
        insts.push(Inst { op, result: Some(result), loc });
        result
    };
    let base = emit(Op::DataAddress { map: opaque, offset: 0 });
    let zero = emit(Op::Load { size: Size::B8, signed: false, base, disp: 0 });
    emit(Op::Binary(BinaryOp::Xor, zero, Operand::Value(number)))
}

/// Whether a comparison can be the proof that a number is small enough: nothing is known of how large another number is.
fn is_bound(condition: &Condition) -> bool {
    matches!(condition.op, CompareOp::ULt | CompareOp::ULe | CompareOp::UGt | CompareOp::UGe)
        && condition.rhs.value().is_none()
}

/// Numbers that are added to addresses or given to helpers, and what they are computed from.
fn addends(function: &Function, pointers: &Pointers) -> FxHashSet<Value> {
    let mut sources: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    let mut work = Vec::new();
    for block in &function.blocks {
        for inst in &block.insts {
            match (&inst.op, inst.result) {
                (Op::Binary(BinaryOp::Add | BinaryOp::Sub, base, rhs), _) if pointers.contains(base) => {
                    work.extend(rhs.value());
                }
                (Op::Helper { args, .. }, _) => work.extend(args),
                (
                    op @ (Op::Binary(..) | Op::Unary(UnaryOp::Unlink | UnaryOp::ZeroExtend32, _)),
                    Some(result),
                ) => {
                    op.for_each_value(|value| sources.entry(result).or_default().push(value));
                }
                _ => {}
            }
        }
        let Some((terminator, _)) = &block.terminator else { continue };
        terminator.for_each_target(|target| {
            let params = &function.block(target.block).params;
            for (param, arg) in params.iter().zip(&target.args) {
                sources.entry(*param).or_default().push(*arg);
            }
        });
    }
    let mut found = FxHashSet::default();
    while let Some(value) = work.pop() {
        if found.insert(value) {
            work.extend(sources.get(&value).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_ir::parse_function;

    /// v1 differs from path to path, is carried over a loop and compared behind it; so is v2, which is also added to an address.
    const CARRIED: &str = r#"function main(v0) program "xdp" {
b0():
  v3 = load.u32 v0+0
  v4 = load.u32 v0+12
  v9 = const 0
  v10 = const 3
  v11 = const 4
  v12 = const 5
  v13 = const 9
  branch eq v4, 0, b1(v9, v10), b1(v11, v12)
b1(v1, v2):
  jump b2(v13)
b2(v5):
  may_goto b3(), b6()
b3():
  v6 = sub v5, 1
  branch eq v6, 0, b4(), b2(v6)
b4():
  branch eq v1, 0, b5(), b6()
b5():
  branch ugt v2, 64, b6(), b7()
b6():
  return 1
b7():
  v7 = add v3, v2
  v8 = load.u8 v7+0
  return v8
}
"#;

    #[test]
    fn what_crosses_a_loop_is_compared_as_a_copy() {
        let mut function = parse_function(CARRIED).unwrap();
        let flow = ControlFlow::new(&function).unwrap();
        hide(&mut function, (&flow, &[Block(2)]), MapId(0));
        assert_eq!(moonhook_ir::verify::verify(&function), Ok(()), "{function}");
        let hidden = |block: usize| {
            let data = &function.blocks[block];
            let Some((Terminator::Branch { condition, .. }, _)) = &data.terminator else { return None };
            let made = data.insts.iter().find(|inst| inst.result == Some(condition.lhs))?;
            match made.op {
                Op::Binary(BinaryOp::Xor, _, Operand::Value(of)) => Some((of, condition.lhs)),
                _ => None,
            }
        };
        assert_eq!(hidden(4).map(|(of, _)| of), Some(Value(1)));
        // The copy that has been found small is the one that is added.
        let (of, copy) = hidden(5).unwrap();
        assert_eq!(of, Value(2));
        assert_eq!(function.blocks[7].insts[0].op, Op::Binary(BinaryOp::Add, Value(3), Operand::Value(copy)));
        assert_eq!(
            (hidden(0), hidden(3)),
            (None, None),
            "what no loop lies before, and the loop's own numbers"
        );
    }
}
