//! Perfect hashing of constant keys.
//!
//! Keys are hashed to 64 bits, a machine word of the key at a time. The low bits choose a bucket; the bucket's
//! displacement, mixed with the high bits, gives the slot ("hash, displace": Belazzougui, Botelho, Dietzfelbinger, ESA
//! 2009). Building places the largest buckets first and tries displacements until the bucket's keys fall into free slots.

use crate::value::Word;
use moonhook_ir::BinaryOp;
use moonhook_ir::words::Words;

/// Odd, with well-mixed bits: the fractional part of the golden ratio.
pub const MULTIPLIER: i64 = 0x9e37_79b9_7f4a_7c15_u64 as i64;

/// One step of the hash; the emitted code does the same.
pub fn step(hash: i64, word: i64) -> i64 {
    let mixed = (hash ^ word).wrapping_mul(MULTIPLIER);
    mixed ^ ((mixed as u64) >> 32) as i64
}

/// [`step`] at packet time.
pub fn emit_step(words: &mut impl Words, hash: Word, word: Word) -> Word {
    let mixed = words.binary(BinaryOp::Xor, hash, word);
    let mixed = words.binary(BinaryOp::Mul, mixed, MULTIPLIER);
    let high = words.shr(mixed, 32);
    words.binary(BinaryOp::Xor, mixed, high)
}

/// The hash of a string: its length, then its words, little-endian, the last one padded with zeros.
pub fn of_bytes(key: &[u8]) -> i64 {
    let mut hash = key.len() as i64;
    for chunk in key.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = step(hash, i64::from_le_bytes(word));
    }
    finish(hash)
}

/// The hash of an integer key.
pub fn of_integer(key: i64) -> i64 {
    finish(step(0, key))
}

/// [`of_integer`] at packet time.
pub fn emit_of_integer(words: &mut impl Words, key: Word) -> Word {
    let hash = emit_step(words, Word::Imm(0), key);
    emit_step(words, hash, Word::Imm(0))
}

/// A last step, so that all bits depend on the last word.
pub fn finish(hash: i64) -> i64 {
    step(hash, 0)
}

/// Where each key goes.
#[derive(Debug)]
pub struct Placement {
    /// A power of two.
    pub slots: usize,
    /// One for each bucket; their number is a power of two.
    pub displacements: Vec<u16>,
    /// For each key its slot.
    pub slot_of: Vec<usize>,
}

/// The slot of a hash; the emitted code does the same.
pub fn slot(hash: i64, displacement: u16, slots: usize) -> usize {
    let high = (hash as u64) >> 32;
    let mixed = (high ^ u64::from(displacement)).wrapping_mul(MULTIPLIER as u64) >> 32;
    mixed as usize & (slots - 1)
}

/// Places hashes, which must all be different in their high 32 bits together with their bucket. `None` where they are not
/// (the caller then falls back to comparing one by one).
pub fn place(hashes: &[i64]) -> Option<Placement> {
    let mut slots = (hashes.len() * 5 / 4).next_power_of_two().max(2);
    let buckets = (hashes.len() / 3).next_power_of_two().max(1);
    for _ in 0..4 {
        if let Some(placement) = try_place(hashes, slots, buckets) {
            return Some(placement);
        }
        slots *= 2;
    }
    None
}

fn try_place(hashes: &[i64], slots: usize, buckets: usize) -> Option<Placement> {
    let mut members = vec![Vec::new(); buckets];
    for (index, hash) in hashes.iter().enumerate() {
        members[*hash as usize & (buckets - 1)].push(index);
    }
    let mut order: Vec<usize> = (0..buckets).collect();
    order.sort_by_key(|bucket| std::cmp::Reverse(members[*bucket].len()));
    let mut taken = vec![false; slots];
    let mut placement = Placement { slots, displacements: vec![0; buckets], slot_of: vec![0; hashes.len()] };
    let mut chosen = Vec::new();
    for bucket in order {
        let found = (0..=u16::MAX).find(|displacement| {
            chosen.clear();
            members[bucket].iter().all(|index| {
                let slot = slot(hashes[*index], *displacement, slots);
                let free = !taken[slot] && !chosen.contains(&slot);
                chosen.push(slot);
                free
            })
        })?;
        placement.displacements[bucket] = found;
        for index in &members[bucket] {
            let slot = slot(hashes[*index], found, slots);
            taken[slot] = true;
            placement.slot_of[*index] = slot;
        }
    }
    Some(placement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn all_keys_get_slots_of_their_own() {
        for count in [1, 2, 9, 100, 10_000] {
            let hashes: Vec<i64> =
                (0..count).map(|n| of_bytes(format!("host-{n}.example").as_bytes())).collect();
            let placement = place(&hashes).unwrap();
            let slots: HashSet<usize> = placement.slot_of.iter().copied().collect();
            assert_eq!(slots.len(), count);
            for (hash, slot) in hashes.iter().zip(&placement.slot_of) {
                let bucket = *hash as usize & (placement.displacements.len() - 1);
                assert_eq!(super::slot(*hash, placement.displacements[bucket], placement.slots), *slot);
            }
        }
    }

    #[test]
    fn length_and_padding_are_told_apart() {
        assert_ne!(of_bytes(b"a"), of_bytes(b"a\0"));
        assert_ne!(of_bytes(b""), of_bytes(b"\0"));
        assert_ne!(of_bytes(b"12345678"), of_bytes(b"12345678\0"));
    }
}
