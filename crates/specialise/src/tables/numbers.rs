//! Finding integers, and addresses as the integers that they are, among the keys of a table.
//!
//! A few are compared one by one. Where all lie close together, as ports do, what is looked for is itself the place: of a bit where all keys
//! have the same value, of a value's number otherwise. Other keys are found by a perfect hash.

use super::keys::find_slot;
use super::{MAX_COMPARED, Values, lay_out};
use crate::context::{Context, Result};
use crate::hashing::{self, Placement};
use crate::paths::Arm;
use crate::state::State;
use crate::tables::bounded;
use crate::value::{Abs, Word};
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp, Op, Size};
use moonhook_snapshot::Value;

/// Bytes of a slot of a hash table: key, number of the value.
const SLOT: usize = 16;

/// Places that a table of numbers or bits may have: as many as there are ports.
const MOST_PLACES: i64 = 0x1_0000;

/// Numbers of values are bytes, and 0 is for none.
const MOST_NUMBERED: usize = u8::MAX as usize;

/// What a table has for a key: an arm for each way of finding something; the current state goes on where there is nothing.
pub(super) fn look_up(context: &mut Context<'_>, key: Word, entries: Vec<(i64, Value)>) -> Result<Vec<Arm>> {
    let (keys, values): (Vec<i64>, Vec<Value>) = entries.into_iter().unzip();
    if keys.len() <= MAX_COMPARED {
        return Ok(compared(context, key, &keys, &values));
    }
    let laid = lay_out(context, &values)?;
    let alike = laid.rows.is_none();
    if let Some(places) =
        Places::of(context, key, &keys, alike).filter(|_| alike || keys.len() <= MOST_NUMBERED)
    {
        return Ok(vec![places.find(context, key, &keys, &laid)?]);
    }
    let hashes: Vec<i64> = keys.iter().map(|key| hashing::of_integer(*key)).collect();
    match hashing::place(&hashes) {
        Some(placement) => Ok(vec![hashed(context, key, &keys, (&laid, &placement))?]),
        None => Ok(compared(context, key, &keys, &values)),
    }
}

fn compared(context: &mut Context<'_>, key: Word, keys: &[i64], values: &[Value]) -> Vec<Arm> {
    let mut arms = Vec::new();
    for (candidate, value) in keys.iter().zip(values) {
        let same = context.compare(CompareOp::Eq, key, *candidate);
        let (same, other) = context.split(same);
        let value = Abs::of_load_time(context.snapshot, value);
        arms.push(Arm { state: same, values: vec![value] });
        context.state = other;
    }
    arms
}

/// Places for all numbers from the first one on.
struct Places {
    first: i64,
    count: usize,
    /// What is looked for may lie outside.
    is_checked: bool,
}

impl Places {
    /// Of the keys if they lie close together; where there are only bits, of all that is looked for if that does.
    fn of(context: &Context<'_>, key: Word, keys: &[i64], has_bits: bool) -> Option<Places> {
        let (least, most) = (*keys.iter().min()?, *keys.iter().max()?);
        let first = if (0..MOST_PLACES).contains(&most) && least >= 0 { 0 } else { least };
        let range = context.range(key);
        let all = has_bits && range.within(first, first.saturating_add(MOST_PLACES - 1));
        let last = if all { range.max.max(most) } else { most };
        let is_checked = !range.within(first, last);
        let count = last.checked_sub(first)?.checked_add(1).filter(|count| *count <= MOST_PLACES)?;
        Some(Places { first, count: usize::try_from(count).ok()?.next_power_of_two().max(64), is_checked })
    }

    fn find(&self, context: &mut Context<'_>, key: Word, keys: &[i64], values: &Values) -> Result<Arm> {
        let mut missing = Vec::new();
        let place = context.sub(key, self.first);
        if self.is_checked {
            let outside = context.compare(CompareOp::UGe, place, self.count as i64);
            context.leave_if(outside, &mut missing);
        }
        let places = keys.iter().map(|key| (key - self.first) as usize);
        let number = match values.rows {
            None => self.bit(context, place, places, &mut missing),
            Some(_) => self.number(context, place, places, &mut missing),
        };
        found(context, (number, values), missing)
    }

    /// Leaves where the place's bit is 0.
    fn bit(
        &self,
        context: &mut Context<'_>,
        place: Word,
        places: impl Iterator<Item = usize>,
        missing: &mut Vec<State>,
    ) -> Word {
        let mut bits = vec![0u8; self.count / 8];
        places.for_each(|place| bits[place / 8] |= 1 << (place % 8));
        let word = context.shr(place, 6);
        let word = bounded(context, word, self.count / 64);
        let word = context.shl(word, 3);
        let word = self.load(context, ("bits", bits), word, Size::B8);
        let bit = context.and(place, 63);
        let bit = context.binary(BinaryOp::LShr, word, bit);
        let bit = context.and(bit, 1);
        let none = context.compare(CompareOp::Eq, bit, 0);
        context.leave_if(none, missing);
        Word::Imm(0)
    }

    /// The number of the place's value; leaves where there is none.
    fn number(
        &self,
        context: &mut Context<'_>,
        place: Word,
        places: impl Iterator<Item = usize>,
        missing: &mut Vec<State>,
    ) -> Word {
        let mut numbers = vec![0u8; self.count];
        places.zip(1..).for_each(|(place, number)| numbers[place] = number);
        let place = bounded(context, place, self.count);
        let number = self.load(context, ("numbers", numbers), place, Size::B1);
        let none = context.compare(CompareOp::Eq, number, 0);
        context.leave_if(none, missing);
        context.sub(number, 1)
    }

    fn load(
        &self,
        context: &mut Context<'_>,
        (name, bytes): (&str, Vec<u8>),
        offset: Word,
        size: Size,
    ) -> Word {
        let map = context.output.add_rows(name, bytes, size as usize);
        let base = context.emit(Op::DataAddress { map, offset: 0 });
        let offset = context.value(offset);
        let at = context.emit(Op::Binary(BinaryOp::Add, base, offset.into()));
        context.load(at, 0, size, false)
    }
}

fn hashed(
    context: &mut Context<'_>,
    key: Word,
    keys: &[i64],
    (values, placement): (&Values, &Placement),
) -> Result<Arm> {
    let hash = hashing::emit_of_integer(context, key);
    // An empty slot must not look like a key: its value number is out of range.
    let mut slots = vec![0xff; placement.slots * SLOT];
    for (number, key) in keys.iter().enumerate() {
        let at = placement.slot_of[number] * SLOT;
        slots[at..at + 8].copy_from_slice(&key.to_le_bytes());
        slots[at + 8..at + 16].copy_from_slice(&(number as i64).to_le_bytes());
    }
    let slot = find_slot(context, placement, slots, SLOT, hash);
    let mut missing = Vec::new();
    let stored = context.load(slot, 0, Size::B8, false);
    let other = context.compare(CompareOp::Ne, stored, key);
    context.leave_if(other, &mut missing);
    let mut number = Word::Imm(0);
    let may_be_empty = context.range(key).min < 0;
    if may_be_empty || values.rows.is_some() {
        number = context.load(slot, 8, Size::B8, false);
    }
    if may_be_empty {
        let empty = context.compare(CompareOp::UGe, number, keys.len() as i64);
        context.leave_if(empty, &mut missing);
    }
    found(context, (number, values), missing)
}

/// The arm in which the value with a number was found; goes on where there is none.
fn found(context: &mut Context<'_>, (number, values): (Word, &Values), missing: Vec<State>) -> Result<Arm> {
    let value = values.read(context, number)?;
    let arm = Arm { state: context.take_state(), values: vec![value] };
    context.enter(missing)?;
    Ok(arm)
}
