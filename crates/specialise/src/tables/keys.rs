//! Finding keys that are strings: by perfect hashes.

use super::words::{self, Lengths, Place, Subject};
use super::{MAX_COMPARED, first_of, lay_out, numbers};
use crate::context::{Context, Result};
use crate::hashing::{self, Placement};
use crate::paths::Arm;
use crate::state::State;
use crate::strings::Slice;
use crate::tables::bounded;
use crate::value::{Abs, Str, Word};
use moonhook_ir as ir;
use moonhook_ir::words::{Branches, Cond, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};
use moonhook_snapshot::{Table, TableId, Value};

/// Keys longer than this are not hashed but compared one by one.
const MAX_HASHED_KEY: usize = 256;

/// Bytes of a slot of a string table: hash (high 32 bits), offset of the key's bytes, its length, number of the value.
const STRING_SLOT: usize = 16;

/// The address of the slot that the hash leads to.
pub(super) fn find_slot(
    context: &mut Context<'_>,
    placement: &Placement,
    slots: Vec<u8>,
    slot_size: usize,
    hash: Word,
) -> ir::Value {
    let displacements: Vec<u8> = placement.displacements.iter().flat_map(|d| d.to_le_bytes()).collect();
    let buckets = placement.displacements.len() as i64;
    let map = context.output.add_data("displacements", displacements);
    let base = context.emit(Op::DataAddress { map, offset: 0 });
    let bucket = context.and(hash, buckets - 1);
    let offset = context.shl(bucket, 1);
    let offset = context.value(offset);
    let place = context.emit(Op::Binary(BinaryOp::Add, base, offset.into()));
    let displacement = context.load(place, 0, Size::B2, false);
    let high = context.shr(hash, 32);
    let mixed = context.binary(BinaryOp::Xor, high, displacement);
    let mixed = context.binary(BinaryOp::Mul, mixed, hashing::MULTIPLIER);
    let mixed = context.shr(mixed, 32);
    let slot = context.and(mixed, placement.slots as i64 - 1);
    let offset = context.binary(BinaryOp::Mul, slot, slot_size as i64);
    let offset = context.value(offset);
    let map = context.output.add_rows("slots", slots, slot_size);
    let base = context.emit(Op::DataAddress { map, offset: 0 });
    context.emit(Op::Binary(BinaryOp::Add, base, offset.into()))
}

pub(super) fn string_lookup(context: &mut Context<'_>, id: TableId, text: &Str) -> Result<Vec<Arm>> {
    let table: &Table = context.snapshot.table(id);
    let mut keys: Vec<(&[u8], &Value)> = Vec::new();
    for (key, value) in &table.entries {
        if let Value::String(key) = key {
            keys.push((key.as_ref(), value));
        }
    }
    match text {
        Str::Ipv4(word) => {
            let number =
                |(key, value): &(&[u8], &Value)| Some((crate::literals::ipv4(key)?, (*value).clone()));
            return number_lookup(context, *word, keys.iter().filter_map(number).collect());
        }
        Str::Mac(word) => {
            let number =
                |(key, value): &(&[u8], &Value)| Some((crate::literals::mac(key)?, (*value).clone()));
            return number_lookup(context, *word, keys.iter().filter_map(number).collect());
        }
        Str::Ipv6(..) => {
            keys.retain(|(key, _)| crate::literals::ipv6(key).is_some());
            return compared(context, text, &keys);
        }
        _ => {}
    }
    let hashable = keys.iter().all(|(key, _)| key.len() <= MAX_HASHED_KEY);
    if keys.len() <= MAX_COMPARED || !hashable {
        return compared(context, text, &keys);
    }
    let texts: Vec<&[u8]> = keys.iter().map(|(key, _)| *key).collect();
    let places = words::telling_apart(&texts);
    let hash = |key: &&[u8]| match &places {
        Some(places) => words::hash_key(key, places),
        None => hashing::of_bytes(key),
    };
    let hashes: Vec<i64> = texts.iter().map(hash).collect();
    match hashing::place(&hashes) {
        Some(placement) => hashed(context, text, &keys, &Hashing { hashes, places, placement }),
        None => compared(context, text, &keys),
    }
}

/// Addresses: looked up as the integers they are.
fn number_lookup(context: &mut Context<'_>, word: Word, keys: Vec<(i64, Value)>) -> Result<Vec<Arm>> {
    let mut arms = numbers::look_up(context, word, keys)?;
    let state = context.take_state();
    arms.push(Arm { state, values: vec![Abs::Nil] });
    Ok(arms)
}

/// One comparison after another.
fn compared(context: &mut Context<'_>, text: &Str, keys: &[(&[u8], &Value)]) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    for (key, value) in keys {
        let (same, different) = context.split_equal(text, &Str::Const((*key).into()))?;
        let value = Abs::of_load_time(context.snapshot, value);
        arms.extend(same.into_iter().map(|state| Arm { state, values: vec![value.clone()] }));
        context.enter(different)?;
    }
    let state = context.take_state();
    arms.push(Arm { state, values: vec![Abs::Nil] });
    Ok(arms)
}

/// How a table's strings are hashed.
struct Hashing {
    /// By key.
    hashes: Vec<i64>,
    /// The words of a key that make its hash; `None` for all bytes.
    places: Option<Vec<Place>>,
    placement: Placement,
}

fn hashed(
    context: &mut Context<'_>,
    text: &Str,
    keys: &[(&[u8], &Value)],
    hashing: &Hashing,
) -> Result<Vec<Arm>> {
    let slice = context.view_of(text)?;
    let length = slice.length;
    let lengths = Lengths::of(&keys.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    let Lengths { shortest, longest } = lengths;
    let mut missing: Vec<State> = Vec::new();
    let outside = context.sub(length, shortest as i64);
    let outside = context.compare(CompareOp::UGt, outside, (longest - shortest) as i64);
    leave(context, outside, &mut missing);
    let (keys_map, slots) = string_slots(context, keys, hashing, longest);
    let subject = match &hashing.places {
        Some(places) if context.state.alive() => Some((Subject::new(context, slice, lengths)?, places)),
        _ => None,
    };
    let hash = match &subject {
        Some((subject, places)) => subject.hash(context, places),
        None => hash_slice(context, slice, longest)?,
    };
    let slot = find_slot(context, &hashing.placement, slots, STRING_SLOT, hash);
    let stored = context.load(slot, 0, Size::B4, false);
    let high = context.shr(hash, 32);
    let differs = context.compare(CompareOp::Ne, stored, high);
    leave(context, differs, &mut missing);
    let stored = context.load(slot, 8, Size::B4, false);
    let differs = context.compare(CompareOp::Ne, stored, length);
    leave(context, differs, &mut missing);
    if context.state.alive() {
        let total: usize = keys.iter().map(|(key, _)| key.len().next_multiple_of(8)).sum();
        let offset = context.load(slot, 4, Size::B4, false);
        match &subject {
            Some((subject, _)) => subject.compare(context, keys_map, offset, total, &mut missing)?,
            None => same_key(context, slice, longest, offset, keys_map, total, &mut missing)?,
        }
    }
    let values: Vec<Value> = keys.iter().map(|(_, value)| (*value).clone()).collect();
    let rows = lay_out(context, &values)?;
    let value = match rows.rows {
        Some(_) => {
            let number = context.load(slot, 12, Size::B4, false);
            rows.read(context, number)?
        }
        None => rows.read(context, Word::Imm(0))?,
    };
    let mut arms = vec![Arm { state: context.take_state(), values: vec![value] }];
    arms.extend(missing.into_iter().map(|state| Arm { state, values: vec![Abs::Nil] }));
    Ok(arms)
}

pub(super) fn leave(context: &mut Context<'_>, cond: Cond, to: &mut Vec<State>) {
    let (then, otherwise) = context.split(cond);
    to.push(then);
    context.state = otherwise;
}

/// The keys' bytes, and the slots that point to them.
fn string_slots(
    context: &mut Context<'_>,
    keys: &[(&[u8], &Value)],
    hashing: &Hashing,
    longest: usize,
) -> (ir::MapId, Vec<u8>) {
    let Hashing { hashes, placement, .. } = hashing;
    let mut bytes = Vec::new();
    let mut slots = vec![0; placement.slots * STRING_SLOT];
    // An empty slot's length fits no key.
    slots.chunks_mut(STRING_SLOT).for_each(|slot| slot[8..12].fill(0xff));
    for (number, (key, _)) in keys.iter().enumerate() {
        let slot = &mut slots[placement.slot_of[number] * STRING_SLOT..][..STRING_SLOT];
        slot[..4].copy_from_slice(&((hashes[number] as u64 >> 32) as u32).to_le_bytes());
        slot[4..8].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        slot[8..12].copy_from_slice(&(key.len() as u32).to_le_bytes());
        slot[12..].copy_from_slice(&(number as u32).to_le_bytes());
        bytes.extend_from_slice(key);
        // Padded to whole words with zeros, as the last word of the subject is.
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    // As far as the verifier knows, a key may be read from any offset below the next power of two on.
    bytes.resize(bytes.len().next_power_of_two() + longest.next_multiple_of(8), 0);
    (context.output.add_data("keys", bytes), slots)
}

/// Goes through the words of a slice that is at most `longest` bytes long: unrolled, since the length is bounded. `visit` gets
/// the word's number, the word, and the value carried along, and gives the next one.
fn fold_words(
    context: &mut Context<'_>,
    slice: Slice,
    longest: usize,
    initial: Word,
    visit: &mut dyn FnMut(&mut Context<'_>, usize, Word, Word) -> Result<Word>,
) -> Result<Word> {
    let mut carried = initial;
    let mut arms: Vec<Arm> = Vec::new();
    for index in 0..longest.div_ceil(8) {
        let at = index as i64 * 8;
        let left = context.sub(slice.length, at);
        let done = context.compare(CompareOp::SLe, left, 0);
        let (done, more) = context.split(done);
        arms.push(Arm { state: done, values: vec![Abs::Int(carried)] });
        context.state = more;
        let part = context.compare(CompareOp::SLt, left, 8);
        let (part, whole) = context.split(part);
        context.state = part;
        if context.state.alive() {
            let offset = context.add(slice.start, at);
            let word = context.last_bytes(slice.space, offset, left)?;
            let word = context.in_case(word, slice.case);
            let last = visit(context, index, word, carried)?;
            let state = context.take_state();
            arms.push(Arm { state, values: vec![Abs::Int(last)] });
        }
        context.state = whole;
        if !context.state.alive() {
            break;
        }
        let offset = context.add(slice.start, at);
        let address = context.address(slice.space, offset, 8)?;
        let word = context.load_at(address, Size::B8, false);
        let word = context.in_case(word, slice.case);
        carried = visit(context, index, word, carried)?;
    }
    let state = context.take_state();
    arms.push(Arm { state, values: vec![Abs::Int(carried)] });
    Ok(match first_of(context, arms)? {
        Abs::Int(word) => word,
        _ => initial,
    })
}

fn hash_slice(context: &mut Context<'_>, slice: Slice, longest: usize) -> Result<Word> {
    let hash = fold_words(context, slice, longest, slice.length, &mut |context, _, word, hash| {
        Ok(hashing::emit_step(context, hash, word))
    })?;
    Ok(hashing::emit_step(context, hash, Word::Imm(0)))
}

/// Leaves where the slice's bytes are not those of the key at `offset`.
fn same_key(
    context: &mut Context<'_>,
    slice: Slice,
    longest: usize,
    offset: Word,
    keys_map: ir::MapId,
    total: usize,
    missing: &mut Vec<State>,
) -> Result<()> {
    let base = context.emit(Op::DataAddress { map: keys_map, offset: 0 });
    let difference =
        fold_words(context, slice, longest, Word::Imm(0), &mut |context, index, word, difference| {
            let place = context.add(offset, index as i64 * 8);
            let place = bounded(context, place, total);
            let place = context.value(place);
            let address = context.emit(Op::Binary(BinaryOp::Add, base, place.into()));
            let stored = context.load(address, 0, Size::B8, false);
            let differs = context.binary(BinaryOp::Xor, stored, word);
            Ok(context.binary(BinaryOp::Or, difference, differs))
        })?;
    let differs = context.compare(CompareOp::Ne, difference, 0);
    leave(context, differs, missing);
    Ok(())
}
