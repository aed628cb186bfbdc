//! Loop invariants that the verifier must not know too much of.
//!
//! A comparison in a loop narrows what the verifier knows of both operands. Coming round, a value that is narrower than
//! before is widened to "unknown" (`widen_imprecise_scalars`, kernel/bpf/verifier.c), and no longer fits into the state in
//! which it was bounded: the loop would be walked until the limits. So every number from outside that a loop compares is
//! unknown from the start: the loop gets a copy that went through memory.

use moonhook_ir::{
    BinaryOp, Block, ControlFlow, Function, Inst, Loc, MapId, Op, Operand, Pointers, Size, Terminator, Value,
};
use std::collections::{BTreeMap, BTreeSet};

/// Makes the invariants of all loops unknown; `opaque` is a writable zero. The function must not have been optimised: each
/// loop is entered by one jump.
pub fn make_unknown(function: &mut Function, opaque: MapId) {
    let Ok(flow) = ControlFlow::new(function) else { return };
    let headers: Vec<Block> =
        flow.order.iter().copied().filter(|block| flow.is_loop_header(*block)).collect();
    if headers.is_empty() {
        return;
    }
    // What is hidden changes no jump.
    crate::crossings::hide(function, (&flow, &headers), opaque);
    let pointers = pointers(function, &flow);
    let mut defined_in = Definitions::of(function);
    for header in headers {
        let body = natural_loop(&flow, header);
        let outside: Vec<Block> =
            flow.predecessors(header).iter().copied().filter(|block| !body.contains(block)).collect();
        let [entry] = outside.as_slice() else { continue };
        let compared = compared_invariants(function, &body, &defined_in);
        let renamed =
            copies(function, *entry, opaque, compared.into_iter().filter(|v| !pointers.contains(v)));
        renamed.values().for_each(|copy| defined_in.insert(*copy, *entry));
        rename(function, &body, &renamed);
    }
}

/// By value, the block in which it is defined.
pub struct Definitions(Vec<Option<Block>>);

impl Definitions {
    pub fn of(function: &Function) -> Definitions {
        let mut definitions = Definitions(vec![None; function.value_count as usize]);
        function.params.iter().for_each(|param| definitions.insert(*param, Block(0)));
        for (index, block) in function.blocks.iter().enumerate() {
            let here = Block(index as u32);
            let results = block.insts.iter().filter_map(|inst| inst.result);
            block.params.iter().copied().chain(results).for_each(|value| definitions.insert(value, here));
        }
        definitions
    }

    pub fn insert(&mut self, value: Value, block: Block) {
        if self.0.len() <= value.index() {
            self.0.resize(value.index() + 1, None);
        }
        self.0[value.index()] = Some(block);
    }

    /// `None` where nothing defines it.
    pub fn block(&self, value: Value) -> Option<Block> {
        self.0.get(value.index()).copied().flatten()
    }
}

/// Values that are addresses: comparing those narrows no number, and they must not be computed with. Of its context the code that is made
/// here reads addresses only.
pub fn pointers(function: &Function, flow: &ControlFlow) -> Pointers {
    Pointers::find(function, flow, |_| true)
}

/// The blocks from which the header is reached again without leaving the loop, and the header.
pub fn natural_loop(flow: &ControlFlow, header: Block) -> BTreeSet<Block> {
    let mut body = BTreeSet::from([header]);
    let back = flow.predecessors(header).iter().filter(|block| flow.dominates(header, **block));
    let mut work: Vec<Block> = back.copied().collect();
    while let Some(block) = work.pop() {
        if body.insert(block) {
            work.extend(flow.predecessors(block));
        }
    }
    body
}

/// Values from outside of the loop that one of its comparisons looks at, directly or with a constant added.
fn compared_invariants(
    function: &Function,
    body: &BTreeSet<Block>,
    defined_in: &Definitions,
) -> BTreeSet<Value> {
    let mut compared = BTreeSet::new();
    let mut sums = BTreeMap::new();
    let mut note = |condition: &moonhook_ir::Condition| {
        compared.insert(condition.lhs);
        compared.extend(condition.rhs.value());
    };
    for block in body {
        let block = function.block(*block);
        for inst in &block.insts {
            match (&inst.op, inst.result) {
                (Op::Compare(condition), _) => note(condition),
                (Op::Binary(BinaryOp::Add | BinaryOp::Sub, base, Operand::Imm(_)), Some(sum)) => {
                    sums.insert(sum, *base);
                }
                _ => {}
            }
        }
        if let Some((Terminator::Branch { condition, .. }, _)) = &block.terminator {
            note(condition);
        }
    }
    // What is learned of `x + constant` is learned of `x`: the verifier links them.
    for value in compared.clone() {
        let mut value = value;
        while let Some(base) = sums.get(&value) {
            value = *base;
        }
        compared.insert(value);
    }
    compared.retain(|value| defined_in.block(*value).is_some_and(|block| !body.contains(&block)));
    compared
}

/// Appends, to the block that enters the loop, a copy of each value.
fn copies(
    function: &mut Function,
    entry: Block,
    opaque: MapId,
    values: impl Iterator<Item = Value>,
) -> BTreeMap<Value, Value> {
    let values: Vec<Value> = values.collect();
    let mut renamed = BTreeMap::new();
    if values.is_empty() {
        return renamed;
    }
    let loc = function.block(entry).terminator.as_ref().map_or(Loc::default(), |(_, loc)| *loc);
    let mut emit = |op: Op| {
        let result = function.new_value();
        function.block_mut(entry).insts.push(Inst { op, result: Some(result), loc });
        result
    };
    let base = emit(Op::DataAddress { map: opaque, offset: 0 });
    let zero = emit(Op::Load { size: Size::B8, signed: false, base, disp: 0 });
    for value in values {
        renamed.insert(value, emit(Op::Binary(BinaryOp::Xor, zero, Operand::Value(value))));
    }
    renamed
}

fn rename(function: &mut Function, body: &BTreeSet<Block>, renamed: &BTreeMap<Value, Value>) {
    let new = |value: Value| renamed.get(&value).copied().unwrap_or(value);
    for block in body {
        let block = function.block_mut(*block);
        block.insts.iter_mut().for_each(|inst| inst.op.map_values(new));
        if let Some((terminator, _)) = &mut block.terminator {
            terminator.map_values(new);
        }
    }
}
