//! Comparisons with the packet's end.
//!
//! Where a comparison fails, the verifier remembers of the compared register that it lies beyond the end, and takes the next
//! comparison of it for decided. Kernels before 2026 (6.16.3 and 6.18.15; not 6.12.117 and 6.18.44) also do so where another path
//! through the program, on which the pointer has been proved, leads to the same instruction: `regsafe` (kernel/bpf/verifier.c) takes the
//! one state for a case of the other, and the branch that no path seems to take is removed. So a pointer that is used again is
//! compared as a copy.

use moonhook_hook::Hook;
use moonhook_ir::{Condition, Function, Op, Operand, Size, Value};
use std::collections::HashSet;

/// What a function compares with.
pub struct Ends {
    ends: HashSet<Value>,
    /// Used more than once.
    reused: HashSet<Value>,
}

impl Ends {
    pub fn find(function: &Function) -> Ends {
        let mut found = Ends { ends: HashSet::new(), reused: HashSet::new() };
        let addresses =
            function.section().and_then(Hook::of_section).and_then(|hook| hook.context.addresses());
        let Some((context, addresses)) = function.context().zip(addresses) else { return found };
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            match (&inst.op, inst.result) {
                (Op::Load { size: Size::B4, base, disp, .. }, Some(result))
                    if *base == context && *disp == addresses.end =>
                {
                    found.ends.insert(result);
                }
                _ => {}
            }
        }
        if !found.ends.is_empty() {
            found.reused = reused(function);
        }
        found
    }

    /// Whether the left side is a pointer that has to be copied.
    pub fn copies_left(&self, condition: &Condition) -> bool {
        self.is_end(condition.rhs) && self.reused.contains(&condition.lhs)
    }

    /// The same of the right side.
    pub fn copies_right(&self, condition: &Condition) -> bool {
        self.ends.contains(&condition.lhs)
            && condition.rhs.value().is_some_and(|value| self.reused.contains(&value))
    }

    fn is_end(&self, operand: Operand) -> bool {
        operand.value().is_some_and(|value| self.ends.contains(&value))
    }
}

fn reused(function: &Function) -> HashSet<Value> {
    let (mut once, mut more) = (HashSet::new(), HashSet::new());
    let mut count = |value: Value| {
        if !once.insert(value) {
            more.insert(value);
        }
    };
    for block in &function.blocks {
        block.insts.iter().for_each(|inst| inst.op.for_each_value(&mut count));
        if let Some((terminator, _)) = &block.terminator {
            terminator.for_each_value(&mut count);
        }
    }
    // Each branch on the result of a comparison may compare for itself.
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        if let (Op::Compare(condition), Some(result)) = (&inst.op, inst.result)
            && more.contains(&result)
        {
            condition.for_each_value(|value| {
                more.insert(value);
            });
        }
    }
    more
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_ir::{CompareOp, parse_function};

    #[test]
    fn pointers_that_are_used_again_are_copied() {
        let function = parse_function(
            r#"function main(v0) program "xdp" {
b0():
  v1 = load.u32 v0+0
  v2 = load.u32 v0+4
  v3 = add v1, 14
  v4 = add v1, 34
  branch ugt v3, v2, b1(), b2()
b1():
  branch ult v2, v4, b2(), b3()
b2():
  branch ugt v3, v2, b3(), b4()
b3():
  return 1
b4():
  return 2
}
"#,
        )
        .unwrap();
        let ends = Ends::find(&function);
        let [again, end, once] = [3, 2, 4].map(Value);
        assert!(ends.copies_left(&Condition::new(CompareOp::UGt, again, end)));
        assert!(!ends.copies_left(&Condition::new(CompareOp::UGt, once, end)));
        assert!(ends.copies_right(&Condition::new(CompareOp::ULt, end, again)));
        assert!(!ends.copies_right(&Condition::new(CompareOp::ULt, end, once)));
        assert!(!ends.copies_left(&Condition::new(CompareOp::UGt, again, 5)), "not with the end");
    }
}
