//! Lines of text in a frame, which end with a line feed: what HTTP is made of.

use super::header::Parsing;
use crate::{Access, Machine};
use moonhook_ir::words::{Iteration, Word};
use moonhook_ir::{BinaryOp, CompareOp, Size};

const FEED: u8 = b'\n';

/// A byte in each of the eight places of a word.
const fn everywhere(byte: u8) -> i64 {
    i64::from_le_bytes([byte; 8])
}

/// Where the line behind the first line feed of `position … end` starts; paths without one carry nothing. Takes eight bytes a turn. At least
/// eight bytes of the frame lie before `end`, and it can be read up to there.
pub fn next_line<M: Machine>(machine: &mut M, position: Word, end: Word) -> Parsing<M> {
    machine.iterate(&[position], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let mut missing = Vec::new();
        let position = variables[0];
        let over = machine.compare(CompareOp::SGe, position, end);
        machine.leave_if(over, &mut missing);
        // The last bytes are read as a part of those that end there; what lies before `position` does not count.
        let last = machine.sub(end, 8);
        let at = machine.smaller(position, last);
        let (address, outside) = machine.locate(at, 8)?;
        missing.extend(outside);
        let word = machine.load_at(address, Size::B8, false);
        let feeds = equal_bytes(machine, word, FEED);
        let before = machine.sub(position, at);
        let before = machine.shl(before, 3);
        let counted = machine.binary(BinaryOp::Shl, -1, before);
        let feeds = machine.and(feeds, counted);
        let none = machine.compare_apart(CompareOp::Eq, feeds, 0);
        let (none, found) = machine.split(none);
        machine.resume(found);
        let bytes = bytes_through(machine, feeds);
        let next = machine.add(at, bytes);
        iteration.leave(machine, vec![next]);
        machine.resume(none);
        let next = machine.add(at, 8);
        iteration.again(machine, vec![next]);
        missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })
}

/// A word whose bytes have the highest bit set where those of `word` are `byte`, and no other bit.
fn equal_bytes<M: Machine>(machine: &mut M, word: Word, byte: u8) -> Word {
    // A byte of the difference is 0 where neither its highest bit is set nor adding 0x7f to the others sets it.
    let difference = machine.binary(BinaryOp::Xor, word, everywhere(byte));
    let low = machine.and(difference, everywhere(0x7f));
    let carried = machine.add(low, everywhere(0x7f));
    let other = machine.binary(BinaryOp::Or, carried, difference);
    let same = machine.binary(BinaryOp::Xor, other, -1);
    machine.and(same, everywhere(0x80))
}

/// How many bytes of a word there are up to the first one with the highest bit set, that one included.
fn bytes_through<M: Machine>(machine: &mut M, marks: Word) -> Word {
    let less = machine.sub(marks, 1);
    let below = machine.binary(BinaryOp::Xor, marks, less);
    let ones = machine.and(below, everywhere(1));
    let sum = machine.binary(BinaryOp::Mul, ones, everywhere(1));
    machine.shr(sum, 56)
}

/// Goes on at the first byte from `position` on that is no blank; paths that come to `end` first carry nothing.
pub fn behind_blanks<M: Machine>(machine: &mut M, position: Word, end: Word) -> Parsing<M> {
    machine.iterate(&[position], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let position = variables[0];
        let mut missing = Vec::new();
        let over = machine.compare(CompareOp::SGe, position, end);
        machine.leave_if(over, &mut missing);
        let (address, outside) = machine.locate(position, 1)?;
        missing.extend(outside);
        let byte = machine.load_at(address, Size::B1, false);
        let mut blank = Vec::new();
        is_blank(machine, byte, &mut blank);
        iteration.leave(machine, vec![position]);
        machine.enter(blank)?;
        let next = machine.add(position, 1);
        iteration.again(machine, vec![next]);
        missing.into_iter().for_each(|state| iteration.leave_in(state, vec![]));
        Ok(iteration)
    })
}

/// Where the text from `start` on ends whose line ends before `end`, without a carriage return and blanks at its end.
pub fn without_blanks<M: Machine>(machine: &mut M, start: Word, end: Word) -> Result<Word, M::Stop> {
    let end = without_return(machine, start, end)?;
    let exits = machine.iterate(&[end], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let end = variables[0];
        let mut done = Vec::new();
        let empty = machine.compare(CompareOp::SLe, end, start);
        machine.leave_if(empty, &mut done);
        let last = machine.sub(end, 1);
        let (address, outside) = machine.locate(last, 1)?;
        done.extend(outside);
        let byte = machine.load_at(address, Size::B1, false);
        let mut blank = Vec::new();
        is_blank(machine, byte, &mut blank);
        done.push(machine.take_state());
        machine.enter(blank)?;
        iteration.again(machine, vec![last]);
        done.into_iter().for_each(|state| iteration.leave_in(state, vec![end]));
        Ok(iteration)
    })?;
    machine.meet_word(exits)
}

/// Where a line ends that is followed by a line feed at `end`: before a carriage return, if one is the last of its bytes from `start` on.
pub fn without_return<M: Machine>(machine: &mut M, start: Word, end: Word) -> Result<Word, M::Stop> {
    let empty = machine.compare(CompareOp::SLe, end, start);
    let (empty, some) = machine.split(empty);
    machine.resume(some);
    let last = machine.sub(end, 1);
    let address = machine.known_address(last, 1)?;
    let byte = machine.load_at(address, Size::B1, false);
    let is_return = machine.compare_apart(CompareOp::Eq, byte, i64::from(b'\r'));
    let (is_return, other) = machine.split(is_return);
    machine.enter(vec![empty, other])?;
    let plain = machine.take_path(vec![end]);
    machine.resume(is_return);
    let shorter = machine.take_path(vec![last]);
    machine.meet_word(vec![plain, shorter])
}

fn is_blank<M: Machine>(machine: &mut M, byte: Word, blank: &mut Vec<M::State>) {
    for known in [b' ', b'\t'] {
        let is = machine.compare_apart(CompareOp::Eq, byte, i64::from(known));
        machine.leave_if(is, blank);
    }
}
