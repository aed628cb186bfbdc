//! `skb:checksum()`: what Lunatik's (`luaskb_checksum`) makes of a packet, that is the checksum of IPv4's header, and that of TCP or UDP where one stands right behind the fixed
//! header, whatever else there may be. What it covers ends where the IP header says. Fragments have none of their own, and keep what they have.

use crate::protocol::checksums::checksum;
use crate::protocol::{tcp, udp};
use std::ops::Range;

/// Bytes of an IPv4 header without options, and of an IPv6 header.
const IPV4: usize = 20;
const IPV6: usize = 40;

/// Bits of a fragment's offset, and that more follow (RFC 791 § 3.1).
const FRAGMENT: u16 = 0x3fff;

/// A segment of TCP or a datagram of UDP: where it is, the number of its protocol, and where the packet has its addresses.
struct Segment {
    range: Range<usize>,
    protocol: u8,
    addresses: Range<usize>,
}

/// Computes the checksums of a packet, from its IP header on, of what it has all that they cover.
pub fn fix(packet: &mut [u8]) {
    let segment = match packet.first().map(|first| first >> 4) {
        Some(4) => of_ipv4(packet),
        Some(6) => of_ipv6(packet),
        _ => None,
    };
    let Some(Segment { range, protocol, addresses }) = segment else { return };
    let (least, at) = if protocol == tcp::NUMBER { (20, 16) } else { (8, 6) };
    if range.end > packet.len() || range.end < range.start + least {
        return;
    }
    let length = (range.len() as u32).to_be_bytes();
    let place = range.start + at;
    packet[place..place + 2].fill(0);
    let sum = checksum(&[&packet[addresses], &length, &[0, protocol], &packet[range]]);
    // 0 says that there is none (RFC 768).
    let sum = if sum == 0 && protocol == udp::NUMBER { 0xffff } else { sum };
    packet[place..place + 2].copy_from_slice(&sum.to_be_bytes());
}

fn of_ipv4(packet: &mut [u8]) -> Option<Segment> {
    let start = usize::from(packet[0] & 15) * 4;
    if start < IPV4 || start > packet.len() {
        return None;
    }
    packet[10..12].fill(0);
    let sum = checksum(&[&packet[..start]]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let is_fragment = word(packet, 6) & FRAGMENT != 0;
    let end = usize::from(word(packet, 2));
    segment(start..end, packet[9], 12..20).filter(|_| !is_fragment)
}

fn of_ipv6(packet: &[u8]) -> Option<Segment> {
    if packet.len() < IPV6 {
        return None;
    }
    segment(IPV6..IPV6 + usize::from(word(packet, 4)), packet[6], 8..IPV6)
}

fn segment(range: Range<usize>, protocol: u8, addresses: Range<usize>) -> Option<Segment> {
    [tcp::NUMBER, udp::NUMBER].contains(&protocol).then_some(Segment { range, protocol, addresses })
}

fn word(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header for that protocol, with that flags' word, and 20 bytes behind it; or an IPv6 header.
    fn packet(version: u8, protocol: u8, flags: u16) -> Vec<u8> {
        let mut packet = vec![0; if version == 4 { IPV4 } else { IPV6 }];
        packet[0] = if version == 4 { 0x45 } else { 0x60 };
        let flags = flags.to_be_bytes();
        match version {
            4 => (packet[3], packet[6], packet[7], packet[9]) = (40, flags[0], flags[1], protocol),
            _ => (packet[5], packet[6]) = (20, protocol),
        }
        packet.extend(1..=20);
        packet
    }

    #[test]
    fn what_is_right_behind_the_fixed_header_is_summed_up() {
        for (version, protocol, flags, is_fixed) in [
            (4, 6, 0, true),
            (4, 17, 0x4000, true),
            (6, 6, 0, true),
            (6, 17, 0, true),
            // Fragments, ICMP, and what stands behind other headers.
            (4, 6, 0x2000, false),
            (4, 17, 7, false),
            (4, 1, 0, false),
            (6, 58, 0, false),
            (6, 0, 0, false),
        ] {
            let (mut fixed, before) = (packet(version, protocol, flags), packet(version, protocol, flags));
            fix(&mut fixed);
            let start = if version == 4 { IPV4 } else { IPV6 };
            assert_eq!(fixed[start..] != before[start..], is_fixed, "{version} {protocol} {flags:#x}");
            if version == 4 {
                assert_eq!(checksum(&[&fixed[..start]]), 0, "{protocol}");
            }
            if is_fixed {
                let addresses = if version == 4 { 12..20 } else { 8..IPV6 };
                let pseudo = [0, 0, 0, 20, 0, protocol];
                assert_eq!(
                    checksum(&[&fixed[addresses], &pseudo, &fixed[start..]]),
                    0,
                    "{version} {protocol}"
                );
            }
        }
    }

    #[test]
    fn what_is_not_all_there_keeps_its_sums() {
        for length in 0..39 {
            let mut cut = packet(4, 6, 0)[..length].to_vec();
            let before = cut.clone();
            fix(&mut cut);
            assert_eq!(cut.get(20..), before.get(20..), "{length}");
        }
        for length in 0..59 {
            let mut cut = packet(6, 6, 0)[..length].to_vec();
            let before = cut.clone();
            fix(&mut cut);
            assert_eq!(cut, before, "{length}");
        }
    }
}
