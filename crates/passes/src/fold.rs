//! Evaluates what is constant and simplifies arithmetic, addresses and conditions.
//!
//! Reads each block once, definitions before uses. Constants become immediates where 32 bits hold them; constant offsets
//! move into the displacement of loads and stores; loads from read-only data at constant addresses become constants; a
//! branch on a constant becomes a jump, one on the result of a comparison becomes one on the comparison itself.
//! Guarantees that a value a branch may have checked is not recomputed in another way: only values with a single use are
//! merged into their user. Leaves operations behind whose results are no longer used (`dce`).

mod binary;
mod bytes;
mod condition;
mod memory;
mod unary;

use crate::Around;
use crate::helpers::{Effect, effect, moves_packet};
use crate::values::{Definition, Replacements, use_counts};
use moonhook_ir::*;

/// What a rule makes of an operation.
enum Outcome {
    Same,
    Op(Op),
    Value(Value),
}

pub(crate) fn run(function: &mut Function, around: &Around) -> bool {
    let Ok(order) = function.reverse_postorder() else { return false };
    let count = function.value_count as usize;
    let mut folder = Folder {
        maps: around.maps,
        definitions: vec![Definition::Other; count],
        bits: vec![u64::MAX; count],
        uses: use_counts(function),
        epochs: vec![0; count],
        epoch: 0,
    };
    let moves = moves_packet(function);
    let mut replacements = Replacements::new(function);
    let mut changed = false;
    for block in order {
        folder.epoch += moves as u32;
        let mut data = std::mem::take(function.block_mut(block));
        for inst in &mut data.insts {
            changed |= folder.inst(inst, &mut replacements);
        }
        if let Some((terminator, _)) = &mut data.terminator {
            changed |= folder.terminator(terminator, &mut replacements);
        }
        *function.block_mut(block) = data;
    }
    replacements.apply(function) | changed
}

struct Folder<'a> {
    maps: &'a [Map],
    definitions: Vec<Definition>,
    /// For each value the bits that can be set, as far as the kernel's verifier knows too. It knows nothing of what
    /// byte swaps give, so a mask after one stays.
    bits: Vec<u64>,
    uses: Vec<u32>,
    /// When each value was computed: counts the points at which packet pointers become invalid.
    epochs: Vec<u32>,
    epoch: u32,
}

/// Rules applied to one instruction at most; each makes it simpler.
const STEPS: usize = 8;

impl Folder<'_> {
    fn inst(&mut self, inst: &mut Inst, replacements: &mut Replacements) -> bool {
        inst.op.map_values(|value| replacements.get(value));
        let mut changed = false;
        for _ in 0..STEPS {
            match self.simplify(&inst.op) {
                Outcome::Same => break,
                Outcome::Op(op) => inst.op = op,
                Outcome::Value(value) => {
                    if let Some(result) = inst.result {
                        replacements.set(result, value);
                        self.uses[value.index()] += self.uses[result.index()];
                        return true;
                    }
                    break;
                }
            }
            changed = true;
        }
        if effect(&inst.op) == Effect::Everything {
            self.epoch += 1;
        }
        if let Some(result) = inst.result {
            self.definitions[result.index()] = Definition::of(&inst.op);
            self.bits[result.index()] = self.known_bits(&inst.op);
            self.epochs[result.index()] = self.epoch;
        }
        changed
    }

    fn simplify(&self, op: &Op) -> Outcome {
        match op {
            Op::Binary(op, lhs, rhs) => self.binary(*op, *lhs, *rhs),
            Op::Unary(op, value) => self.unary(*op, *value),
            Op::Compare(condition) => match self.condition(*condition) {
                condition::Verdict::Same => Outcome::Same,
                condition::Verdict::Known(holds) => Outcome::Op(Op::Const(holds as i64)),
                condition::Verdict::Condition { condition, flipped: false } => {
                    Outcome::Op(Op::Compare(condition))
                }
                condition::Verdict::Condition { condition, flipped: true } => match condition.op.negated() {
                    Some(op) => Outcome::Op(Op::Compare(Condition { op, ..condition })),
                    None => Outcome::Same,
                },
            },
            Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } => self.memory(op),
            _ => Outcome::Same,
        }
    }

    fn terminator(&mut self, terminator: &mut Terminator, replacements: &mut Replacements) -> bool {
        terminator.map_values(|value| replacements.get(value));
        let mut changed = false;
        for _ in 0..STEPS {
            match terminator {
                Terminator::Branch { condition, then, otherwise } => match self.condition(*condition) {
                    condition::Verdict::Same => break,
                    condition::Verdict::Known(holds) => {
                        let target = if holds { then } else { otherwise };
                        *terminator = Terminator::Jump(target.clone());
                    }
                    condition::Verdict::Condition { condition: new, flipped } => {
                        *condition = new;
                        match (flipped, new.op.negated()) {
                            (true, Some(op)) => condition.op = op,
                            (true, None) => std::mem::swap(then, otherwise),
                            (false, _) => {}
                        }
                    }
                },
                Terminator::Return(operand) => match self.immediate(*operand) {
                    Some(imm) if matches!(operand, Operand::Value(_)) => *operand = Operand::Imm(imm),
                    _ => break,
                },
                _ => break,
            }
            changed = true;
        }
        changed
    }

    fn definition(&self, value: Value) -> Definition {
        self.definitions[value.index()]
    }

    fn is_used_once(&self, value: Value) -> bool {
        self.uses[value.index()] <= 1
    }

    fn constant(&self, value: Value) -> Option<i64> {
        match self.definition(value) {
            Definition::Const(value) => Some(value),
            _ => None,
        }
    }

    fn constant_operand(&self, operand: Operand) -> Option<i64> {
        match operand {
            Operand::Imm(imm) => Some(imm as i64),
            Operand::Value(value) => self.constant(value),
        }
    }

    /// The immediate that stands for the operand, if it is constant and 32 bits hold it.
    fn immediate(&self, operand: Operand) -> Option<i32> {
        self.constant_operand(operand).and_then(|value| value.try_into().ok())
    }

    fn known_bits(&self, op: &Op) -> u64 {
        let bits = |value: Value| self.bits[value.index()];
        let operand = |operand| match operand {
            Operand::Imm(imm) => imm as i64 as u64,
            Operand::Value(value) => bits(value),
        };
        match *op {
            Op::Const(value) => value as u64,
            Op::Compare(_) => 1,
            Op::Load { size, signed: false, .. } => u64::MAX >> (64 - 8 * size as u32),
            Op::Unary(UnaryOp::ZeroExtend32, value) => bits(value) & 0xffff_ffff,
            Op::Binary(BinaryOp::And, lhs, rhs) => bits(lhs) & operand(rhs),
            Op::Binary(BinaryOp::Or | BinaryOp::Xor, lhs, rhs) => bits(lhs) | operand(rhs),
            Op::Binary(BinaryOp::LShr, lhs, Operand::Imm(by)) => bits(lhs) >> (by & 63),
            Op::Binary(BinaryOp::Shl, lhs, Operand::Imm(by)) => bits(lhs) << (by & 63),
            _ => u64::MAX,
        }
    }
}
