//! Lua values in memory: a tag and a payload, 16 bytes.

use moonhook_ir::{Builder, Value};

/// Copies a value.
pub fn copy_value(code: &mut Builder, to: Value, to_disp: i64, from: Value, from_disp: i64) {
    let tag = code.load(from, from_disp);
    let payload = code.load(from, from_disp + 8);
    code.store(to, to_disp, tag);
    code.store(to, to_disp + 8, payload);
}
