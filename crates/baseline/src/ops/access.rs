//! Tables and fields.

use super::arrays::{self, Key};
use super::fields::{self, Address, Place, Stored};
use super::loads;
use crate::body::Body;
use crate::known::Known;
use crate::values::{copy_value, copy_variable};
use moonhook_ir::{Block, CompareOp, Value};
use moonhook_runtime::layout::*;
use moonhook_snapshot::instruction::{Instruction, Opcode};

pub fn compile(body: &mut Body<'_, '_, '_>, opcode: Opcode, i: Instruction) -> usize {
    let next = body.pc + 1;
    match opcode {
        Opcode::GetTabUp => get_global(body, i),
        Opcode::GetTable => arrays::read(body, i.a(), i.b(), Key::Register(i.c())),
        Opcode::GetI => arrays::read(body, i.a(), i.b(), Key::Constant(i.c() as i64)),
        Opcode::GetField => {
            let object = body.known.get(&i.b()).cloned();
            if !known_field(body, object, i.a(), i.c()) {
                let object = Place::register(body, i.b());
                get_field(body, i.a(), object, i.c());
            }
        }
        Opcode::Self_ => {
            let base = body.base;
            copy_value(body.code(), base, 16 * (i.a() as i64 + 1), base, 16 * i.b() as i64);
            body.known.remove(&(i.a() + 1));
            let object = Place::register(body, i.a() + 1);
            let name = body.constant_name(i.c());
            if body.is_read_of_sum() && body.unit.general.reach.assigned_names.contains(name.as_slice()) {
                get_field(body, i.a(), object, i.c());
            } else {
                fields::method(body, i.a(), object, &name);
                body.methods.insert(i.a(), name);
            }
        }
        Opcode::SetTabUp => set_global(body, i),
        Opcode::SetTable => {
            let value = stored(body, i);
            arrays::assign(body, i.a(), Key::Register(i.b()), value);
        }
        Opcode::SetI => {
            let value = stored(body, i);
            arrays::assign(body, i.a(), Key::Constant(i.b() as i64), value);
        }
        Opcode::SetField => set_field(body, i),
        Opcode::NewTable => return new_table(body, i),
        _ => return set_list(body, i),
    }
    next
}

/// The address of a constant value, for routines.
pub fn constant_address(body: &mut Body<'_, '_, '_>, value: (i64, u64)) -> Value {
    let address = body.unit.general.image.value(value);
    body.code().constant(address as i64)
}

fn text_address(body: &mut Body<'_, '_, '_>, index: usize) -> Value {
    let text = body.constant_name(index);
    let payload = body.unit.general.image.text(&text);
    constant_address(body, (TAG_STRING, payload))
}

/// The operand C of a store.
fn stored(body: &mut Body<'_, '_, '_>, i: Instruction) -> Stored {
    if !i.k() {
        return Stored::Register(i.c());
    }
    let constant = body.prototype.constants.get(i.c()).cloned().unwrap_or(moonhook_snapshot::Value::Nil);
    Stored::Constant(body.unit.general.constant(&constant))
}

fn set_field(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let name = body.constant_name(i.b());
    let (object, value) = (Place::register(body, i.a()), stored(body, i));
    if !body.unit.general.reach.assigned_names.contains(name.as_slice())
        || body.unit.general.functions.is_new(body.index, body.pc, i.a())
    {
        return fields::assign(body, object, &name, value, None);
    }
    let key = text_address(body, i.b());
    let text = name.clone();
    let others = move |body: &mut Body<'_, '_, '_>, after: (Block, Vec<Value>)| {
        let object = object.address(body);
        let value = value.address(body);
        let other = branch_if_variable(body, object, &text, |body, place| {
            loads::assign_shared(body, place, value);
            let args = [body.frame, body.base];
            body.code().jump(after.0, &args);
        });
        body.code().block = other;
        let status = body.routine("set_index", &[object, key, value]);
        body.check_call(status, after);
    };
    fields::assign(body, object, &name, value, Some(&others));
}

/// Runs `variable` with the address of a field's value where the field is a variable; gives the block for where it is not.
fn branch_if_variable<'a, 'b, 'c>(
    body: &mut Body<'a, 'b, 'c>,
    object: Value,
    name: &[u8],
    variable: impl FnOnce(&mut Body<'a, 'b, 'c>, Value),
) -> Block {
    let payload = body.unit.general.image.text(name);
    let text = body.code().constant(payload as i64);
    let hash = body.code().constant(moonhook_runtime::text_hash(name) as i64);
    let place = body.routine("variable_place", &[object, text, hash]);
    let (is_variable, _) = body.code().new_block(0);
    let (other, _) = body.code().new_block(0);
    body.code().branch(CompareOp::Ne, place, 0, (is_variable, &[]), (other, &[]));
    body.code().block = is_variable;
    variable(body, place);
    other
}

/// Puts a field that is known now into a register; says whether it was.
fn known_field(body: &mut Body<'_, '_, '_>, object: Option<Known>, register: usize, name: usize) -> bool {
    let Some(text) = body.constant_text(name).map(<[u8]>::to_vec) else { return false };
    let Some(known) = body.known_field(object.as_ref(), &text) else { return false };
    let value = match &known {
        Known::Library(_) => None,
        Known::Builtin(name) => Some(body.unit.general.builtin(name)),
        Known::Value(value) => Some(body.unit.general.constant(&value.clone())),
        Known::Integer => return false,
    };
    body.known.remove(&register);
    if let Some(value) = value {
        body.set_constant(register, value);
    }
    body.learn(register, known);
    true
}

/// `register := object[name]`.
fn get_field(body: &mut Body<'_, '_, '_>, register: usize, object: Place, name: usize) {
    let text = body.constant_name(name);
    if !body.is_read_of_sum() || !body.unit.general.reach.assigned_names.contains(text.as_slice()) {
        return fields::read(body, register, object, &text);
    }
    fields::read_of_own(body, register, object, &text, &|body, after| {
        let (dest, object) = (body.address(register), object.address(body));
        let other = branch_if_variable(body, object, &text, |body, place| {
            let base = body.base;
            copy_variable(body.code(), (base, 16 * register as i64), place);
            body.routine("variable_note_read", &[place, dest]);
            let args = [body.frame, body.base];
            body.code().jump(after.0, &args);
        });
        body.code().block = other;
        let payload = body.unit.general.image.text(&text);
        let key = body.code().constant(payload as i64);
        let hash = body.code().constant(moonhook_runtime::text_hash(&text) as i64);
        let status = body.routine("index_text", &[dest, object, key, hash]);
        body.check_call(status, after);
    });
    body.known.remove(&register);
}

fn get_global(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let table = body.known_upvalue(i.b());
    if known_field(body, table.clone(), i.a(), i.c()) {
        return;
    }
    // What packet code assigns has a fixed place.
    let name = body.constant_name(i.c());
    if let Some(place) = body.unit.general.variable_of_known(&table, &name) {
        let address = body.code().constant(place as i64);
        let base = body.base;
        copy_variable(body.code(), (base, 16 * i.a() as i64), address);
        if body.is_read_of_sum() {
            loads::note_read(body, address, i.a());
        }
        body.known.remove(&i.a());
        return;
    }
    let object = upvalue_object(body, i.b());
    get_field(body, i.a(), object, i.c());
}

/// An upvalue, for an access to a field of it. What other CPUs may change is put where they do not.
fn upvalue_object(body: &mut Body<'_, '_, '_>, upvalue: usize) -> Place {
    if let Some(Known::Value(value)) = body.known_upvalue(upvalue) {
        let value = body.unit.general.constant(&value);
        let address = body.unit.general.image.value(value);
        let number = body.code().constant(address as i64);
        return Place { pointer: body.code().arena(number), disp: 0, address: Address::Constant(address) };
    }
    let place = loads::place(body, upvalue);
    if body.is_of_packet(upvalue) {
        return Place { pointer: body.code().arena(place), disp: 0, address: Address::Upvalue(upvalue) };
    }
    let state = body.unit.state;
    loads::copy_upvalue(body, upvalue, place, (state, L_UPVALUE), None);
    Place { pointer: state, disp: L_UPVALUE, address: Address::State(L_UPVALUE) }
}

fn set_global(body: &mut Body<'_, '_, '_>, i: Instruction) {
    let table = body.known_upvalue(i.a());
    let name = body.constant_name(i.b());
    if let Some(place) = body.unit.general.variable_of_known(&table, &name) {
        let place = body.code().constant(place as i64);
        let value = stored(body, i).address(body);
        loads::assign_shared(body, place, value);
        return;
    }
    let (object, value) = (upvalue_object(body, i.a()), stored(body, i));
    fields::assign(body, object, &name, value, None);
}

fn new_table(body: &mut Body<'_, '_, '_>, i: Instruction) -> usize {
    let (hash, array) = (i.b() & 0x3f, i.0 >> 22 & 0x3ff);
    let extra = if i.k() { body.instruction(body.pc + 1).ax() as i64 * 1024 } else { 0 };
    let hash = if hash == 0 { 0 } else { 1i64 << (hash - 1) };
    body.may_fail();
    let array = body.code().constant(i64::from(array) + extra);
    let hash = body.code().constant(hash);
    let made = body.routine("table_new", &[array, hash]);
    let (failed, _) = body.code().cold_block(0);
    body.code().leave_if(moonhook_ir::CompareOp::Eq, made, 0, failed, &[]);
    let on = body.code().block;
    body.code().block = failed;
    let leave = body.unit.leave;
    let status = body.code().constant(FAIL);
    body.code().jump(leave, &[status]);
    body.code().block = on;
    body.set(i.a(), TAG_TABLE as i32, made);
    body.pc + 2
}

fn set_list(body: &mut Body<'_, '_, '_>, i: Instruction) -> usize {
    let (count, mut first) = (i.vb(), i.vc() as i64);
    if i.k() {
        first += body.instruction(body.pc + 1).ax() as i64 * 1024;
    }
    body.may_fail();
    let table = body.payload(i.a());
    let from = body.address(i.a() + 1);
    let count = match count {
        0 => body.open_count(i.a() + 1),
        count => body.code().constant(count as i64),
    };
    let first = body.code().constant(first);
    let status = body.routine("table_append", &[table, from, count, first]);
    body.check(status);
    body.pc + if i.k() { 2 } else { 1 }
}
