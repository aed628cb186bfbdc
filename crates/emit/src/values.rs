//! What is known about each value before selection: constants and addresses that are made anew at each use, and
//! comparisons that a branch can do itself. Also which operations are needed at all.

use moonhook_ir::{
    BinaryOp, Block, CompareOp, Condition, Function, FunctionId, MapId, Op, Operand, Slot, Terminator, Value,
};

/// How a value can be had without keeping it in a register.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Definition {
    /// Only by computing it where the IR does.
    Computed,
    Const(i64),
    /// An address in a data section.
    Data(MapId, u32),
    Map(MapId),
    Function(FunctionId),
    /// An address in a stack slot, as bytes from its start.
    Frame(Slot, i32),
    /// Computed, but a branch on it can compare for itself.
    Compared(Condition),
}

/// Addresses farther than this from their slot or section are computed; nothing in range needs them.
const FOLDED_OFFSET: i64 = 4096;

pub struct Values {
    definitions: Vec<Definition>,
    /// By value and by block (at its end): the stretch of code without calls that it belongs to.
    stretches: Vec<u32>,
    end_stretches: Vec<u32>,
    /// By value: something that has an effect depends on it.
    pub needed: Vec<bool>,
}

/// Looks at the reachable blocks, given so that definitions come before uses.
pub fn analyse(function: &Function, blocks: &[Block]) -> Values {
    let count = function.value_count as usize;
    let mut values = Values {
        definitions: vec![Definition::Computed; count],
        stretches: vec![0; count],
        end_stretches: vec![0; function.blocks.len()],
        needed: vec![false; count],
    };
    let mut places: Vec<(u32, u32)> = vec![(u32::MAX, 0); count];
    let mut stretch = 0;
    for &block in blocks {
        stretch += 1;
        for (index, inst) in function.block(block).insts.iter().enumerate() {
            stretch += u32::from(matches!(inst.op, Op::Helper { .. } | Op::Call { .. }));
            if let Some(result) = inst.result {
                values.definitions[result.index()] = values.define(&inst.op);
                values.stretches[result.index()] = stretch;
                places[result.index()] = (block.0, index as u32);
            }
        }
        values.end_stretches[block.index()] = stretch;
    }
    values.mark(function, blocks, &places);
    values
}

impl Values {
    pub fn definition(&self, value: Value) -> Definition {
        self.definitions[value.index()]
    }

    /// The operand, as an immediate if it is a constant that fits one.
    pub fn operand(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Value(value) => match self.definition(value) {
                Definition::Const(constant) => i32::try_from(constant).map_or(operand, Operand::Imm),
                _ => operand,
            },
            Operand::Imm(_) => operand,
        }
    }

    /// What to compare at a block's end in place of `condition`, and whether that is the opposite.
    pub fn branch_condition(&self, block: Block, condition: Condition) -> (Condition, bool) {
        self.condition(condition, self.end_stretches[block.index()])
    }

    /// What to compare in place of `condition`, the definition of `result`, and whether that is the opposite.
    pub fn set_condition(&self, result: Value, condition: Condition) -> (Condition, bool) {
        self.condition(condition, self.stretches[result.index()])
    }

    /// Sees through comparisons of a comparison's result with 0, and moves a constant to the right. Two registers are
    /// only compared later than the IR does if no call lies between: it might end the validity of a packet pointer.
    fn condition(&self, condition: Condition, stretch: u32) -> (Condition, bool) {
        let mut opposite = false;
        let mut condition = Condition { rhs: self.operand(condition.rhs), ..condition };
        while let (Definition::Compared(inner), Operand::Imm(0)) =
            (self.definition(condition.lhs), condition.rhs)
        {
            let rhs = self.operand(inner.rhs);
            let movable = rhs.value().is_none() || self.stretches[condition.lhs.index()] == stretch;
            match condition.op {
                CompareOp::Ne if movable => {}
                CompareOp::Eq if movable => opposite = !opposite,
                _ => break,
            }
            condition = Condition { rhs, ..inner };
        }
        (self.constant_to_the_right(condition), opposite)
    }

    fn constant_to_the_right(&self, condition: Condition) -> Condition {
        let (Definition::Const(constant), Operand::Value(rhs)) =
            (self.definition(condition.lhs), condition.rhs)
        else {
            return condition;
        };
        let rhs_is_constant = matches!(self.definition(rhs), Definition::Const(_));
        match i32::try_from(constant) {
            Ok(imm) if !rhs_is_constant => Condition::new(condition.op.swapped(), rhs, imm),
            _ => condition,
        }
    }

    fn define(&self, op: &Op) -> Definition {
        match *op {
            Op::Const(constant) => Definition::Const(constant),
            Op::DataAddress { map, offset } => Definition::Data(map, offset),
            Op::MapReference(map) => Definition::Map(map),
            Op::FunctionReference(function) => Definition::Function(function),
            Op::SlotAddress(slot) => Definition::Frame(slot, 0),
            Op::Compare(condition) => Definition::Compared(condition),
            Op::Binary(BinaryOp::Add, lhs, rhs) => self.displaced(lhs, rhs).unwrap_or(Definition::Computed),
            _ => Definition::Computed,
        }
    }

    /// A known address plus a constant.
    fn displaced(&self, lhs: Value, rhs: Operand) -> Option<Definition> {
        let Operand::Imm(imm) = self.operand(rhs) else { return None };
        match self.definition(lhs) {
            Definition::Frame(slot, offset) => {
                let sum = i64::from(offset) + i64::from(imm);
                (sum.abs() <= FOLDED_OFFSET).then_some(Definition::Frame(slot, sum as i32))
            }
            Definition::Data(map, offset) => {
                let sum = i64::from(offset) + i64::from(imm);
                (0..=FOLDED_OFFSET.max(i64::from(offset)))
                    .contains(&sum)
                    .then_some(Definition::Data(map, sum as u32))
            }
            _ => None,
        }
    }

    /// Marks as needed what effects and terminators use, directly or through other operations.
    fn mark(&mut self, function: &Function, blocks: &[Block], places: &[(u32, u32)]) {
        let mut work: Vec<Value> = Vec::new();
        for &block in blocks {
            let data = function.block(block);
            for inst in data.insts.iter().filter(|inst| inst.op.has_effect()) {
                inst.op.for_each_value(|value| work.push(value));
            }
            match &data.terminator {
                Some((Terminator::Branch { condition, then, otherwise }, _)) => {
                    push_condition(self.branch_condition(block, *condition).0, &mut work);
                    work.extend(then.args.iter().chain(&otherwise.args));
                }
                Some((terminator, _)) => terminator.for_each_value(|value| work.push(value)),
                None => {}
            }
        }
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut self.needed[value.index()], true) {
                continue;
            }
            let (block, index) = places[value.index()];
            if let Some(inst) = function.blocks.get(block as usize).map(|b| &b.insts[index as usize]) {
                match &inst.op {
                    Op::Compare(condition) => {
                        push_condition(self.set_condition(value, *condition).0, &mut work)
                    }
                    op => op.for_each_value(|value| work.push(value)),
                }
            }
        }
    }
}

fn push_condition(condition: Condition, work: &mut Vec<Value>) {
    work.push(condition.lhs);
    work.extend(condition.rhs.value());
}
