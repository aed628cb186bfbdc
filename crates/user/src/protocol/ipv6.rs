//! The IPv6 header and its extension headers (RFC 8200 §§ 3 and 4).

use super::bytes::{array_at, u8_at, u16_at, u32_at};
use super::frame::Frame;
use super::ip::Ip;
use super::value::Value;

pub const ETHERTYPE: u16 = 0x86dd;

const FIXED_LENGTH: usize = 40;

/// The most extension headers that are passed over.
const EXTENSIONS: usize = 8;

/// Type and length of the option.
const JUMBO_PAYLOAD: [u8; 2] = [0xc2, 4];

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;

/// The header at `start`; `None` unless its version is 6 and its 40 bytes lie in the frame.
pub fn parse(frame: Frame<'_>, start: usize) -> Option<Ip> {
    let packet = frame.get(start..)?;
    let header = packet.get(..FIXED_LENGTH)?;
    let first = u32_at(header, 0)?;
    if first >> 28 != 6 {
        return None;
    }
    let passed = pass_over(packet, u8_at(header, 6)?);
    Some(Ip {
        version: 6,
        start,
        header_length: passed.length,
        length: FIXED_LENGTH + payload_length(packet, frame.is_of_wire)?,
        source: Value::ipv6(array_at(header, 8)?)?,
        destination: Value::ipv6(array_at(header, 24)?)?,
        traffic_class: (first >> 20) as u8,
        hop_limit: u8_at(header, 7)?,
        protocol: passed.protocol,
        id: passed.fragment.as_ref().map(|fragment| fragment.id),
        dont_fragment: None,
        more_fragments: passed.fragment.as_ref().is_some_and(|fragment| fragment.more),
        fragment_offset: passed.fragment.as_ref().map_or(0, |fragment| fragment.offset),
        flow: Some(first & 0x000f_ffff),
        checksum: None,
        is_detour: passed.is_detour,
    })
}

/// The length of what follows the fixed header: where its field is 0 that of the Jumbo Payload option, or all that is in the frame, if that
/// is more than the field could say, which neither is on the wire.
fn payload_length(packet: &[u8], is_of_wire: bool) -> Option<usize> {
    let most = usize::from(u16::MAX);
    match usize::from(u16_at(packet, 4)?) {
        0 if !is_of_wire => {
            let rest = Some(packet.len() - FIXED_LENGTH).filter(|rest| *rest > most);
            jumbo_payload(packet).filter(|length| *length > most).or(rest).or(Some(0))
        }
        stated => Some(stated),
    }
}

/// What the Jumbo Payload option says (RFC 2675 § 2), if it is the first hop-by-hop option.
fn jumbo_payload(packet: &[u8]) -> Option<usize> {
    let extension = packet.get(FIXED_LENGTH..)?;
    let is_there = u8_at(packet, 6)? == HOP_BY_HOP && array_at(extension, 2)? == JUMBO_PAYLOAD;
    if is_there { u32_at(extension, 4)?.try_into().ok() } else { None }
}

struct Extensions {
    /// The first header that was not passed over.
    protocol: u8,
    /// From the start of the IPv6 header to there.
    length: usize,
    fragment: Option<Fragment>,
    /// A routing header has segments left (RFC 8200 § 4.4).
    is_detour: bool,
}

struct Fragment {
    id: u32,
    /// In bytes.
    offset: u16,
    more: bool,
}

/// Passes over extension headers, the first of which is `protocol`.
fn pass_over(packet: &[u8], protocol: u8) -> Extensions {
    let mut passed = Extensions { protocol, length: FIXED_LENGTH, fragment: None, is_detour: false };
    for _ in 0..EXTENSIONS {
        let Some(extension) = packet.get(passed.length..).and_then(|rest| whole(rest, passed.protocol))
        else {
            break;
        };
        if passed.protocol == FRAGMENT {
            passed.fragment = fragment(extension);
        }
        if passed.protocol == ROUTING {
            passed.is_detour |= extension[3] != 0;
        }
        passed.protocol = extension[0];
        passed.length += extension.len();
        if passed.fragment.as_ref().is_some_and(|fragment| fragment.offset != 0) {
            break;
        }
    }
    passed
}

/// The extension header at the start of `rest`; `None` if `protocol` is not one, or it is truncated. Never empty.
fn whole(rest: &[u8], protocol: u8) -> Option<&[u8]> {
    let stated = usize::from(u8_at(rest, 1)?);
    let length = match protocol {
        HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY => (stated + 1) * 8,
        AUTHENTICATION => (stated + 2) * 4,
        FRAGMENT => 8,
        _ => return None,
    };
    rest.get(..length)
}

/// RFC 8200 § 4.5.
fn fragment(extension: &[u8]) -> Option<Fragment> {
    let offset_and_flags = u16_at(extension, 2)?;
    Some(Fragment {
        id: u32_at(extension, 4)?,
        offset: offset_and_flags & 0xfff8,
        more: offset_and_flags & 1 != 0,
    })
}
