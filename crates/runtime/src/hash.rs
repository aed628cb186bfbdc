//! Hashes of keys, as `lua/value.lua` computes them.

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(hash: u64, word: u64) -> u64 {
    let folded = hash ^ word;
    let mixed = (folded ^ folded >> 32).wrapping_mul(FACTOR);
    mixed ^ mixed >> 32
}

/// The hash of a text.
pub fn text_hash(text: &[u8]) -> u64 {
    let start = (text.len() as u64).wrapping_mul(FACTOR);
    text.chunks(8).fold(start, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash, u64::from_le_bytes(word))
    })
}

/// The hash of a value that is no text, by its tag and payload. Floats with integral value must have become integers.
pub fn value_hash(tag: i64, payload: u64) -> u64 {
    mix(tag as u64, payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Slots of an index are the lowest bits of hashes.
    fn slots(hashes: impl Iterator<Item = u64>, bits: u32) -> usize {
        hashes.map(|hash| hash & ((1 << bits) - 1)).collect::<HashSet<_>>().len()
    }

    #[test]
    fn texts_that_differ_in_one_place_are_spread() {
        for place in 0..24 {
            let text = |byte: u8| {
                let mut text = [b'x'; 24];
                text[place] = byte;
                text_hash(&text)
            };
            assert!(slots((0..=255).map(text), 9) > 128, "byte {place}");
        }
    }

    #[test]
    fn integers_that_differ_in_eight_bits_are_spread() {
        for shift in 0..57 {
            let hashes = (0..256u64).map(|i| value_hash(crate::layout::TAG_INT, i << shift));
            assert!(slots(hashes, 9) > 128, "shift {shift}");
        }
    }
}
