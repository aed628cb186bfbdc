//! The TCP header (RFC 9293 § 3.1), options included.

use super::assign::{Assignment, Place, Sum, Takes};
use super::bytes::{u8_at, u16_at, u32_at};
use super::frame::Frame;
use super::ip;
use super::row::{Field, Protocol, View};
use super::value::Value;

pub const NUMBER: u8 = 6;

pub const PROTOCOL: Protocol = Protocol {
    name: "tcp",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "sport", read: |frame| Value::integer(u16_at(find(frame)?.header, 0)?) },
            Field { name: "dport", read: |frame| Value::integer(u16_at(find(frame)?.header, 2)?) },
            Field { name: "seq", read: |frame| Value::integer(u32_at(find(frame)?.header, 4)?) },
            Field { name: "ack", read: |frame| Value::integer(u32_at(find(frame)?.header, 8)?) },
            Field { name: "flags", read: |frame| Value::integer(flags(frame)?) },
            Field { name: "fin", read: |frame| Value::boolean(flags(frame)? & 0x01 != 0) },
            Field { name: "syn", read: |frame| Value::boolean(flags(frame)? & 0x02 != 0) },
            Field { name: "rst", read: |frame| Value::boolean(flags(frame)? & 0x04 != 0) },
            Field { name: "psh", read: |frame| Value::boolean(flags(frame)? & 0x08 != 0) },
            Field { name: "urg", read: |frame| Value::boolean(flags(frame)? & 0x20 != 0) },
            Field { name: "ece", read: |frame| Value::boolean(flags(frame)? & 0x40 != 0) },
            Field { name: "cwr", read: |frame| Value::boolean(flags(frame)? & 0x80 != 0) },
            Field { name: "window", read: |frame| Value::integer(u16_at(find(frame)?.header, 14)?) },
            Field { name: "checksum", read: |frame| Value::integer(u16_at(find(frame)?.header, 16)?) },
            Field { name: "urgent", read: |frame| Value::integer(u16_at(find(frame)?.header, 18)?) },
            Field { name: "header_length", read: |frame| Value::integer(find(frame)?.header.len() as i64) },
        ],
        assignments: &[
            Assignment { name: "sport", takes: Takes::Number(16), place: |frame| place(frame, 0, 2) },
            Assignment { name: "dport", takes: Takes::Number(16), place: |frame| place(frame, 2, 2) },
            Assignment { name: "seq", takes: Takes::Number(32), place: |frame| place(frame, 4, 4) },
            Assignment { name: "ack", takes: Takes::Number(32), place: |frame| place(frame, 8, 4) },
            Assignment { name: "flags", takes: Takes::Number(8), place: |frame| place(frame, 13, 1) },
            Assignment { name: "window", takes: Takes::Number(16), place: |frame| place(frame, 14, 2) },
            Assignment { name: "urgent", takes: Takes::Number(16), place: |frame| place(frame, 18, 2) },
            Assignment {
                name: "checksum",
                takes: Takes::Number(16),
                place: |frame| Place::new(find(frame)?.start + 16, 2, [None, None]),
            },
            Assignment {
                name: "fin",
                takes: Takes::Flag,
                place: |frame| Place::part(find(frame)?.start + 13, 1, (0, 1), [find(frame)?.sum(), None]),
            },
            Assignment {
                name: "syn",
                takes: Takes::Flag,
                place: |frame| Place::part(find(frame)?.start + 13, 1, (1, 1), [find(frame)?.sum(), None]),
            },
            Assignment {
                name: "rst",
                takes: Takes::Flag,
                place: |frame| Place::part(find(frame)?.start + 13, 1, (2, 1), [find(frame)?.sum(), None]),
            },
            Assignment {
                name: "psh",
                takes: Takes::Flag,
                place: |frame| Place::part(find(frame)?.start + 13, 1, (3, 1), [find(frame)?.sum(), None]),
            },
            Assignment {
                name: "urg",
                takes: Takes::Flag,
                place: |frame| Place::part(find(frame)?.start + 13, 1, (5, 1), [find(frame)?.sum(), None]),
            },
            Assignment {
                name: "ece",
                takes: Takes::Flag,
                place: |frame| Place::part(find(frame)?.start + 13, 1, (6, 1), [find(frame)?.sum(), None]),
            },
            Assignment {
                name: "cwr",
                takes: Takes::Flag,
                place: |frame| Place::part(find(frame)?.start + 13, 1, (7, 1), [find(frame)?.sum(), None]),
            },
        ],
    },
};

pub struct Tcp<'a> {
    /// The header with its options.
    pub header: &'a [u8],
    /// Offset of the header.
    pub start: usize,
    /// Offset of what follows it.
    pub end: usize,
}

/// `None` unless the header's stated length is at least 20 and it lies in the frame whole.
pub fn find(frame: Frame<'_>) -> Option<Tcp<'_>> {
    let start = ip::find(frame)?.transport(NUMBER)?;
    let segment = frame.bytes.get(start..)?;
    let length = usize::from(u8_at(segment, 12)? >> 4) * 4;
    if length < 20 {
        return None;
    }
    Some(Tcp { header: segment.get(..length)?, start, end: start + length })
}

/// CWR, ECE, URG, ACK, PSH, RST, SYN, FIN from the highest bit down.
fn flags(frame: Frame<'_>) -> Option<u8> {
    u8_at(find(frame)?.header, 13)
}

fn place(frame: Frame<'_>, at: usize, size: usize) -> Option<Place> {
    let tcp = find(frame)?;
    Place::new(tcp.start + at, size, [tcp.sum(), None])
}

impl Tcp<'_> {
    /// The checksum.
    pub fn sum(&self) -> Option<Sum> {
        Some(Sum { start: self.start, at: self.start + 16, optional: false })
    }
}
