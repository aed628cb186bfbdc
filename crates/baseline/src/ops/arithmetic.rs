//! Arithmetic, length and concatenation: integers in place, everything else by routines.

use super::access::constant_address;
use crate::body::Body;
use moonhook_ir::{BinaryOp, Block, CompareOp, Op, UnaryOp, Value};
use moonhook_runtime::layout::*;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::operation::{Operand, Operation};

pub fn compile(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction) -> usize {
    let next = body.pc + 1;
    match opcode {
        Opcode::Not => not(body, i),
        Opcode::Len => super::arrays::length(body, i.a(), i.b()),
        Opcode::Concat => concat(body, i),
        Opcode::Unm | Opcode::BNot => unary(body, opcode, i),
        _ => {
            binary(body, opcode, i);
            return next + 1;
        }
    }
    next
}

/// Where the right operand of an instruction is.
#[derive(Clone, Copy)]
enum Right {
    Register(usize),
    Constant(i64),
    /// A constant that is no integer.
    Other,
}

fn right_operand(body: &Body<'_, '_, '_>, opcode: Opcode, i: Instruction) -> Right {
    use Opcode::*;
    match opcode {
        AddI | ShlI | ShrI => Right::Constant(i.sc()),
        AddK | SubK | MulK | ModK | PowK | DivK | IDivK | BAndK | BOrK | BXorK => {
            match body.prototype.constants.get(i.c()) {
                Some(moonhook_snapshot::Value::Integer(value)) => Right::Constant(*value),
                _ => Right::Other,
            }
        }
        _ => Right::Register(i.c()),
    }
}

fn binary(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction) {
    let right = right_operand(body, opcode, i);
    let (slow, _) = body.code().new_block(0);
    let (done, params) = body.code().new_block(2);
    if fast(body, opcode, i, right, slow) {
        let args = [body.frame, body.base];
        body.code().jump(done, &args);
        body.code().block = slow;
    } else {
        body.code().jump(slow, &[]);
        body.code().block = slow;
    }
    let integers = body.is_integer(i.b()) && !matches!(right, Right::Register(r) if !body.is_integer(r));
    slow_path(body, i.a(), done);
    body.enter((done, params));
    body.known.remove(&i.a());
    // Division may fail, but what these leave of integers is an integer.
    let floats = matches!(opcode, Opcode::Div | Opcode::DivK | Opcode::Pow | Opcode::PowK);
    if integers && !floats && !matches!(right, Right::Other) {
        body.learn(i.a(), crate::known::Known::Integer);
    }
}

/// The code for integers; leaves for `slow` where an operand is none. `false` if there is no such code.
fn fast(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction, right: Right, slow: Block) -> bool {
    use Opcode::*;
    match opcode {
        ShlI | ShrI => return fast_shift(body, opcode, i, slow),
        Shl | Shr => return fast_variable_shift(body, opcode, i, slow),
        ModK | IDivK | Mod | IDiv => return fast_division(body, opcode, i, right, slow),
        _ => {}
    }
    let Some(op) = operator_of(opcode) else { return false };
    if matches!(right, Right::Other) {
        return false;
    }
    require_integer(body, i.b(), slow);
    let lhs = body.payload(i.b());
    let result = match right {
        Right::Constant(value) => match i32::try_from(value) {
            Ok(imm) => body.code().binary(op, lhs, imm),
            Err(_) => {
                let value = body.code().constant(value);
                body.code().binary(op, lhs, value)
            }
        },
        Right::Register(register) => {
            require_integer(body, register, slow);
            let rhs = body.payload(register);
            body.code().binary(op, lhs, rhs)
        }
        Right::Other => return false,
    };
    store_int(body, i.a(), result);
    true
}

/// What an instruction computes of integers, whichever they are.
pub fn operator_of(opcode: Opcode) -> Option<BinaryOp> {
    use Opcode::*;
    Some(match opcode {
        AddI | AddK | Add => BinaryOp::Add,
        SubK | Sub => BinaryOp::Sub,
        MulK | Mul => BinaryOp::Mul,
        BAndK | BAnd => BinaryOp::And,
        BOrK | BOr => BinaryOp::Or,
        BXorK | BXor => BinaryOp::Xor,
        _ => return None,
    })
}

fn store_int(body: &mut Body<'_, '_, '_>, register: usize, value: Value) {
    let base = body.base;
    body.code().store(base, 16 * register as i64 + 8, value);
    body.code().store(base, 16 * register as i64, TAG_INT as i32);
}

fn require_integer(body: &mut Body<'_, '_, '_>, register: usize, slow: Block) {
    if body.is_integer(register) {
        return;
    }
    let tag = body.tag(register);
    body.code().leave_if(CompareOp::Ne, tag, TAG_INT as i32, slow, &[]);
}

/// Shifts by a constant.
fn fast_shift(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction, slow: Block) -> bool {
    let count = i.sc();
    if opcode == Opcode::ShlI || count.abs() > 63 {
        return false;
    }
    require_integer(body, i.b(), slow);
    let value = body.payload(i.b());
    let op = if count < 0 { BinaryOp::Shl } else { BinaryOp::LShr };
    let result = body.code().binary(op, value, count.abs() as i32);
    store_int(body, i.a(), result);
    true
}

/// Shifts by numbers of bits that a word has.
fn fast_variable_shift(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction, slow: Block) -> bool {
    require_integer(body, i.b(), slow);
    require_integer(body, i.c(), slow);
    let (value, count) = (body.payload(i.b()), body.payload(i.c()));
    body.code().leave_if(CompareOp::UGt, count, 63, slow, &[]);
    let op = if opcode == Opcode::Shl { BinaryOp::Shl } else { BinaryOp::LShr };
    let result = body.code().binary(op, value, count);
    store_int(body, i.a(), result);
    true
}

/// Division and modulo: by a positive power of two, or of a number that is not negative by one that is positive.
fn fast_division(
    body: &mut Body<'_, '_, '_>,
    opcode: Opcode,
    i: Instruction,
    right: Right,
    slow: Block,
) -> bool {
    let is_modulo = matches!(opcode, Opcode::ModK | Opcode::Mod);
    let divisor = match right {
        Right::Constant(divisor) => i32::try_from(divisor).ok().filter(|divisor| *divisor > 0),
        Right::Register(register) => {
            require_integer(body, register, slow);
            None
        }
        Right::Other => None,
    };
    if divisor.is_none() && !matches!(right, Right::Register(_)) {
        return false;
    }
    require_integer(body, i.b(), slow);
    let value = body.payload(i.b());
    let result = match (divisor, right) {
        (Some(divisor), _) if divisor.count_ones() == 1 => match is_modulo {
            true => body.code().binary(BinaryOp::And, value, divisor - 1),
            false => body.code().binary(BinaryOp::AShr, value, divisor.trailing_zeros() as i32),
        },
        (divisor, right) => {
            let op = if is_modulo { BinaryOp::UMod } else { BinaryOp::UDiv };
            body.code().leave_if(CompareOp::SLt, value, 0, slow, &[]);
            match (divisor, right) {
                (None, Right::Register(register)) => {
                    let divisor = body.payload(register);
                    body.code().leave_if(CompareOp::SLe, divisor, 0, slow, &[]);
                    body.code().binary(op, value, divisor)
                }
                (divisor, _) => body.code().binary(op, value, divisor.unwrap_or(1)),
            }
        }
    };
    store_int(body, i.a(), result);
    true
}

fn slow_path(body: &mut Body<'_, '_, '_>, register: usize, done: Block) {
    let Some(Operation { number, operands }) = body.prototype.operation(body.pc) else {
        return body.unit.general.fail_internally("an operator without operands");
    };
    let [first, second] = operands.map(|operand| match operand {
        Operand::Register(register) => body.address(register),
        Operand::Integer(value) => constant_address(body, (TAG_INT, value as u64)),
        Operand::Constant(index) => {
            let constant = body.prototype.constants.get(index).cloned();
            let value = body.unit.general.constant(&constant.unwrap_or(moonhook_snapshot::Value::Nil));
            constant_address(body, value)
        }
    });
    call_arithmetic(body, number as i64, register, (first, second), done);
}

/// Ends the block with the routine for all operands; execution goes on in `done`.
fn call_arithmetic(
    body: &mut Body<'_, '_, '_>,
    operation: i64,
    register: usize,
    (first, second): (Value, Value),
    done: Block,
) {
    let site = body.new_site(Some(done));
    body.set_site(site);
    let operation = body.code().constant(operation);
    let dest = body.address(register);
    let status = body.routine("arithmetic", &[operation, dest, first, second]);
    let leave = body.unit.leave;
    let args = [body.frame, body.base];
    body.code().branch(CompareOp::Eq, status, 0, (done, &args), (leave, &[status]));
}

fn unary(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction) {
    let (slow, _) = body.code().new_block(0);
    let (done, params) = body.code().new_block(2);
    require_integer(body, i.b(), slow);
    let value = body.payload(i.b());
    let (operation, result) = match opcode {
        Opcode::Unm => (OPERATION_UNM, body.code().emit(Op::Unary(UnaryOp::Neg, value))),
        _ => (OPERATION_BNOT, body.code().binary(BinaryOp::Xor, value, -1)),
    };
    store_int(body, i.a(), result);
    let args = [body.frame, body.base];
    body.code().jump(done, &args);
    body.code().block = slow;
    let operand = body.address(i.b());
    call_arithmetic(body, operation, i.a(), (operand, operand), done);
    body.enter((done, params));
    body.known.remove(&i.a());
}

fn not(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let tag = body.tag(i.b());
    let falsy =
        body.code().emit(Op::Compare(moonhook_ir::Condition::new(CompareOp::ULe, tag, TAG_FALSE as i32)));
    let tag = body.code().add(falsy, TAG_FALSE);
    body.set(i.a(), tag, 0);
}

/// Metamethods may take part one after another: the instruction goes on where it was until one value is left.
fn concat(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let frame = body.frame;
    body.code().store(frame, F_PENDING, i.b() as i32);
    body.may_call_repeatedly();
    let from = body.address(i.a());
    let status = body.routine("concat", &[from]);
    body.check(status);
    body.forget_from(i.a());
}
