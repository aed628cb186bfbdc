//! Fields with constant names: each access looks first where it found its field last.
//!
//! Entries stand in the order of insertion, so tables that are made alike have a field at the same distance from their first entry; and what
//! metatables of load time lead to does not change. Where the field is somewhere else, routines search for it, and take note.

use super::access::constant_address;
use crate::accesses::Access;
use crate::body::Body;
use crate::values::copy_value;
use moonhook_ir::{Block, CompareOp, Value};
use moonhook_runtime::layout::*;

/// Where a value is: a pointer, and the distance from it; and what it is the value of.
#[derive(Clone, Copy)]
pub struct Place {
    pub pointer: Value,
    pub disp: i64,
    pub address: Address,
}

#[derive(Clone, Copy)]
pub enum Address {
    Register(usize),
    Upvalue(usize),
    /// In the state, at this distance.
    State(i64),
    /// In the image.
    Constant(u64),
}

impl Place {
    pub fn register(body: &Body<'_, '_, '_>, register: usize) -> Place {
        Place { pointer: body.base, disp: 16 * register as i64, address: Address::Register(register) }
    }

    pub fn address(self, body: &mut Body<'_, '_, '_>) -> Value {
        match self.address {
            Address::Register(register) => body.address(register),
            Address::State(disp) => {
                let state = body.state_address();
                body.code().add(state, disp)
            }
            Address::Constant(address) => body.code().constant(address as i64),
            Address::Upvalue(upvalue) => super::loads::place(body, upvalue),
        }
    }
}

/// `register := object[name]`.
pub fn read(body: &mut Body<'_, '_, '_>, register: usize, object: Place, name: &[u8]) {
    let (site, after) = body.site_of_call();
    let (slow, _) = body.code().new_block(0);
    let (other, _) = body.code().new_block(0);
    let (table, _) = table(body, object, other);
    field_of_packet(body, register, (object, name), other, (slow, site, &after));
    found(body, register, (object, table), name, (slow, site, after));
}

/// In the block `other`: has what gives the field of packet objects store it, if the object is one. Goes on in `slow` for others. The
/// present block stays.
fn field_of_packet(
    body: &mut Body<'_, '_, '_>,
    register: usize,
    (object, name): (Place, &[u8]),
    other: Block,
    (slow, site, after): (Block, u32, &(Block, Vec<Value>)),
) {
    let before = std::mem::replace(&mut body.code().block, other);
    if let Some(stub) = body.unit.general.object_field(name) {
        let tag = body.code().load(object.pointer, object.disp);
        body.code().leave_if(CompareOp::Ne, tag, TAG_OBJECT as i32, slow, &[]);
        body.set_site(site);
        let payload = body.code().load(object.pointer, object.disp + 8);
        let dest = body.address(register);
        let (context, state) = (body.code().param(0), body.state_address());
        let status = body.code().call(stub, &[context, state, payload, dest]);
        let (args, leave) = ([body.frame, body.base], body.unit.leave);
        body.code().branch(CompareOp::Eq, status, 0, (after.0, &args), (leave, &[status]));
    } else {
        body.code().jump(slow, &[]);
    }
    body.code().block = before;
}

/// The same for a table that packets make. Goes on with all other objects, for which `others` makes code: it is given where to go on.
pub fn read_of_own(
    body: &mut Body<'_, '_, '_>,
    register: usize,
    object: Place,
    name: &[u8],
    others: Others<'_>,
) {
    let (site, after) = body.site_of_call();
    let (slow, _) = body.code().new_block(0);
    let (other, _) = body.code().new_block(0);
    let table = own_table(body, object, other);
    let place = (body.frame, body.base);
    found(body, register, (object, table), name, (slow, site, after.clone()));
    (body.unit.code.block, body.frame, body.base) = (other, place.0, place.1);
    body.set_site(site);
    others(body, after);
}

/// Takes the field from where it was found last, or searches for it in the block `slow`.
fn found(
    body: &mut Body<'_, '_, '_>,
    register: usize,
    (object, table): (Place, Value),
    name: &[u8],
    (slow, site, after): (Block, u32, (Block, Vec<Value>)),
) {
    let access = body.unit.general.access(body.index, body.pc, name);
    let entry = entry(body, table, access, slow);
    let tag = body.code().load(entry, E_TAG);
    body.code().leave_if(CompareOp::Eq, tag, TAG_NIL as i32, slow, &[]);
    if body.unit.general.reach.assigned_names.contains(name) {
        body.code().leave_if(CompareOp::Eq, tag, TAG_VARIABLE as i32, slow, &[]);
    }
    let payload = body.code().load(entry, E_VALUE);
    body.set(register, tag, payload);
    let args = [body.frame, body.base];
    body.code().jump(after.0, &args);
    search(body, register, object, access, (slow, site, after));
}

/// `register := object[name]` for a name that is called as a method: what the metatable of the object leads to.
pub fn method(body: &mut Body<'_, '_, '_>, register: usize, object: Place, name: &[u8]) {
    let access = body.unit.general.access(body.index, body.pc, name);
    let Some(inherited) = access.inherited else { return read(body, register, object, name) };
    let of_strings = body.unit.general.method_of_strings(name);
    let (site, after) = body.site_of_call();
    let (slow, _) = body.code().new_block(0);
    let args = [body.frame, body.base];
    let (mut other, _) = body.code().new_block(0);
    let (table, _) = table(body, object, other);
    let texts = body.code().load_half(table, T_FILTER + access.filter.0);
    body.code().leave_if(CompareOp::Test, texts, access.filter.1, slow, &[]);
    let meta = body.code().load(table, T_META);
    let state = body.unit.state;
    let known = body.code().load(state, inherited);
    body.code().leave_if(CompareOp::Ne, meta, known, slow, &[]);
    let base = body.base;
    copy_value(body.code(), base, 16 * register as i64, state, inherited + 8);
    body.code().jump(after.0, &args);
    if let Some(function) = of_strings {
        body.code().block = other;
        let tag = body.code().load(object.pointer, object.disp);
        (other, _) = body.code().new_block(0);
        body.code().leave_if(CompareOp::Ne, tag, TAG_STRING as i32, other, &[]);
        body.set_constant(register, function);
        body.code().jump(after.0, &args);
    }
    field_of_packet(body, register, (object, name), other, (slow, site, &after));
    search(body, register, object, access, (slow, site, after));
}

/// Has a routine search in the block `slow`.
fn search(
    body: &mut Body<'_, '_, '_>,
    register: usize,
    object: Place,
    access: Access,
    (slow, site, after): (Block, u32, (Block, Vec<Value>)),
) {
    body.code().block = slow;
    body.set_site(site);
    finish(body, ["index_named", "index"], after, |body| {
        let (dest, object) = (body.address(register), object.address(body));
        [dest, object, body.code().constant(access.record as i64)]
    });
    body.known.remove(&register);
}

/// What is stored: a register, or a constant.
#[derive(Clone, Copy)]
pub enum Stored {
    Register(usize),
    Constant((i64, u64)),
}

impl Stored {
    /// Its address, for routines.
    pub fn address(self, body: &mut Body<'_, '_, '_>) -> Value {
        match self {
            Stored::Register(register) => body.address(register),
            Stored::Constant(value) => constant_address(body, value),
        }
    }

    /// Puts it at a place; goes on in `nil` where it is nil.
    pub fn put(self, body: &mut Body<'_, '_, '_>, pointer: Value, disp: i64, nil: Block) {
        match self {
            Stored::Register(register) => {
                let tag = body.tag(register);
                body.code().leave_if(CompareOp::Eq, tag, TAG_NIL as i32, nil, &[]);
                let payload = body.payload(register);
                body.code().store(pointer, disp, tag);
                body.code().store(pointer, disp + 8, payload);
            }
            Stored::Constant((TAG_NIL, _)) => body.code().jump(nil, &[]),
            Stored::Constant((tag, payload)) => {
                body.code().store(pointer, disp, tag as i32);
                body.code().store_constant(pointer, disp + 8, payload as i64);
            }
        }
    }
}

/// Makes code for what a fast path leaves; is given where to go on.
type Others<'f> = &'f dyn Fn(&mut Body<'_, '_, '_>, (Block, Vec<Value>));

/// `object[name] := value`: a field that is there and not nil gets another value that is not nil; routines do all else. For objects that are no
/// tables which packets make, `others` makes code, if it is given: it is given where to go on.
pub fn assign(
    body: &mut Body<'_, '_, '_>,
    object: Place,
    name: &[u8],
    value: Stored,
    others: Option<Others<'_>>,
) {
    let access = body.unit.general.access(body.index, body.pc, name);
    let (site, after) = body.site_of_call();
    let (slow, _) = body.code().new_block(0);
    let other = others.map(|_| body.code().new_block(0).0);
    let table = own_table(body, object, other.unwrap_or(slow));
    let entry = entry(body, table, access, slow);
    let tag = body.code().load(entry, E_TAG);
    body.code().leave_if(CompareOp::Eq, tag, TAG_NIL as i32, slow, &[]);
    value.put(body, entry, E_TAG, slow);
    let args = [body.frame, body.base];
    body.code().jump(after.0, &args);
    if let (Some(other), Some(others)) = (other, others) {
        let place = (body.frame, body.base);
        body.code().block = other;
        body.set_site(site);
        others(body, after.clone());
        (body.frame, body.base) = place;
    }
    body.code().block = slow;
    body.set_site(site);
    finish(body, ["set_named", "set_index"], after, |body| {
        let (object, value) = (object.address(body), value.address(body));
        [object, body.code().constant(access.record as i64), value]
    });
}

/// Calls a routine for the usual cases, and where these are not all the one for all. Arguments are made for each, or they would be kept in the unit's
/// frame on the stack.
pub fn finish<'u, 'g, 'a>(
    body: &mut Body<'u, 'g, 'a>,
    [usual, general]: [&str; 2],
    after: (Block, Vec<Value>),
    arguments: impl Fn(&mut Body<'u, 'g, 'a>) -> [Value; 3],
) {
    let values = arguments(body);
    let status = body.routine(usual, &values);
    let args = [body.frame, body.base];
    body.code().leave_if(CompareOp::Eq, status, 0, after.0, &args);
    let (other, _) = body.code().cold_block(0);
    let leave = body.unit.leave;
    body.code().branch(CompareOp::Eq, status, GENERAL as i32, (other, &[]), (leave, &[status]));
    body.code().block = other;
    let values = arguments(body);
    let status = body.routine(general, &values);
    body.check_call(status, after);
}

/// A pointer to the object, and its address; leaves for `other` where it is no table.
pub fn table(body: &mut Body<'_, '_, '_>, object: Place, other: Block) -> (Value, Value) {
    let tag = body.code().load(object.pointer, object.disp);
    body.code().leave_if(CompareOp::Ne, tag, TAG_TABLE as i32, other, &[]);
    let address = body.code().load(object.pointer, object.disp + 8);
    (body.code().arena(address), address)
}

/// The same for one that packets make: those of load time do not change.
pub fn own_table(body: &mut Body<'_, '_, '_>, object: Place, other: Block) -> Value {
    let (table, address) = table(body, object, other);
    let state = body.unit.state;
    let end = body.code().load(state, L_IMAGE_END);
    body.code().leave_if(CompareOp::ULt, address, end, other, &[]);
    table
}

/// A pointer to the entry that was found last, if it has the name in this table, too.
fn entry(body: &mut Body<'_, '_, '_>, table: Value, access: Access, slow: Block) -> Value {
    let state = body.unit.state;
    let position = body.code().load(state, access.position);
    let used = body.code().load(table, T_USED);
    body.code().leave_if(CompareOp::UGe, position, used, slow, &[]);
    let entries = body.code().load(table, T_ENTRIES);
    let entry = body.code().binary(moonhook_ir::BinaryOp::Add, entries, position);
    let entry = body.code().arena(entry);
    let key = body.code().load(entry, E_KEY);
    let name = body.code().constant(access.name as i64);
    body.code().leave_if(CompareOp::Ne, key, name, slow, &[]);
    let tag = body.code().load(entry, E_KEY_TAG);
    body.code().leave_if(CompareOp::Ne, tag, TAG_STRING as i32, slow, &[]);
    entry
}
