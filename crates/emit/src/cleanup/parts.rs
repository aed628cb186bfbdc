//! The parts of a frame: an address of one leads to no other.

use crate::frame::MAX_STACK;
use crate::isa::Word;
use crate::program::Code;
use moonhook_ir::helper;

/// `src` of a call of a helper.
pub const HELPER: u8 = 0;

/// A set of parts: bit n stands for part n.
pub type PartSet = u128;

/// Bytes of a frame, relative to the frame pointer.
pub type Bytes = std::ops::Range<i32>;

pub struct Parts {
    /// In ascending order, none of which overlap.
    parts: Vec<Bytes>,
}

impl Parts {
    /// `None` if there are too many.
    pub fn of(code: &Code) -> Option<Parts> {
        let mut all = code.parts.clone();
        all.sort_unstable_by_key(|part| (part.start, part.end));
        let mut parts: Vec<Bytes> = Vec::with_capacity(all.len());
        for part in all.into_iter().filter(|part| !part.is_empty()) {
            // Functions that are put in one place after the other have the same bytes.
            match parts.last_mut().filter(|last| part.start < last.end) {
                Some(last) => last.end = last.end.max(part.end),
                None => parts.push(part),
            }
        }
        (parts.len() < PartSet::BITS as usize).then_some(Parts { parts })
    }

    pub fn none() -> Parts {
        Parts { parts: Vec::new() }
    }

    /// The part that the byte is in, as a set; all of them for a byte that is in none.
    pub fn at(&self, offset: i32) -> PartSet {
        self.parts.iter().position(|part| part.contains(&offset)).map_or(PartSet::MAX, |part| 1 << part)
    }

    /// The bytes of the parts in a set.
    pub fn bytes(&self, set: PartSet) -> impl Iterator<Item = Bytes> {
        let whole = (set == PartSet::MAX).then_some(-(MAX_STACK as i32)..0);
        let parts = self.parts.iter().enumerate().filter(move |(number, _)| set >> number & 1 == 1);
        whole.into_iter().chain(parts.map(|(_, part)| part.clone()))
    }
}

/// What a call may read by way of an address: all bytes of its part; a helper that reads only, what is behind the address.
pub fn reached(call: &Word, offset: i32, parts: &Parts) -> impl Iterator<Item = Bytes> {
    let is_forward = call.src == HELPER && helper::reads_only(call.imm as u32);
    let bytes = parts.bytes(parts.at(offset));
    bytes.map(move |part| if is_forward { offset.max(part.start)..part.end } else { part })
}

/// The registers that a call takes at most.
pub fn arguments(call: &Word) -> std::ops::RangeInclusive<u8> {
    let known = (call.src == HELPER).then(|| helper::arguments(call.imm as u32)).flatten();
    1..=known.unwrap_or(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_in_one_part() {
        let parts = vec![-8..0, -48..-20, -24..-16, -16..-8];
        let parts = Parts::of(&Code { words: Vec::new(), offset: 0, stack: 48, parts }).unwrap();
        let bytes = |offset: i32| parts.bytes(parts.at(offset)).next().unwrap();
        assert_eq!(bytes(-1), -8..0);
        assert_eq!(bytes(-8), -8..0);
        assert_eq!(bytes(-9), -16..-8);
        assert_eq!(bytes(-17), -48..-16, "bytes of two functions");
        assert_eq!(bytes(-48), -48..-16);
        assert_eq!(bytes(-49), -512..0, "who knows");
        assert_eq!(bytes(0), -512..0);
    }
}
