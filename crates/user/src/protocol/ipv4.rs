//! The IPv4 header (RFC 791 § 3.1), options included.

use super::bytes::{array_at, u8_at, u16_at};
use super::frame::Frame;
use super::ip::Ip;
use super::value::Value;

pub const ETHERTYPE: u16 = 0x0800;

/// The header at `start`; `None` unless its version is 4, its length at least 20, and it lies in the frame whole.
pub fn parse(frame: Frame<'_>, start: usize) -> Option<Ip> {
    let packet = frame.get(start..)?;
    let first = u8_at(packet, 0)?;
    let header_length = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || header_length < 20 {
        return None;
    }
    let header = packet.get(..header_length)?;
    let fragment = u16_at(header, 6)?;
    Some(Ip {
        version: 4,
        start,
        header_length,
        length: total_length(packet, frame.is_of_wire)?,
        source: Value::ipv4(array_at(header, 12)?)?,
        destination: Value::ipv4(array_at(header, 16)?)?,
        traffic_class: u8_at(header, 1)?,
        hop_limit: u8_at(header, 8)?,
        protocol: u8_at(header, 9)?,
        id: Some(u32::from(u16_at(header, 4)?)),
        dont_fragment: Some(fragment & 0x4000 != 0),
        more_fragments: fragment & 0x2000 != 0,
        fragment_offset: (fragment & 0x1fff) * 8,
        flow: None,
        checksum: Some(u16_at(header, 10)?),
        is_detour: false,
    })
}

/// The field; where it is 0 all that is in the frame, if that is more than the field could say, which it is not on the wire.
fn total_length(packet: &[u8], is_of_wire: bool) -> Option<usize> {
    match u16_at(packet, 2)? {
        0 if !is_of_wire && packet.len() > usize::from(u16::MAX) => Some(packet.len()),
        stated => Some(stated.into()),
    }
}
