//! Numbers of 1 to 64 bits at any bit, as luadata's layouts have them: bit 0 is the highest one of the first byte.

/// Where a number's bytes are, and how many bits of the last one are behind it.
struct Place {
    bytes: std::ops::Range<usize>,
    behind: u32,
    mask: u128,
}

fn place(size: usize, at: i64, bits: i64) -> Option<Place> {
    let at = usize::try_from(at).ok()?;
    let bits = usize::try_from(bits).ok().filter(|bits| (1..=64).contains(bits))?;
    let (start, skipped) = (at / 8, at % 8);
    let count = (skipped + bits).div_ceil(8);
    let end = start.checked_add(count).filter(|end| *end <= size)?;
    let behind = (8 * count - skipped - bits) as u32;
    Some(Place { bytes: start..end, behind, mask: (1 << bits) - 1 })
}

fn big(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |value, byte| value << 8 | u128::from(*byte))
}

/// The number of `bits` bits that begins at bit `at`; `None` if not all of it is there, or if there are no such numbers.
pub(super) fn read(bytes: &[u8], at: i64, bits: i64, little: bool) -> Option<i64> {
    let place = place(bytes.len(), at, bits)?;
    let value = (big(&bytes[place.bytes]) >> place.behind & place.mask) as u64;
    Some(if little { from_little(value, bits as u32) } else { value } as i64)
}

/// Writes the low bits of `value` there; nothing, where [`read`] gives nothing.
pub(super) fn write(bytes: &mut [u8], at: i64, bits: i64, little: bool, value: i64) {
    let Some(place) = place(bytes.len(), at, bits) else { return };
    let value = if little { to_little(value as u64, bits as u32) } else { value as u64 };
    let there = &mut bytes[place.bytes];
    let kept = big(there) & !(place.mask << place.behind);
    let all = kept | (u128::from(value) & place.mask) << place.behind;
    let written = all.to_be_bytes();
    there.copy_from_slice(&written[written.len() - there.len()..]);
}

/// The bits of whole bytes, and how many are left of one. That is the highest part of numbers whose bytes come lowest first, and lies in the upper bits of the last byte.
fn parts(bits: u32) -> (u32, u32) {
    (bits - bits % 8, bits % 8)
}

fn from_little(value: u64, bits: u32) -> u64 {
    let value = (value << (64 - bits)).swap_bytes();
    match parts(bits) {
        (_, 0) => value,
        (whole, rest) => value & ((1 << whole) - 1) | (value >> (whole + 8 - rest)) << whole,
    }
}

fn to_little(value: u64, bits: u32) -> u64 {
    let value = match parts(bits) {
        (_, 0) => value,
        (whole, rest) => value & ((1 << whole) - 1) | (value >> whole) << (whole + 8 - rest),
    };
    value.swap_bytes() >> (64 - bits)
}
