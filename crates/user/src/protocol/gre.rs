//! Generic routing encapsulation (RFC 2784 § 2, RFC 2890 § 2).

use super::bytes::{u16_at, u32_at};
use super::frame::Frame;
use super::ip;
use super::row::{Field, Protocol, View};
use super::value::Value;

pub const NUMBER: u8 = 47;

pub const PROTOCOL: Protocol = Protocol {
    name: "gre",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "type", read: |frame| Value::integer(find(frame)?.kind) },
            Field { name: "checksum", read: |frame| Value::integer(find(frame)?.checksum?) },
            Field { name: "key", read: |frame| Value::integer(find(frame)?.key?) },
            Field { name: "seq", read: |frame| Value::integer(find(frame)?.sequence?) },
        ],
        assignments: &[],
    },
};

struct Gre {
    kind: u16,
    checksum: Option<u16>,
    key: Option<u32>,
    sequence: Option<u32>,
    /// Offset of what follows.
    end: usize,
}

/// The type of what follows, and where that starts.
pub fn behind(frame: Frame<'_>) -> Option<(u16, usize)> {
    find(frame).map(|gre| (gre.kind, gre.end))
}

fn find(frame: Frame<'_>) -> Option<Gre> {
    let start = ip::find(frame)?.transport(NUMBER)?;
    let header = frame.bytes.get(start..)?;
    let flags = u16_at(header, 0)?;
    // Routing, strict source route, recursion control and the version: all of them are 0 in what RFC 2784 describes.
    if flags & 0b0100_1100_0000_0111 != 0 {
        return None;
    }
    let kind = u16_at(header, 2)?;
    let mut at = 4;
    let mut part = |bit: u16| {
        if flags & bit == 0 {
            return Some(None);
        }
        let value = u32_at(header, at)?;
        at += 4;
        Some(Some(value))
    };
    let checksum = part(0x8000)?.map(|word| (word >> 16) as u16);
    let (key, sequence) = (part(0x2000)?, part(0x1000)?);
    Some(Gre { kind, checksum, key, sequence, end: start + at })
}
