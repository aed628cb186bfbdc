//! The TCP header (RFC 9293 § 3.1), options included.

use super::bytes::{u8_at, u16_at, u32_at};
use super::ip;
use super::row::{Field, Protocol, View};
use super::value::Value;

const NUMBER: u8 = 6;

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
    },
};

pub struct Tcp<'a> {
    /// The header with its options.
    pub header: &'a [u8],
    /// Offset of what follows it.
    pub end: usize,
}

/// `None` unless the header's stated length is at least 20 and it lies in the frame whole.
pub fn find(frame: &[u8]) -> Option<Tcp<'_>> {
    let start = ip::find(frame)?.transport(NUMBER)?;
    let segment = frame.get(start..)?;
    let length = usize::from(u8_at(segment, 12)? >> 4) * 4;
    if length < 20 {
        return None;
    }
    Some(Tcp { header: segment.get(..length)?, end: start + length })
}

/// CWR, ECE, URG, ACK, PSH, RST, SYN, FIN from the highest bit down.
fn flags(frame: &[u8]) -> Option<u8> {
    u8_at(find(frame)?.header, 13)
}
