//! Tests whether a byte is in a set.

use super::parse::Set;
use crate::cases::{HIGHS, ONES};
use crate::context::{Context, Result};
use crate::state::State;
use crate::value::Word;
use moonhook_ir::words::{Branches, Cond, Words};
use moonhook_ir::{BinaryOp, CompareOp, Size};

/// Splits the current state: where the byte is in the set, and where it is not. A few runs are compared; other sets are a
/// table of 256 bytes.
pub fn split_set(context: &mut Context<'_>, byte: Word, set: &Set) -> Result<(State, State)> {
    let runs = set.runs();
    let gaps = set.complement().runs();
    let cond = match (runs.as_slice(), gaps.as_slice()) {
        ([], _) => Cond::Known(false),
        (_, []) => Cond::Known(true),
        ([run], _) => in_run(context, byte, *run),
        (_, [gap]) => {
            let cond = in_run(context, byte, *gap);
            let (inside, outside) = context.split(cond);
            return Ok((outside, inside));
        }
        _ => {
            let table: Vec<u8> = (0..=255).map(|byte| u8::from(set.contains(byte))).collect();
            let map = context.output.add_data("class", table);
            let base = context.emit(moonhook_ir::Op::DataAddress { map, offset: 0 });
            let byte = context.and(byte, 255);
            let byte = context.value(byte);
            let place = context.emit(moonhook_ir::Op::Binary(BinaryOp::Add, base, byte.into()));
            let flag = context.load(place, 0, Size::B1, false);
            context.compare(CompareOp::Ne, flag, 0)
        }
    };
    Ok(context.split(cond))
}

fn in_run(context: &mut Context<'_>, byte: Word, (first, last): (u8, u8)) -> Cond {
    if first == last {
        return context.compare(CompareOp::Eq, byte, i64::from(first));
    }
    let offset = context.sub(byte, i64::from(first));
    context.compare(CompareOp::ULe, offset, i64::from(last - first))
}

/// Runs of bytes that are tested in a word, at most.
const MAX_RUNS: usize = 3;

/// Whether 8 bytes can be tested in one step: the set, or what is not in it, are few runs of ASCII.
pub fn by_words(set: &Set) -> bool {
    is_few_ascii(set) || is_few_ascii(&set.complement())
}

fn is_few_ascii(set: &Set) -> bool {
    let runs = set.runs();
    runs.len() <= MAX_RUNS && runs.iter().all(|(_, last)| *last < 0x80)
}

/// The high bit of each byte of the word that is not in the set, which is one of [`by_words`].
pub fn marks_outside(context: &mut Context<'_>, word: Word, set: &Set) -> Word {
    if !is_few_ascii(set) {
        return marks_inside(context, word, &set.complement());
    }
    let inside = marks_inside(context, word, set);
    context.binary(BinaryOp::Xor, inside, HIGHS)
}

/// The high bit of each byte of the word that is in a few runs of ASCII. With its own high bit cleared, a byte plus
/// `0x80 - first` has that bit if it is not less than `first`, and plus `0x7f - last` if it is greater than `last`.
fn marks_inside(context: &mut Context<'_>, word: Word, set: &Set) -> Word {
    let low = context.and(word, !HIGHS);
    let mut any = Word::Imm(0);
    for (first, last) in set.runs() {
        let from = context.add(low, (0x80 - i64::from(first)).wrapping_mul(ONES));
        let beyond = context.add(low, (0x7f - i64::from(last)).wrapping_mul(ONES));
        let within = context.binary(BinaryOp::Xor, from, beyond);
        any = context.binary(BinaryOp::Or, any, within);
    }
    let ascii = context.binary(BinaryOp::Xor, word, -1);
    let any = context.and(any, ascii);
    context.and(any, HIGHS)
}
