//! What captures hold besides Ethernet frames (<https://www.tcpdump.org/linktypes.html>): packets that get an Ethernet header in the place of
//! what they have, for handlers see frames with one. Addresses that are not known are 0.

use crate::ETHERNET;

/// Makes an Ethernet frame of a packet; `None` of what carries nothing that an Ethernet frame could.
type Convert = fn(&[u8]) -> Option<Vec<u8>>;

/// A link type whose packets can be Ethernet frames.
pub struct Link {
    number: u32,
    convert: Convert,
}

const LINKS: &[Link] = &[
    Link { number: ETHERNET, convert: |packet| Some(packet.to_vec()) },
    Link { number: 0, convert: loopback },
    Link { number: 12, convert: raw },
    Link { number: 14, convert: raw },
    Link { number: 101, convert: raw },
    Link { number: 105, convert: |packet| wireless(packet, false) },
    Link { number: 108, convert: loopback },
    Link { number: 113, convert: cooked },
    Link { number: 127, convert: radiotap },
    Link { number: 228, convert: raw },
    Link { number: 229, convert: raw },
    Link { number: 276, convert: cooked_2 },
];

/// Of a link type that can be read.
pub fn link(number: u32) -> Option<&'static Link> {
    LINKS.iter().find(|link| link.number == number)
}

impl Link {
    /// The frame, and how many bytes of it there were on the wire, where there were `original_length` of the packet.
    pub fn frame(&self, packet: Vec<u8>, original_length: u32) -> Option<(Vec<u8>, u32)> {
        if self.number == ETHERNET {
            return Some((packet, original_length));
        }
        let frame = (self.convert)(&packet)?;
        let missing = original_length.saturating_sub(u32::try_from(packet.len()).unwrap_or(u32::MAX));
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX).saturating_add(missing);
        Some((frame, length))
    }
}

fn ethernet(to: &[u8], from: &[u8], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [to, from, &ethertype.to_be_bytes(), payload].concat()
}

const NOBODY: [u8; 6] = [0; 6];

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// An IP packet, whose version says which.
fn raw(packet: &[u8]) -> Option<Vec<u8>> {
    let ethertype = match packet.first()? >> 4 {
        4 => 0x0800,
        6 => 0x86dd,
        _ => return None,
    };
    Some(ethernet(&NOBODY, &NOBODY, ethertype, packet))
}

/// Behind an address family of 4 bytes, whose number depends on the system.
fn loopback(packet: &[u8]) -> Option<Vec<u8>> {
    raw(packet.get(4..)?)
}

/// What `tcpdump -i any` writes: packet type, device type, length of the sender's address, 8 bytes for it, protocol.
fn cooked(packet: &[u8]) -> Option<Vec<u8>> {
    let (length, address) = (word(packet, 4)?, packet.get(6..14)?);
    cooked_frame(length, address, word(packet, 14)?, &packet[16..])
}

/// Its second version: protocol, 2 bytes reserved, interface, device type, packet type, length of the sender's address, 8 bytes for it.
fn cooked_2(packet: &[u8]) -> Option<Vec<u8>> {
    let (length, address) = (*packet.get(11)?, packet.get(12..20)?);
    cooked_frame(length.into(), address, word(packet, 0)?, &packet[20..])
}

fn cooked_frame(length: u16, address: &[u8], protocol: u16, payload: &[u8]) -> Option<Vec<u8>> {
    /// The least number that is a type of Ethernet; below are Linux' own (`ETH_P_802_3_MIN`), of which 1 and 4 are frames with lengths.
    const TYPES: u16 = 0x600;
    const LENGTHS: [u16; 2] = [1, 4];
    let from = if length == 6 { &address[..6] } else { &NOBODY };
    let ethertype = match protocol {
        protocol if protocol >= TYPES => protocol,
        protocol if LENGTHS.contains(&protocol) => {
            u16::try_from(payload.len()).ok().filter(|n| *n < TYPES)?
        }
        _ => return None,
    };
    Some(ethernet(&NOBODY, from, ethertype, payload))
}

/// An 802.11 frame behind what the card says of it (<https://www.radiotap.org>): version, padding, length, and bits that say which fields follow.
fn radiotap(packet: &[u8]) -> Option<Vec<u8>> {
    const HEADER: usize = 4;
    /// There is another word of such bits.
    const MORE: u32 = 1 << 31;
    /// The time in 8 bytes, and flags.
    const TIME: u32 = 1;
    const FLAGS: u32 = 1 << 1;
    /// The frame check sequence is at the end.
    const CHECK: u8 = 0x10;
    /// Padding between the 802.11 header and what follows.
    const PADDED: u8 = 0x20;
    let length = usize::from(u16::from_le_bytes([*packet.get(2)?, *packet.get(3)?]));
    let header = packet.get(..length)?;
    let present = |at: usize| Some(u32::from_le_bytes(*header.get(at..)?.first_chunk()?));
    let first = present(HEADER)?;
    let (mut at, mut last) = (HEADER + 4, first);
    while last & MORE != 0 {
        last = present(at)?;
        at += 4;
    }
    if first & TIME != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    let flags = if first & FLAGS != 0 { *header.get(at)? } else { 0 };
    let frame = &packet[length..];
    let end = if flags & CHECK != 0 { frame.len().checked_sub(4)? } else { frame.len() };
    wireless(&frame[..end], flags & PADDED != 0)
}

/// Data in an 802.11 frame (IEEE 802.11 § 9.3.2) with an LLC header that has a type of Ethernet (RFC 1042). Frames that manage the network,
/// carry nothing, several packets or encrypted ones have no such packet.
fn wireless(frame: &[u8], padded: bool) -> Option<Vec<u8>> {
    const DATA: u8 = 2;
    const EMPTY: u8 = 4;
    const QUALITY: u8 = 8;
    const TO: u8 = 0x01;
    const FROM: u8 = 0x02;
    const ENCRYPTED: u8 = 0x40;
    const ORDER: u8 = 0x80;
    const SEVERAL: u8 = 0x80;
    const LLC: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
    let [control, flags] = *frame.first_chunk()?;
    let (kind, subtype) = (control >> 2 & 3, control >> 4);
    if kind != DATA || subtype & EMPTY != 0 || flags & ENCRYPTED != 0 {
        return None;
    }
    let address = |number: usize| frame.get([4, 10, 16, 24][number]..)?.get(..6);
    let both = flags & (TO | FROM) == TO | FROM;
    let mut length = if both { 30 } else { 24 };
    if subtype & QUALITY != 0 {
        if frame.get(length)? & SEVERAL != 0 {
            return None;
        }
        length += if flags & ORDER != 0 { 6 } else { 2 };
    }
    if padded {
        length = length.next_multiple_of(4);
    }
    let to = address(if flags & TO != 0 { 2 } else { 0 })?;
    let from = match (flags & TO != 0, flags & FROM != 0) {
        (_, false) => address(1)?,
        (false, true) => address(2)?,
        (true, true) => address(3)?,
    };
    let rest = frame.get(length..)?;
    let payload = rest.strip_prefix(&LLC)?;
    Some(ethernet(to, from, word(payload, 0)?, &payload[2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: [u8; 5] = [0x45, 0, 0, 5, 9];

    /// The frame of a packet, and what it is long; a byte of the packet was not captured.
    fn made(number: u32, packet: &[u8]) -> Option<(Vec<u8>, u32)> {
        // Every truncation is some frame or none.
        (0..packet.len()).for_each(|length| drop(link(number).unwrap().frame(packet[..length].to_vec(), 9)));
        link(number).unwrap().frame(packet.to_vec(), packet.len() as u32 + 1)
    }

    fn framed(to: u8, from: u8, ethertype: u16, payload: &[u8]) -> Option<(Vec<u8>, u32)> {
        let frame = ethernet(&[to; 6], &[from; 6], ethertype, payload);
        let length = frame.len() as u32 + 1;
        Some((frame, length))
    }

    #[test]
    fn packets_without_a_link_get_a_header() {
        for number in [12, 14, 101, 228, 229] {
            assert_eq!(made(number, &IP), framed(0, 0, 0x0800, &IP));
            assert_eq!(made(number, &[0x61]), framed(0, 0, 0x86dd, &[0x61]));
            assert_eq!((made(number, &[0x51]), made(number, &[])), (None, None));
        }
        for number in [0, 108] {
            assert_eq!(made(number, &[&[2, 0, 0, 0], &IP[..]].concat()), framed(0, 0, 0x0800, &IP));
        }
        assert_eq!(made(1, &[1, 2]), Some((vec![1, 2], 3)));
        assert!(link(195).is_none());
    }

    #[test]
    fn cooked_packets_keep_the_sender() {
        let cooked = |length: u8, protocol: [u8; 2]| {
            [&[0, 0, 0, 1, 0, length], &[7; 6][..], &[0, 0], &protocol, &IP].concat()
        };
        assert_eq!(made(113, &cooked(6, [8, 0])), framed(0, 7, 0x0800, &IP));
        assert_eq!(made(113, &cooked(8, [8, 0])), framed(0, 0, 0x0800, &IP));
        assert_eq!(made(113, &cooked(6, [0, 4])), framed(0, 7, 5, &IP));
        assert_eq!(made(113, &cooked(6, [0, 12])), None);
        let second = [&[0x86, 0xdd, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6], &[7; 6][..], &[0, 0], &IP].concat();
        assert_eq!(made(276, &second), framed(0, 7, 0x86dd, &IP));
    }

    /// Data of an 802.11 frame with its addresses 1, 2, 3 and 4.
    fn wireless_frame(control: u8, flags: u8, quality: &[u8]) -> Vec<u8> {
        let fourth: &[u8] = if flags & 3 == 3 { &[4; 6] } else { &[] };
        let llc = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        [&[control, flags, 0, 0], &[1; 6][..], &[2; 6], &[3; 6], &[0, 0], fourth, quality, &llc, &IP].concat()
    }

    #[test]
    fn data_of_wireless_networks_has_its_ends() {
        let frame = |flags| made(105, &wireless_frame(0x08, flags, &[]));
        assert_eq!(frame(0), framed(1, 2, 0x0800, &IP));
        assert_eq!(frame(1), framed(3, 2, 0x0800, &IP));
        assert_eq!(frame(2), framed(1, 3, 0x0800, &IP));
        assert_eq!(frame(3), framed(3, 4, 0x0800, &IP));
        assert_eq!(frame(0x40), None, "encrypted");
        assert_eq!(made(105, &wireless_frame(0x88, 1, &[0, 0])), framed(3, 2, 0x0800, &IP));
        assert_eq!(made(105, &wireless_frame(0x88, 0x81, &[0; 6])), framed(3, 2, 0x0800, &IP));
        assert_eq!(made(105, &wireless_frame(0x88, 1, &[0x80, 0])), None, "several packets");
        for control in [0x80, 0x48, 0xd4] {
            assert_eq!(made(105, &wireless_frame(control, 0, &[])), None);
        }
    }

    #[test]
    fn what_the_card_says_is_passed_over() {
        let frame = wireless_frame(0x08, 1, &[]);
        let plain = [&[0, 0, 8, 0, 0, 0, 0, 0], &frame[..]].concat();
        assert_eq!(made(127, &plain), framed(3, 2, 0x0800, &IP));
        // Two words of bits, the time, which is aligned, and flags: there is a check sequence.
        let header = [0, 0, 26, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0];
        let checked = [&header, &frame[..], &[9; 4]].concat();
        assert_eq!(made(127, &checked), framed(3, 2, 0x0800, &IP));
        let padded = [&[0, 0, 9, 0, 2, 0, 0, 0, 0x20], &wireless_frame(0x88, 1, &[0, 0, 5, 5])[..]].concat();
        assert_eq!(made(127, &padded), framed(3, 2, 0x0800, &IP));
        assert_eq!(made(127, &[0, 0, 200, 0]), None);
    }
}
