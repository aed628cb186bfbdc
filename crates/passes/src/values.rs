//! Bookkeeping about values that several passes need: replacements, numbers of uses, definitions.

use moonhook_ir::*;

/// Values that are to be replaced by others, all at once.
pub(crate) struct Replacements {
    by: Vec<Value>,
    any: bool,
}

impl Replacements {
    pub fn new(function: &Function) -> Self {
        Replacements { by: (0..function.value_count).map(Value).collect(), any: false }
    }

    /// Takes note that there are values below `count` now.
    pub fn grow(&mut self, count: u32) {
        let known = self.by.len() as u32;
        self.by.extend((known..count).map(Value));
    }

    /// What stands for `value` now.
    pub fn get(&mut self, value: Value) -> Value {
        let mut last = value;
        while self.by[last.index()] != last {
            last = self.by[last.index()];
        }
        // Shorten the path for the next time.
        let mut at = value;
        while at != last {
            at = std::mem::replace(&mut self.by[at.index()], last);
        }
        last
    }

    /// `by` must not depend on `value`.
    pub fn set(&mut self, value: Value, by: Value) {
        let by = self.get(by);
        self.by[value.index()] = by;
        self.any = true;
    }

    /// Replaces all uses; gives whether there was anything to replace.
    pub fn apply(mut self, function: &mut Function) -> bool {
        if !self.any {
            return false;
        }
        for block in &mut function.blocks {
            block.insts.iter_mut().for_each(|inst| inst.op.map_values(|value| self.get(value)));
            if let Some((terminator, _)) = &mut block.terminator {
                terminator.map_values(|value| self.get(value));
            }
        }
        true
    }
}

/// For each value how often it is used.
pub(crate) fn use_counts(function: &Function) -> Vec<u32> {
    let mut counts = vec![0; function.value_count as usize];
    let mut count = |value: Value| counts[value.index()] += 1;
    for block in &function.blocks {
        block.insts.iter().for_each(|inst| inst.op.for_each_value(&mut count));
        if let Some((terminator, _)) = &block.terminator {
            terminator.for_each_value(&mut count);
        }
    }
    counts
}

/// How a value is computed, as far as passes ask; parameters, calls and atomics are `Other`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Definition {
    Other,
    Const(i64),
    Binary(BinaryOp, Value, Operand),
    Unary(UnaryOp, Value),
    Compare(Condition),
    Load { size: Size, signed: bool, base: Value, disp: i16 },
    Data { map: MapId, offset: u32 },
    Slot,
}

impl Definition {
    pub fn of(op: &Op) -> Self {
        match *op {
            Op::Const(value) => Definition::Const(value),
            Op::Binary(op, lhs, rhs) => Definition::Binary(op, lhs, rhs),
            Op::Unary(op, value) => Definition::Unary(op, value),
            Op::Compare(condition) => Definition::Compare(condition),
            Op::Load { size, signed, base, disp } => Definition::Load { size, signed, base, disp },
            Op::DataAddress { map, offset } => Definition::Data { map, offset },
            Op::SlotAddress(_) => Definition::Slot,
            _ => Definition::Other,
        }
    }
}

/// The definitions of all values.
pub(crate) fn definitions(function: &Function) -> Vec<Definition> {
    let mut definitions = vec![Definition::Other; function.value_count as usize];
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        if let Some(result) = inst.result {
            definitions[result.index()] = Definition::of(&inst.op);
        }
    }
    definitions
}
