//! Comparisons and tests, together with the jump that follows each.

use super::access::constant_address;
use super::texts;
use crate::body::Body;
use crate::values::copy_value;
use moonhook_ir::{Block, CompareOp, Value};
use moonhook_runtime::layout::*;
use moonhook_snapshot::instruction::{Instruction, Opcode};

pub fn compile(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction) {
    let (jump, skip) = (body.jump_after(), body.pc + 2);
    // The jump is taken where the condition equals k.
    let to_jump = body.path_to(jump);
    let to_skip = body.path_to(skip);
    let paths = if i.k() { (to_jump, to_skip) } else { (to_skip, to_jump) };
    match opcode {
        Opcode::Test => truth(body, i.a(), paths),
        Opcode::TestSet => test_set(body, i, paths),
        Opcode::EqK => equal_constant(body, i, paths),
        Opcode::Eq => equal(body, i, paths),
        Opcode::Lt | Opcode::Le => compare_registers(body, opcode, i, paths),
        _ => compare_immediate(body, opcode, i, paths),
    }
}

/// Where to go on if the condition holds, and if not.
type Paths = (Block, Block);

fn decide(
    body: &mut Body<'_, '_, '_>,
    op: CompareOp,
    lhs: Value,
    rhs: impl Into<moonhook_ir::Operand>,
    paths: Paths,
) {
    let args = [body.frame, body.base];
    body.code().branch(op, lhs, rhs, (paths.0, &args), (paths.1, &args));
}

fn truth(body: &mut Body<'_, '_, '_>, register: usize, paths: Paths) {
    let tag = body.tag(register);
    decide(body, CompareOp::UGt, tag, TAG_FALSE as i32, paths);
}

/// `if (not R[B] == k) then pc++ else R[A] := R[B]`.
fn test_set(body: &mut Body<'_, '_, '_>, i: Instruction, paths: Paths) {
    let (set, params) = body.code().new_block(2);
    let jump = if i.k() { paths.0 } else { paths.1 };
    truth(body, i.b(), if i.k() { (set, paths.1) } else { (paths.0, set) });
    body.enter((set, params));
    let base = body.base;
    copy_value(body.code(), base, 16 * i.a() as i64, base, 16 * i.b() as i64);
    let args = [body.frame, body.base];
    body.code().jump(jump, &args);
}

/// Values with the same tag and payload are equal, if they are no floats; and so nothing else are integers.
fn equal(body: &mut Body<'_, '_, '_>, i: Instruction, paths: Paths) {
    let args = [body.frame, body.base];
    let [same, slow] = [(); 2].map(|()| body.code().new_block(0).0);
    let (tag, other) = (body.tag(i.a()), body.tag(i.b()));
    body.code().leave_if(CompareOp::Ne, tag, other, slow, &[]);
    body.code().leave_if(CompareOp::Eq, tag, TAG_FLOAT as i32, slow, &[]);
    let (lhs, rhs) = (body.payload(i.a()), body.payload(i.b()));
    body.code().branch(CompareOp::Eq, lhs, rhs, (paths.0, &args), (same, &[]));
    body.code().block = same;
    body.code().branch(CompareOp::Eq, tag, TAG_INT as i32, (paths.1, &args), (slow, &[]));
    body.code().block = slow;
    let (first, second) = (body.address(i.a()), body.address(i.b()));
    by_routine(body, "equal", first, second, paths);
}

fn equal_constant(body: &mut Body<'_, '_, '_>, i: Instruction, paths: Paths) {
    let constant = body.prototype.constants.get(i.b()).cloned().unwrap_or(moonhook_snapshot::Value::Nil);
    let value = body.unit.general.constant(&constant);
    let (frame, base) = (body.frame, body.base);
    let args = [frame, base];
    match value.0 {
        TAG_STRING => {
            let tag = body.tag(i.a());
            let (is_text, _) = body.code().new_block(0);
            body.code().branch(CompareOp::Eq, tag, TAG_STRING as i32, (is_text, &[]), (paths.1, &args));
            body.code().block = is_text;
            let text = body.payload(i.a());
            if let moonhook_snapshot::Value::String(known) = &constant {
                let (equal, other) = paths;
                texts::compare_with(
                    body,
                    text,
                    (value.1, known),
                    &texts::Paths { equal, other, args: &args },
                );
            }
            let known = body.code().constant(value.1 as i64);
            let function = body.unit.general.routine("text_equal");
            let same = body.code().call(function, &[text, known]);
            decide(body, CompareOp::Ne, same, 0, paths);
        }
        TAG_NIL | TAG_FALSE | TAG_TRUE => {
            let tag = body.tag(i.a());
            decide(body, CompareOp::Eq, tag, value.0 as i32, paths);
        }
        _ => {
            let first = body.address(i.a());
            let second = constant_address(body, value);
            let function = body.unit.general.routine("value_equal");
            let same = body.code().call(function, &[first, second]);
            decide(body, CompareOp::Ne, same, 0, paths);
        }
    }
}

/// A comparison by a routine that may call a metamethod; its answer then is in the state.
fn by_routine(body: &mut Body<'_, '_, '_>, name: &str, first: Value, second: Value, paths: Paths) {
    let resumed = body.code().new_block(2);
    let site = body.new_site(Some(resumed.0));
    body.set_site(site);
    let status = body.routine(name, &[first, second]);
    let (answered, _) = body.code().new_block(0);
    let leave = body.unit.leave;
    body.code().branch(CompareOp::ULt, status, 2, (answered, &[]), (leave, &[status]));
    body.code().block = answered;
    decide(body, CompareOp::Ne, status, 0, paths);
    body.enter(resumed);
    let state = body.unit.state;
    let tag = body.code().load(state, L_COMPARE);
    decide(body, CompareOp::UGt, tag, TAG_FALSE as i32, paths);
}

fn compare_registers(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction, paths: Paths) {
    let (slow, _) = body.code().new_block(0);
    for register in [i.a(), i.b()] {
        if !body.is_integer(register) {
            let tag = body.tag(register);
            body.code().leave_if(CompareOp::Ne, tag, TAG_INT as i32, slow, &[]);
        }
    }
    let (op, name) = match opcode {
        Opcode::Lt => (CompareOp::SLt, "less_than"),
        _ => (CompareOp::SLe, "less_equal"),
    };
    let (lhs, rhs) = (body.payload(i.a()), body.payload(i.b()));
    decide(body, op, lhs, rhs, paths);
    body.code().block = slow;
    let (first, second) = (body.address(i.a()), body.address(i.b()));
    by_routine(body, name, first, second, paths);
}

/// A register against a small integer; the integer is the left operand of the routine for `>` and `>=`.
/// What an instruction compares with: C tells that it is a float in the source, for metamethods (`luaT_callorderiTM` in ltm.c).
pub fn immediate_value(i: Instruction) -> (i64, u64) {
    match i.c() {
        0 => (TAG_INT, i.sb() as u64),
        _ => (TAG_FLOAT, (i.sb() as f64).to_bits()),
    }
}

fn compare_immediate(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction, paths: Paths) {
    let immediate = i.sb();
    let (slow, _) = body.code().new_block(0);
    if !body.is_integer(i.a()) {
        let tag = body.tag(i.a());
        body.code().leave_if(CompareOp::Ne, tag, TAG_INT as i32, slow, &[]);
    }
    let value = body.payload(i.a());
    let (op, routine) = match opcode {
        Opcode::EqI => (CompareOp::Eq, None),
        Opcode::LtI => (CompareOp::SLt, Some("less_than")),
        Opcode::LeI => (CompareOp::SLe, Some("less_equal")),
        Opcode::GtI => (CompareOp::SGt, Some("less_than")),
        _ => (CompareOp::SGe, Some("less_equal")),
    };
    decide(body, op, value, immediate as i32, paths);
    body.code().block = slow;
    let register = body.address(i.a());
    let constant = constant_address(body, immediate_value(i));
    match routine {
        None => {
            let function = body.unit.general.routine("value_equal");
            let same = body.code().call(function, &[register, constant]);
            decide(body, CompareOp::Ne, same, 0, paths);
        }
        Some(name) => {
            let swapped = matches!(opcode, Opcode::GtI | Opcode::GeI);
            let (first, second) = if swapped { (constant, register) } else { (register, constant) };
            by_routine(body, name, first, second, paths);
        }
    }
}
