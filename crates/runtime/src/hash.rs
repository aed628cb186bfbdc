//! Hashes of keys, as `lua/value.lua` computes them.

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(FACTOR);
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
