//! Constants, copies between registers, upvalues, and closures.

use crate::body::Body;
use crate::known::Known;
use crate::values::copy_value;
use moonhook_ir::{AtomicOp, Block, CompareOp, Op, Size, Value as Address};
use moonhook_runtime::layout::*;
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::{Instruction, Opcode};

pub fn compile(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction) -> usize {
    let next = body.pc + 1;
    match opcode {
        Opcode::Move => {
            let known = body.known.get(&i.b()).cloned();
            let base = body.base;
            copy_value(body.code(), base, 16 * i.a() as i64, base, 16 * i.b() as i64);
            body.known.remove(&i.a());
            if let Some(known) = known {
                body.learn(i.a(), known);
            }
        }
        Opcode::LoadI => {
            body.set_constant(i.a(), (TAG_INT, i.sbx() as u64));
            body.learn(i.a(), Known::Integer);
        }
        Opcode::LoadF => body.set_constant(i.a(), (TAG_FLOAT, (i.sbx() as f64).to_bits())),
        Opcode::LoadK => load_constant(body, i.a(), i.bx()),
        Opcode::LoadKX => {
            let index = body.instruction(next).ax();
            load_constant(body, i.a(), index);
        }
        Opcode::LoadFalse => body.set_constant(i.a(), (TAG_FALSE, 0)),
        Opcode::LFalseSkip => {
            body.set_constant(i.a(), (TAG_FALSE, 0));
            return next + 1;
        }
        Opcode::LoadTrue => body.set_constant(i.a(), (TAG_TRUE, 0)),
        Opcode::LoadNil => (i.a()..=i.a() + i.b()).for_each(|r| body.set_constant(r, (TAG_NIL, 0))),
        Opcode::GetUpval => get_upvalue(body, i),
        Opcode::SetUpval => set_upvalue(body, i),
        _ => closure(body, i),
    }
    next
}

fn load_constant(body: &mut Body<'_, '_, '_>, register: usize, index: usize) {
    let constant = body.prototype.constants.get(index).cloned().unwrap_or(Value::Nil);
    let value = body.unit.general.constant(&constant);
    body.set_constant(register, value);
    if let Value::Integer(_) = constant {
        body.learn(register, Known::Integer);
    }
}

/// A pointer to the upvalue's variable (`U_…`).
fn variable(body: &mut Body<'_, '_, '_>, upvalue: usize) -> moonhook_ir::Value {
    let frame = body.frame;
    let closure = body.code().load(frame, F_CLOSURE);
    let closure = body.code().arena(closure);
    let variable = body.code().load(closure, C_VARIABLES + 8 * upvalue as i64);
    body.code().arena(variable)
}

/// A pointer to the upvalue's value.
pub fn place(body: &mut Body<'_, '_, '_>, upvalue: usize) -> moonhook_ir::Value {
    let variable = variable(body, upvalue);
    let place = body.code().load(variable, U_PLACE);
    body.code().arena(place)
}

fn get_upvalue(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let known = body.known_upvalue(i.b());
    body.known.remove(&i.a());
    match &known {
        // Pseudo-tables of library functions exist at compile time only.
        Some(Known::Library(_)) => {}
        Some(Known::Value(value)) => {
            let value = body.unit.general.constant(&value.clone());
            body.set_constant(i.a(), value);
        }
        _ => {
            let pointer = variable(body, i.b());
            let address = body.code().load(pointer, U_PLACE);
            let place = body.code().arena(address);
            let base = body.base;
            copy_value(body.code(), base, 16 * i.a() as i64, place, 0);
            if body.is_read_of_sum() && !body.is_of_packet(i.b()) {
                let (done, _) = body.code().new_block(0);
                branch_if_of_packet(body, address, done);
                note_read(body, address, i.a());
                body.code().jump(done, &[]);
                body.code().block = done;
            }
        }
    }
    if let Some(known) = known {
        body.learn(i.a(), known);
    }
}

/// Leaves for a block where a variable is one of the packet's own.
fn branch_if_of_packet(body: &mut Body<'_, '_, '_>, address: Address, own: Block) {
    let state = body.unit.state;
    let end = body.code().load(state, L_IMAGE_END);
    body.code().leave_if(CompareOp::UGe, address, end, own, &[]);
}

/// Takes note of what was read of a variable that all packets share, in order to add to it.
pub fn note_read(body: &mut Body<'_, '_, '_>, address: Address, register: usize) {
    body.may_fail();
    let value = body.address(register);
    body.routine("variable_note_read", &[address, value]);
}

/// Assigns to a variable that all packets share: what is stored there is checked, and what is the variable's own value plus
/// something is added at once.
pub fn assign_shared(body: &mut Body<'_, '_, '_>, address: Address, value: Address) {
    body.may_fail();
    let status = body.routine("variable_assign", &[address, value]);
    let leave = body.unit.leave;
    body.code().leave_if(CompareOp::SLt, status, 0, leave, &[status]);
    let (adds, _) = body.code().new_block(0);
    let (done, _) = body.code().new_block(0);
    body.code().branch(CompareOp::Ne, status, 0, (adds, &[]), (done, &[]));
    body.code().block = adds;
    let state = body.unit.state;
    let added = body.code().load(state, L_RESULT);
    let place = body.code().arena(address);
    body.code().emit(Op::Atomic { op: AtomicOp::Add, size: Size::B8, base: place, disp: 8, value: added });
    // It may have been nil.
    body.code().store(place, 0, TAG_INT as i32);
    body.code().jump(done, &[]);
    body.code().block = done;
}

fn set_upvalue(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let pointer = variable(body, i.b());
    let address = body.code().load(pointer, U_PLACE);
    if body.is_of_packet(i.b()) {
        let place = body.code().arena(address);
        let base = body.base;
        copy_value(body.code(), place, 0, base, 16 * i.a() as i64);
        return;
    }
    let (own, _) = body.code().new_block(0);
    let (done, _) = body.code().new_block(0);
    branch_if_of_packet(body, address, own);
    let value = body.address(i.a());
    assign_shared(body, address, value);
    body.code().jump(done, &[]);
    body.code().block = own;
    let place = body.code().arena(address);
    let base = body.base;
    copy_value(body.code(), place, 0, base, 16 * i.a() as i64);
    body.code().jump(done, &[]);
    body.code().block = done;
}

fn closure(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let inner = body.unit.general.functions.inner(body.index, i.bx());
    let record = body.unit.general.prototype_record(inner);
    body.may_fail();
    let dest = body.address(i.a());
    let record = body.code().constant(record as i64);
    let status = body.routine("make_closure", &[dest, record]);
    body.check(status);
    body.known.remove(&i.a());
}
