//! ICMP (RFC 792) and ICMPv6 (RFC 4443): the 8 bytes that all messages start with.

use super::assign::{Assignment, Place, Sum, Takes};
use super::bytes::{u8_at, u16_at};
use super::frame::Frame;
use super::ip;
use super::neighbours;
use super::row::{Field, Protocol, View};
use super::value::Value;

pub const NUMBER_V4: u8 = 1;
const NUMBER_V6: u8 = 58;
const LENGTH: usize = 8;

pub const PROTOCOL: Protocol = Protocol {
    name: "icmp",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "type", read: |frame| Value::integer(u8_at(find(frame)?.header, 0)?) },
            Field { name: "code", read: |frame| Value::integer(u8_at(find(frame)?.header, 1)?) },
            Field { name: "checksum", read: |frame| Value::integer(u16_at(find(frame)?.header, 2)?) },
            Field { name: "id", read: |frame| Value::integer(u16_at(find(frame)?.header, 4)?) },
            Field { name: "seq", read: |frame| Value::integer(u16_at(find(frame)?.header, 6)?) },
            Field { name: "target", read: neighbours::target },
            Field { name: "link_address", read: neighbours::link_address },
            Field { name: "source_link_address", read: neighbours::source_link_address },
            Field { name: "target_link_address", read: neighbours::target_link_address },
            Field { name: "prefix", read: neighbours::prefix },
            Field { name: "prefix_length", read: neighbours::prefix_length },
            Field { name: "mtu", read: neighbours::mtu },
            Field { name: "dns_server", read: neighbours::dns_server },
        ],
        assignments: &[
            Assignment { name: "type", takes: Takes::Number(8), place: |frame| place(frame, 0, 1) },
            Assignment { name: "code", takes: Takes::Number(8), place: |frame| place(frame, 1, 1) },
            Assignment { name: "id", takes: Takes::Number(16), place: |frame| place(frame, 4, 2) },
            Assignment { name: "seq", takes: Takes::Number(16), place: |frame| place(frame, 6, 2) },
            Assignment {
                name: "checksum",
                takes: Takes::Number(16),
                place: |frame| Place::new(find(frame)?.start + 2, 2, [None, None]),
            },
        ],
    },
};

pub struct Icmp<'a> {
    pub header: &'a [u8],
    /// Offset of the header.
    pub start: usize,
    /// Offset of what follows it.
    pub end: usize,
}

/// Each version of IP has its own ICMP; the other's number means nothing to it.
pub fn find(frame: Frame<'_>) -> Option<Icmp<'_>> {
    let ip = ip::find(frame)?;
    let start = ip.transport(if ip.version == 4 { NUMBER_V4 } else { NUMBER_V6 })?;
    let end = start + LENGTH;
    Some(Icmp { header: frame.bytes.get(start..end)?, start, end })
}

fn place(frame: Frame<'_>, at: usize, size: usize) -> Option<Place> {
    let icmp = find(frame)?;
    Place::new(icmp.start + at, size, [icmp.sum(), None])
}

impl Icmp<'_> {
    /// The checksum.
    pub fn sum(&self) -> Option<Sum> {
        Some(Sum { start: self.start, at: self.start + 2, optional: false })
    }
}
