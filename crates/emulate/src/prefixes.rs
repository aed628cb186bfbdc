//! Keys of prefixes (`struct bpf_lpm_trie_key`): the length in bits, then as many bits, the first one being the highest of the first byte.

const LENGTH: usize = 4;

/// Without the bits behind the prefix; `None` where it is longer than keys are.
pub(crate) fn cut(key: &[u8]) -> Option<Vec<u8>> {
    let (length, bits) = key.split_first_chunk::<LENGTH>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let mut cut = key.to_vec();
    for (number, byte) in cut[LENGTH..].iter_mut().enumerate() {
        let left = length.saturating_sub(8 * number).min(8);
        *byte &= !(0xff_u8.checked_shr(left as u32).unwrap_or(0));
    }
    (length <= 8 * bits.len()).then_some(cut)
}

/// What is found for the longest prefix of a key.
pub(crate) fn longest<T>(key: &[u8], find: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    let mut prefix = cut(key)?;
    let length = u32::from_le_bytes(*key.first_chunk()?);
    for length in (0..=length).rev() {
        prefix[..LENGTH].copy_from_slice(&length.to_le_bytes());
        // The bit behind the prefix.
        if let Some(byte) = prefix.get_mut(LENGTH + length as usize / 8) {
            *byte &= !(0x80 >> (length % 8));
        }
        if let Some(found) = find(&prefix) {
            return Some(found);
        }
    }
    None
}
