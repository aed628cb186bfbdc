//! Sums of the Internet's checksums (RFC 1071), as the kernel's `bpf_csum_diff` has them since Linux 6.13: folded to 16 bits.

/// The sum `seed` without `from` and with `to`. The last word is as if zeros followed it; kernels before that wanted whole words.
pub(crate) fn difference(from: &[u8], to: &[u8], seed: u32) -> u32 {
    let sum = match (from.is_empty(), to.is_empty()) {
        (false, false) => add(partial(to, seed), !partial(from, 0)),
        (true, false) => partial(to, seed),
        (false, true) => !partial(from, !seed),
        (true, true) => seed,
    };
    let halves = (sum & 0xffff) + (sum >> 16);
    (halves & 0xffff) + (halves >> 16)
}

/// Adds words to a sum, with the carries.
fn partial(bytes: &[u8], seed: u32) -> u32 {
    bytes.chunks(4).fold(seed, |sum, bytes| {
        let mut word = [0; 4];
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        add(sum, u32::from_le_bytes(word))
    })
}

fn add(a: u32, b: u32) -> u32 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u32::from(carry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_what_the_sum_changes_by() {
        let (before, after) = ([0x12, 0x34, 0xff, 0xff], [0xff, 0xfe, 0x01, 0x02]);
        let rest = [9, 8, 7, 6, 5, 4, 3, 2];
        let whole = difference(&[], &[&rest[..], &before].concat(), 0);
        let changed = difference(&[], &[&rest[..], &after].concat(), 0);
        assert_eq!(difference(&before, &after, whole), changed);
        assert_eq!(difference(&before, &[], whole), difference(&[], &rest, 0));
        assert_eq!(difference(&[], &[], 0x1_0001), 2);
        assert_eq!(difference(&[], &[1, 2, 3], 0), 0x201 + 3);
    }
}
