//! Lua values in memory: a tag and a payload, 16 bytes.

use moonhook_ir::{AtomicOp, BinaryOp, Builder, Op, Size, Value};
use moonhook_runtime::layout::{TAG_INT, V_INT, V_SLOTS, V_TAG};

/// Copies the value of a variable of load time (`V_…`), whose address is a number.
pub fn copy_variable(code: &mut Builder, (to, disp): (Value, i64), place: Value) {
    let variable = code.arena(place);
    let tag = code.load(variable, V_TAG);
    let slot = code.binary(BinaryOp::Shl, tag, 3);
    let slot = code.binary(BinaryOp::Add, slot, place);
    let slot = code.arena(slot);
    let payload = code.load(slot, V_SLOTS);
    code.store(to, disp, tag);
    code.store(to, disp + 8, payload);
}

/// Adds to a variable of load time that is an integer, or nil with 0 as its integer.
pub fn add_to_variable(code: &mut Builder, place: Value, added: Value) {
    let variable = code.arena(place);
    let disp = V_INT as i16;
    code.emit(Op::Atomic { op: AtomicOp::Add, size: Size::B8, base: variable, disp, value: added });
    code.store(variable, V_TAG, TAG_INT as i32);
}

/// Copies a value.
pub fn copy_value(code: &mut Builder, to: Value, to_disp: i64, from: Value, from_disp: i64) {
    let tag = code.load(from, from_disp);
    let payload = code.load(from, from_disp + 8);
    code.store(to, to_disp, tag);
    code.store(to, to_disp + 8, payload);
}
