//! Calls of the kernel's functions for one entry of a map, and what they take.

use crate::value::Word;
use moonhook_ir as ir;
use moonhook_ir::words::{Address, Words};
use moonhook_ir::{Op, Size, helper};

/// Flags of `bpf_map_update_elem`: whatever is there; only if nothing is there.
pub const ANY: i64 = 0;
pub const NOEXIST: i64 = 1;

/// What `bpf_map_update_elem` gives, negative, where something is there.
pub const EEXIST: i64 = 17;

pub fn lookup(words: &mut impl Words, map: ir::MapId, key: ir::Value) -> ir::Value {
    let map = words.emit(Op::MapReference(map));
    words.emit(Op::Helper { id: helper::MAP_LOOKUP_ELEM, args: vec![map, key] })
}

pub fn update(
    words: &mut impl Words,
    map: ir::MapId,
    key: ir::Value,
    value: ir::Value,
    flags: impl Into<Word>,
) -> Word {
    let map = words.emit(Op::MapReference(map));
    let result = words.helper(helper::MAP_UPDATE_ELEM, &[map.into(), key.into(), value.into(), flags.into()]);
    let low = words.value(result);
    // An `int`, as the calling convention has it.
    words.unary(ir::UnaryOp::SignExtend32, low)
}

/// Updates where there is no entry yet.
pub fn insert(words: &mut impl Words, map: ir::MapId, key: ir::Value, value: ir::Value) -> Word {
    update(words, map, key, value, NOEXIST)
}

/// Gives the new value.
pub fn atomic_add(words: &mut impl Words, at: Address, added: Word) -> Word {
    let value = words.value(added);
    let old =
        words.emit(Op::Atomic { op: ir::AtomicOp::Add, size: Size::B8, base: at.base, disp: at.disp, value });
    words.add(old, added)
}

pub fn zero(words: &mut impl Words, at: Address, size: usize) {
    for word in 0..size as i16 / 8 {
        words.store(at.base, at.disp + 8 * word, Size::B8, 0);
    }
}
