//! The UDP header (RFC 768).

use super::assign::{Assignment, Place, Sum, Takes};
use super::bytes::u16_at;
use super::frame::Frame;
use super::ip;
use super::row::{Field, Protocol, View};
use super::value::Value;

pub const NUMBER: u8 = 17;
const LENGTH: usize = 8;

pub const PROTOCOL: Protocol = Protocol {
    name: "udp",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "sport", read: |frame| Value::integer(u16_at(find(frame)?.header, 0)?) },
            Field { name: "dport", read: |frame| Value::integer(u16_at(find(frame)?.header, 2)?) },
            Field { name: "length", read: |frame| Value::integer(u16_at(find(frame)?.header, 4)?) },
            Field { name: "checksum", read: |frame| Value::integer(u16_at(find(frame)?.header, 6)?) },
        ],
        assignments: &[
            Assignment { name: "sport", takes: Takes::Number(16), place: |frame| place(frame, 0, 2) },
            Assignment { name: "dport", takes: Takes::Number(16), place: |frame| place(frame, 2, 2) },
            Assignment {
                name: "checksum",
                takes: Takes::Number(16),
                place: |frame| Place::new(find(frame)?.start + 6, 2, [None, None]),
            },
        ],
    },
};

pub struct Udp<'a> {
    pub header: &'a [u8],
    /// Offset of the header.
    pub start: usize,
    /// Offset of what follows it.
    pub end: usize,
}

pub fn find(frame: Frame<'_>) -> Option<Udp<'_>> {
    let start = ip::find(frame)?.transport(NUMBER)?;
    let end = start + LENGTH;
    Some(Udp { header: frame.bytes.get(start..end)?, start, end })
}

impl Udp<'_> {
    /// The length that the header states.
    pub fn length(&self) -> usize {
        u16_at(self.header, 4).map_or(0, usize::from)
    }

    /// Source and destination.
    pub fn ports(&self) -> Option<[u16; 2]> {
        Some([u16_at(self.header, 0)?, u16_at(self.header, 2)?])
    }

    /// Where the datagram ends by its own account; `None` where the stated length is less than the header's.
    pub fn stated_end(&self) -> Option<usize> {
        (self.length() >= LENGTH).then_some(self.start + self.length())
    }
}

fn place(frame: Frame<'_>, at: usize, size: usize) -> Option<Place> {
    let udp = find(frame)?;
    Place::new(udp.start + at, size, [udp.sum(), None])
}

impl Udp<'_> {
    /// The checksum.
    pub fn sum(&self) -> Option<Sum> {
        Some(Sum { start: self.start, at: self.start + 6, optional: true })
    }
}
