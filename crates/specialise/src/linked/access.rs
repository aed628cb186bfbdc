//! Integers in memory as C has them, and entries of maps of objects.

use crate::context::{Context, Result};
use crate::value::Word;
use moonhook_ir as ir;
use moonhook_ir::helper::MAP_LOOKUP_ELEM;
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{CompareOp, Op, Size};
use moonhook_snapshot::{Leaf, LoadedMap};

/// Names the slots of memory for keys, besides their sizes.
pub const KEY: u32 = 11;

/// What a map has for a key with these integers, an integer; 0 where it has nothing.
///
/// # Errors
/// What paths that meet do not agree about.
pub fn entry(context: &mut Context<'_>, map: &LoadedMap, key: &[Word]) -> Result<Word> {
    let bytes = context.snapshot.objects[map.object].maps[map.map].key.0;
    let slot = context.known.shared.slot(bytes << 1 | KEY, bytes, &mut context.code.function);
    let place = zeroed(context, slot, bytes);
    for (leaf, number) in map.key.iter().zip(key) {
        store(context, place, leaf, *number);
    }
    let id = super::map(context, map.object, map.map);
    let found = look_up(context, id, place);
    let is_none = context.compare(CompareOp::Eq, found, 0);
    let (none, some) = context.split(is_none);
    let mut paths = Vec::new();
    context.state = none;
    if context.alive() {
        paths.push(context.take_path(vec![Word::Imm(0)]));
    }
    context.state = some;
    if context.alive() {
        let place = context.value(found);
        let number = map.value.first().map_or(Word::Imm(0), |leaf| load(context, place, leaf));
        paths.push(context.take_path(vec![number]));
    }
    context.meet_word(paths)
}

/// The address of an entry, or 0.
pub fn look_up(context: &mut Context<'_>, map: ir::MapId, key: ir::Value) -> Word {
    let map = context.emit(Op::MapReference(map));
    context.helper(MAP_LOOKUP_ELEM, &[map, key].map(Word::Value))
}

/// The address of so many bytes of the stack, all of them 0: what lies between integers, the kernel reads, too.
pub fn zeroed(context: &mut Context<'_>, slot: ir::Slot, bytes: u32) -> ir::Value {
    let place = context.emit(Op::SlotAddress(slot));
    for offset in (0..bytes).step_by(8) {
        context.store(place, offset as i16, Size::B8, Word::Imm(0));
    }
    place
}

fn size(leaf: &Leaf) -> Size {
    match leaf.bytes {
        1 => Size::B1,
        2 => Size::B2,
        4 => Size::B4,
        _ => Size::B8,
    }
}

pub fn store(context: &mut Context<'_>, place: ir::Value, leaf: &Leaf, number: Word) {
    if context.alive() {
        context.store(place, leaf.offset as i16, size(leaf), number);
    }
}

pub fn load(context: &mut Context<'_>, place: ir::Value, leaf: &Leaf) -> Word {
    context.load(place, leaf.offset as i16, size(leaf), leaf.is_signed)
}
