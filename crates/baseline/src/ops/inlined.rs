//! Calls of small functions that compute with integers alone: what they compute stands in the place of the call, where all that they take are
//! integers. Then nothing can fail in them, no metamethod can be called, and nobody sees that they had no frame.

use super::arithmetic::operator_of;
use crate::body::Body;
use crate::known::Known;
use moonhook_ir::{BinaryOp, Block, CompareOp, Op, UnaryOp, Value};
use moonhook_runtime::layout::*;
use moonhook_snapshot::Value as Snapshot;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use std::collections::HashMap;

/// Instructions of such a function, at most.
const MOST: usize = 24;

/// An integer.
#[derive(Clone, Copy)]
enum Word {
    Known(i64),
    Value(Value),
}

/// Calls the closure in a register with so many arguments for one result, and goes on in `after`; goes on here for all arguments that are no integers,
/// and for all other functions.
pub fn call(body: &mut Body<'_, '_, '_>, func: usize, arguments: usize, after: Block) {
    let Some(Known::Value(Snapshot::Closure(id))) = body.known.get(&func).cloned() else { return };
    let function = body.unit.general.functions.snapshot.closure(id).prototype.index();
    let prototype = body.unit.general.functions.get(function);
    let computes = prototype.code.iter().take(MOST).map(|word| Instruction(*word).opcode());
    let computes = computes.take_while(|opcode| opcode.is_some_and(can_compute));
    let Some(Some(Opcode::Return1)) =
        prototype.code.get(computes.count()).map(|word| Instruction(*word).opcode())
    else {
        return;
    };
    if prototype.is_vararg || usize::from(prototype.parameters) != arguments {
        return;
    }
    let (slow, _) = body.code().new_block(0);
    let mut computed = Computed { body, function, func, arguments, words: HashMap::new(), slow };
    if let Some(result) = computed.result() {
        let payload = computed.value(result);
        take_step(body, slow);
        body.set(func, TAG_INT as i32, payload);
        let args = [body.frame, body.base];
        body.code().jump(after, &args);
    } else {
        body.code().jump(slow, &[]);
    }
    body.code().block = slow;
}

/// Each call is a step of the budget; where there is none left, the error is raised in `slow`.
fn take_step(body: &mut Body<'_, '_, '_>, slow: Block) {
    let state = body.unit.state;
    let budget = body.code().load(state, L_BUDGET);
    let budget = body.code().add(budget, -1);
    body.code().leave_if(CompareOp::SLt, budget, 0, slow, &[]);
    body.code().store(state, L_BUDGET, budget);
}

fn can_compute(opcode: Opcode) -> bool {
    use Opcode::*;
    let is_load = matches!(opcode, Move | LoadI | LoadK | GetUpval);
    let with_constant = matches!(opcode, AddI | AddK | SubK | MulK | BAndK | BOrK | BXorK | ShlI | ShrI);
    let is_operator = matches!(opcode, Add | Sub | Mul | BAnd | BOr | BXor | Shl | Shr | Unm | BNot);
    is_load || with_constant || is_operator || matches!(opcode, MmBin | MmBinI | MmBinK)
}

/// A function whose code stands in the place of its call.
struct Computed<'b, 'u, 'g, 'a> {
    body: &'b mut Body<'u, 'g, 'a>,
    function: usize,
    /// The caller's register of the function, behind which are the arguments.
    func: usize,
    arguments: usize,
    /// By register of the function.
    words: HashMap<usize, Word>,
    /// Where the call is made where something else than integers is met.
    slow: Block,
}

impl Computed<'_, '_, '_, '_> {
    /// What the function returns; `None` where it computes with something else than integers.
    fn result(&mut self) -> Option<Word> {
        let prototype = self.body.unit.general.functions.get(self.function);
        for word in &prototype.code {
            let i = Instruction(*word);
            match i.opcode()? {
                Opcode::Return1 => return self.register(i.a()),
                Opcode::MmBin | Opcode::MmBinI | Opcode::MmBinK => {}
                opcode => {
                    let result = self.instruction(opcode, i)?;
                    self.words.insert(i.a(), result);
                }
            }
        }
        None
    }

    fn instruction(&mut self, opcode: Opcode, i: Instruction) -> Option<Word> {
        use Opcode::*;
        Some(match opcode {
            Move => self.register(i.b())?,
            LoadI => Word::Known(i.sbx()),
            LoadK => self.constant(i.bx())?,
            GetUpval => match self.body.unit.general.known_upvalue(self.function, i.b())? {
                Known::Value(Snapshot::Integer(number)) => Word::Known(number),
                _ => return None,
            },
            Unm => self.operator(BinaryOp::Sub, Word::Known(0), i.b())?,
            BNot => self.operator(BinaryOp::Xor, Word::Known(-1), i.b())?,
            ShlI => {
                let count = self.register(i.b())?;
                self.shift(true, Word::Known(i.sc()), count)
            }
            ShrI => {
                let value = self.register(i.b())?;
                self.shift(false, value, Word::Known(i.sc()))
            }
            Shl | Shr => {
                let (value, count) = (self.register(i.b())?, self.register(i.c())?);
                self.shift(opcode == Shl, value, count)
            }
            _ => {
                let (lhs, rhs) = (self.register(i.b())?, self.right(opcode, i)?);
                self.binary(operator_of(opcode)?, lhs, rhs)
            }
        })
    }

    fn right(&mut self, opcode: Opcode, i: Instruction) -> Option<Word> {
        use Opcode::*;
        match opcode {
            AddI => Some(Word::Known(i.sc())),
            AddK | SubK | MulK | BAndK | BOrK | BXorK => self.constant(i.c()),
            _ => self.register(i.c()),
        }
    }

    fn operator(&mut self, op: BinaryOp, lhs: Word, rhs: usize) -> Option<Word> {
        let rhs = self.register(rhs)?;
        Some(self.binary(op, lhs, rhs))
    }

    fn constant(&self, number: usize) -> Option<Word> {
        match self.body.unit.general.functions.get(self.function).constants.get(number) {
            Some(Snapshot::Integer(number)) => Some(Word::Known(*number)),
            _ => None,
        }
    }

    /// A register of the function; an argument is looked at where it is first needed.
    fn register(&mut self, register: usize) -> Option<Word> {
        if let Some(word) = self.words.get(&register) {
            return Some(*word);
        }
        let argument = (register < self.arguments).then_some(self.func + 1 + register)?;
        let word = match known_integer(self.body, argument) {
            Some(number) => Word::Known(number),
            None => {
                if !self.body.is_integer(argument) {
                    let (tag, slow) = (self.body.tag(argument), self.slow);
                    self.body.code().leave_if(CompareOp::Ne, tag, TAG_INT as i32, slow, &[]);
                }
                Word::Value(self.body.payload(argument))
            }
        };
        self.words.insert(register, word);
        Some(word)
    }

    fn value(&mut self, word: Word) -> Value {
        match word {
            Word::Known(number) => self.body.code().constant(number),
            Word::Value(value) => value,
        }
    }

    /// Shift counts are within a word.
    fn binary(&mut self, op: BinaryOp, lhs: Word, rhs: Word) -> Word {
        if let (Word::Known(lhs), Word::Known(rhs)) = (lhs, rhs)
            && let Some(result) = computed(op, lhs, rhs)
        {
            return Word::Known(result);
        }
        if let (BinaryOp::Sub, Word::Known(0), Word::Value(value)) = (op, lhs, rhs) {
            return Word::Value(self.body.code().emit(Op::Unary(UnaryOp::Neg, value)));
        }
        let is_exchanged = matches!(lhs, Word::Known(_)) && is_commutative(op);
        let (lhs, rhs) = if is_exchanged { (rhs, lhs) } else { (lhs, rhs) };
        let lhs = self.value(lhs);
        let code = self.body.code();
        Word::Value(match rhs {
            Word::Value(rhs) => code.binary(op, lhs, rhs),
            Word::Known(rhs) => match i32::try_from(rhs) {
                Ok(rhs) => code.binary(op, lhs, rhs),
                Err(_) => {
                    let rhs = code.constant(rhs);
                    code.binary(op, lhs, rhs)
                }
            },
        })
    }

    /// `value << count`, or `>>`: negative counts shift the other way, and 64 bits or more leave 0 (Lua manual § 3.4.2).
    fn shift(&mut self, left: bool, value: Word, count: Word) -> Word {
        let op = |left: bool| if left { BinaryOp::Shl } else { BinaryOp::LShr };
        match count {
            Word::Known(number @ -63..=63) => {
                self.binary(op(left == (number >= 0)), value, Word::Known(number.abs()))
            }
            Word::Known(_) => Word::Known(0),
            Word::Value(number) => {
                let slow = self.slow;
                self.body.code().leave_if(CompareOp::UGt, number, 63, slow, &[]);
                self.binary(op(left), value, count)
            }
        }
    }
}

fn is_commutative(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Add | Mul | And | Or | Xor)
}

fn computed(op: BinaryOp, lhs: i64, rhs: i64) -> Option<i64> {
    Some(match op {
        BinaryOp::Add => lhs.wrapping_add(rhs),
        BinaryOp::Sub => lhs.wrapping_sub(rhs),
        BinaryOp::Mul => lhs.wrapping_mul(rhs),
        BinaryOp::And => lhs & rhs,
        BinaryOp::Or => lhs | rhs,
        BinaryOp::Xor => lhs ^ rhs,
        BinaryOp::Shl => lhs.wrapping_shl(rhs as u32),
        BinaryOp::LShr => (lhs as u64).wrapping_shr(rhs as u32) as i64,
        _ => return None,
    })
}

/// The integer constant that a register surely holds.
fn known_integer(body: &Body<'_, '_, '_>, register: usize) -> Option<i64> {
    let setter = body.unit.general.functions.only_setter(body.index, body.pc, register)?;
    let i = body.instruction(setter);
    match i.opcode()? {
        Opcode::LoadI => Some(i.sbx()),
        Opcode::LoadK => match body.prototype.constants.get(i.bx()) {
            Some(Snapshot::Integer(number)) => Some(*number),
            _ => None,
        },
        _ => None,
    }
}
