//! Internet checksums (RFC 1071): sums of the frame's words of 16 bits, as they are in memory.
//!
//! Summing up is a function of its own, which the verifier looks at once, except in code that works on a copy of the frame.

use crate::{Access, MAX_FRAME, Machine, Scattered};
use moonhook_ir::words::{Iteration, Word};
use moonhook_ir::{BinaryOp, CompareOp, Size};

/// Ways of going on: so many words of that size at once. After all but the last one an even number of bytes is done.
const STEPS: [(i64, Size); 4] = [(4, Size::B8), (1, Size::B8), (1, Size::B2), (1, Size::B1)];

/// Sums of bytes.
pub trait Checksum: Scattered {
    /// A number below 2^48 that is congruent modulo 0xffff to the sum of the words that `length` bytes at `offset` are, which lie in the frame
    /// and can be read; 0 only if all of them are. A last single byte is followed by a zero.
    fn sum_of(&mut self, offset: Word, length: Word) -> Result<Word, Self::Stop> {
        if !self.alive() {
            return Ok(Word::Imm(0));
        }
        let function = match self.copy() {
            Some(_) => None,
            None => self.apart("sum_of_bytes", 2, sum_apart)?,
        };
        match function {
            Some(function) => {
                let context = self.program_context();
                Ok(self.call_function(function, &[context, offset, length]))
            }
            None => self.with_whole_copy(|machine| sum(machine, offset, length)),
        }
    }

    /// The sum of 16 bits of a number below 2^49; 0 only of 0.
    fn fold_sum(&mut self, sum: Word) -> Word {
        [(32, 0xffff_ffff), (16, 0xffff), (16, 0xffff), (16, 0xffff)].into_iter().fold(
            sum,
            |sum, (bits, mask)| {
                let (high, low) = (self.shr(sum, bits), self.and(sum, mask));
                self.add(low, high)
            },
        )
    }

    /// The checksum that a sum makes.
    fn checksum_of(&mut self, sum: Word) -> Word {
        let folded = self.fold_sum(sum);
        self.binary(BinaryOp::Xor, folded, 0xffff)
    }
}

impl<M: Access> Checksum for M {}

fn sum_apart<M: Machine>(machine: &mut M, parameters: &[Word]) -> Result<(), M::Stop> {
    let &[offset, length] = parameters else { return Ok(()) };
    let (offset, length) = (machine.and(offset, MAX_FRAME), machine.and(length, MAX_FRAME));
    let sum = sum(machine, offset, length)?;
    machine.give(sum);
    Ok(())
}

fn sum<M: Machine>(machine: &mut M, offset: Word, length: Word) -> Result<Word, M::Stop> {
    let paths = machine.iterate(&[Word::Imm(0), Word::Imm(0)], &mut |machine, variables| {
        let mut iteration = Iteration::default();
        let &[at, sum] = variables else { return Ok(iteration) };
        let left = machine.sub(length, at);
        for (words, size) in STEPS {
            let bytes = words * size as i64;
            let enough = machine.compare(CompareOp::SGe, left, bytes);
            let (enough, less) = machine.split(enough);
            machine.resume(enough);
            if machine.alive() {
                let place = machine.add(offset, at);
                let sum = add_words(machine, (place, sum), words, size)?;
                let next = machine.add(at, bytes);
                iteration.again(machine, vec![next, sum]);
            }
            machine.resume(less);
        }
        iteration.leave(machine, vec![sum]);
        Ok(iteration)
    })?;
    machine.meet_word(paths)
}

/// Adds words at a place of the frame to a sum.
fn add_words<M: Machine>(
    machine: &mut M,
    (place, mut sum): (Word, Word),
    words: i64,
    size: Size,
) -> Result<Word, M::Stop> {
    let address = machine.known_address(place, words as u32 * size as u32)?;
    for number in 0..words {
        let mut word = machine.load_at(address.plus((8 * number) as i16), size, false);
        if size == Size::B8 {
            word = machine.halves(word);
        }
        sum = machine.add(sum, word);
    }
    Ok(sum)
}
