//! Constants, copies between registers, upvalues, and closures.

use crate::body::Body;
use crate::known::Known;
use crate::values::{add_to_variable, copy_value, copy_variable};
use moonhook_ir::{Block, CompareOp, Value as Address};
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

/// The address of the upvalue's value, or of its variable of load time.
pub fn place(body: &mut Body<'_, '_, '_>, upvalue: usize) -> Address {
    let variable = variable(body, upvalue);
    body.code().load(variable, U_PLACE)
}

/// Copies the value of an upvalue that is at `place`; takes note of what was read of a variable of load time, where it was put into the register `noted`.
pub fn copy_upvalue(
    body: &mut Body<'_, '_, '_>,
    upvalue: usize,
    place: Address,
    (to, disp): (Address, i64),
    noted: Option<usize>,
) {
    if body.is_of_packet(upvalue) {
        return copy_own(body, (to, disp), place);
    }
    let (done, _) = body.code().new_block(0);
    if !body.is_shared(upvalue) {
        let (own, _) = body.code().new_block(0);
        branch_if_of_packet(body, place, own);
        let on = std::mem::replace(&mut body.code().block, own);
        copy_own(body, (to, disp), place);
        body.code().jump(done, &[]);
        body.code().block = on;
    }
    copy_variable(body.code(), (to, disp), place);
    if let Some(register) = noted {
        note_read(body, place, register);
    }
    body.code().jump(done, &[]);
    body.code().block = done;
}

/// Copies a variable of the packet's own.
fn copy_own(body: &mut Body<'_, '_, '_>, (to, disp): (Address, i64), place: Address) {
    let place = body.code().arena(place);
    copy_value(body.code(), to, disp, place, 0);
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
            let address = place(body, i.b());
            let (base, disp) = (body.base, 16 * i.a() as i64);
            let noted = body.is_read_of_sum().then_some(i.a());
            copy_upvalue(body, i.b(), address, (base, disp), noted);
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
    add_to_variable(body.code(), address, added);
    body.code().jump(done, &[]);
    body.code().block = done;
}

fn set_upvalue(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let address = place(body, i.b());
    if body.is_of_packet(i.b()) {
        let place = body.code().arena(address);
        let base = body.base;
        copy_value(body.code(), place, 0, base, 16 * i.a() as i64);
        return;
    }
    let value = body.address(i.a());
    if body.is_shared(i.b()) {
        return assign_shared(body, address, value);
    }
    let (own, _) = body.code().new_block(0);
    let (done, _) = body.code().new_block(0);
    branch_if_of_packet(body, address, own);
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
