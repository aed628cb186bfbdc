//! Elements of arrays, and lengths: the usual cases in place, all others by routines.

use super::fields::{self, Place, Stored};
use crate::body::Body;
use moonhook_ir::{BinaryOp, Block, CompareOp, Value};
use moonhook_runtime::layout::*;

/// A key that may be that of an element.
#[derive(Clone, Copy)]
pub enum Key {
    Register(usize),
    Constant(i64),
}

impl Key {
    fn address(self, body: &mut Body<'_, '_, '_>) -> Value {
        match self {
            Key::Register(register) => body.address(register),
            Key::Constant(number) => super::access::constant_address(body, (TAG_INT, number as u64)),
        }
    }
}

/// `R[register] := R[object][key]`.
pub fn read(body: &mut Body<'_, '_, '_>, register: usize, object: usize, key: Key) {
    let (site, after) = body.site_of_call();
    let (slow, _) = body.code().new_block(0);
    let place = Place::register(body, object);
    let (table, _) = fields::table(body, place, slow);
    let element = element(body, table, key, slow);
    let tag = body.code().load(element, 0);
    body.code().leave_if(CompareOp::Eq, tag, TAG_NIL as i32, slow, &[]);
    let payload = body.code().load(element, 8);
    body.set(register, tag, payload);
    let args = [body.frame, body.base];
    body.code().jump(after.0, &args);
    body.code().block = slow;
    body.set_site(site);
    let (dest, object, key) = (body.address(register), body.address(object), key.address(body));
    let status = body.routine("index", &[dest, object, key]);
    body.check_call(status, after);
    body.known.remove(&register);
}

/// `R[object][key] := value`: an element that is there and not nil gets another value that is not nil.
pub fn assign(body: &mut Body<'_, '_, '_>, object: usize, key: Key, value: Stored) {
    let (site, after) = body.site_of_call();
    let (slow, _) = body.code().new_block(0);
    let place = Place::register(body, object);
    let table = fields::own_table(body, place, slow);
    let element = element(body, table, key, slow);
    let tag = body.code().load(element, 0);
    body.code().leave_if(CompareOp::Eq, tag, TAG_NIL as i32, slow, &[]);
    value.put(body, element, 0, slow);
    let args = [body.frame, body.base];
    body.code().jump(after.0, &args);
    body.code().block = slow;
    body.set_site(site);
    fields::finish(body, ["set_element", "set_index"], after, |body| {
        [body.address(object), key.address(body), value.address(body)]
    });
}

/// A pointer to the element with that key, if the table's array has it.
fn element(body: &mut Body<'_, '_, '_>, table: Value, key: Key, slow: Block) -> Value {
    let index = match key {
        Key::Constant(number) => body.code().constant(number - 1),
        Key::Register(register) => {
            if !body.is_integer(register) {
                let tag = body.tag(register);
                body.code().leave_if(CompareOp::Ne, tag, TAG_INT as i32, slow, &[]);
            }
            let key = body.payload(register);
            body.code().add(key, -1)
        }
    };
    let count = body.code().load(table, T_COUNT);
    body.code().leave_if(CompareOp::UGe, index, count, slow, &[]);
    let array = body.code().load(table, T_ARRAY);
    let offset = body.code().binary(BinaryOp::Shl, index, 4);
    let element = body.code().binary(BinaryOp::Add, array, offset);
    body.code().arena(element)
}

/// `R[register] := #R[object]`.
pub fn length(body: &mut Body<'_, '_, '_>, register: usize, object: usize) {
    let (site, after) = body.site_of_call();
    let [other, slow] = [(); 2].map(|()| body.code().new_block(0).0);
    let place = Place::register(body, object);
    let (table, _) = fields::table(body, place, other);
    let meta = body.code().load(table, T_META);
    body.code().leave_if(CompareOp::Ne, meta, 0, slow, &[]);
    let count = body.code().load(table, T_COUNT);
    body.set(register, TAG_INT as i32, count);
    let args = [body.frame, body.base];
    body.code().jump(after.0, &args);
    body.code().block = other;
    let tag = body.tag(object);
    body.code().leave_if(CompareOp::Ne, tag, TAG_STRING as i32, slow, &[]);
    let text = body.payload(object);
    let length = body.code().binary(BinaryOp::LShr, text, 32);
    body.set(register, TAG_INT as i32, length);
    body.code().jump(after.0, &args);
    body.code().block = slow;
    body.set_site(site);
    let (dest, object) = (body.address(register), body.address(object));
    let status = body.routine("length", &[dest, object]);
    body.check_call(status, after);
    body.known.remove(&register);
}
