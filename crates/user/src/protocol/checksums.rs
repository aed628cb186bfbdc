//! Internet checksums (RFC 1071), and those of a packet computed anew.
//!
//! Bytes are taken as big-endian words, counted from the first one that is summed up.

use super::frame::Frame;
use super::ip::{self, Ip};
use super::{icmp, tcp, udp};
use moonhook_hook::Hook;

/// The checksum of these parts, each of which but the last one has an even number of bytes.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let pairs = parts.iter().flat_map(|part| part.chunks(2));
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low));
    let mut sum: u64 = pairs.map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A transport header: where it starts, the fewest bytes that it has, where its checksum is in it, and the packet's end by its own account,
/// if it says anything about that.
struct Transport {
    start: usize,
    least: usize,
    at: usize,
    end: Option<usize>,
    number: u8,
}

/// Computes the packet's checksums, of what it has all that they cover.
pub fn fix(hook: &Hook, bytes: &mut [u8]) {
    let frame = Frame::at(hook, bytes);
    let Some(ip) = ip::find(frame) else { return };
    let transport = whole_transport(frame, &ip);
    if ip.version == 4 {
        write(bytes, (ip.start, ip.start + ip.header_length), 10, &[]);
    }
    let Some((transport, end)) = transport else { return };
    let Transport { start, at, number, .. } = transport;
    let addresses = match ip.version {
        4 => bytes[ip.start + 12..ip.start + 20].to_vec(),
        _ => bytes[ip.start + 8..ip.start + 40].to_vec(),
    };
    let mut pseudo = [addresses, ((end - start) as u32).to_be_bytes().to_vec(), vec![0, number]].concat();
    if number == icmp::NUMBER_V4 {
        pseudo.clear();
    }
    write(bytes, (start, end), at, &pseudo);
    if number == udp::NUMBER && bytes[start + at..start + at + 2] == [0, 0] {
        bytes[start + at..start + at + 2].fill(0xff);
    }
}

/// Writes the checksum of a header that starts at the first place, of everything up to the second one.
fn write(bytes: &mut [u8], (start, end): (usize, usize), at: usize, pseudo: &[u8]) {
    bytes[start + at..start + at + 2].fill(0);
    let sum = checksum(&[pseudo, &bytes[start..end]]);
    bytes[start + at..start + at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The transport header of a packet that is no fragment, and where what its checksum covers ends: in the IP packet, and in the frame.
fn whole_transport(frame: Frame<'_>, ip: &Ip) -> Option<(Transport, usize)> {
    if ip.more_fragments || ip.is_detour {
        return None;
    }
    let transport = find(frame)?;
    let end = transport.end.unwrap_or(ip.end());
    let fits = end <= ip.end() && end <= frame.len() && end >= transport.start + transport.least;
    fits.then_some((transport, end))
}

fn find(frame: Frame<'_>) -> Option<Transport> {
    if let Some(tcp) = tcp::find(frame) {
        return Some(Transport { start: tcp.start, least: 20, at: 16, end: None, number: tcp::NUMBER });
    }
    if let Some(udp) = udp::find(frame) {
        let end = udp.start + udp.length();
        return Some(Transport { start: udp.start, least: 8, at: 6, end: Some(end), number: udp::NUMBER });
    }
    let icmp = icmp::find(frame)?;
    Some(Transport { start: icmp.start, least: 8, at: 2, end: None, number: ip::find(frame)?.protocol })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071 § 3 has the sum of these bytes as ddf2; the others follow from what is said there of odd bytes and of nothing.
    #[test]
    fn sums_are_those_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&[&bytes]), !0xddf2);
        assert_eq!(checksum(&[&bytes[..4], &bytes[4..]]), !0xddf2);
        assert_eq!(checksum(&[&[0x12]]), !0x1200);
        assert_eq!(checksum(&[]), 0xffff);
    }
}
