//! The internet protocol, either version: what the two headers have in common, and where the transport header is.

use super::assign::{Assignment, Place, Sum, Takes, sum_over_addresses};
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::{ipv4, ipv6, vlan};

/// What a version's own file finds in its header.
pub struct Ip {
    pub version: u8,
    /// Offset of the header in the frame.
    pub start: usize,
    /// The fixed header with its options (v4), or with the extension headers that were passed over (v6); bytes.
    pub header_length: usize,
    /// The whole packet as its header states it, in bytes; the frame may have fewer or more.
    pub length: usize,
    pub source: Value,
    pub destination: Value,
    pub traffic_class: u8,
    pub hop_limit: u8,
    /// The protocol of the payload; v6: of the header behind the extension headers.
    pub protocol: u8,
    /// Identification, from a v6 packet only if it has a fragment header.
    pub id: Option<u32>,
    /// v4 only.
    pub dont_fragment: Option<bool>,
    pub more_fragments: bool,
    /// In bytes.
    pub fragment_offset: u16,
    /// v6 only.
    pub flow: Option<u32>,
    /// v4 only.
    pub checksum: Option<u16>,
}

pub const PROTOCOL: Protocol = Protocol {
    name: "ip",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "version", read: |frame| Value::integer(find(frame)?.version) },
            Field { name: "src", read: |frame| Some(find(frame)?.source) },
            Field { name: "dst", read: |frame| Some(find(frame)?.destination) },
            Field { name: "tos", read: |frame| Value::integer(find(frame)?.traffic_class) },
            Field { name: "ttl", read: |frame| Value::integer(find(frame)?.hop_limit) },
            Field { name: "proto", read: |frame| Value::integer(find(frame)?.protocol) },
            Field { name: "length", read: |frame| Value::integer(find(frame)?.length as i64) },
            Field { name: "header_length", read: |frame| Value::integer(find(frame)?.header_length as i64) },
            Field { name: "id", read: |frame| Value::integer(find(frame)?.id?) },
            Field { name: "dont_fragment", read: |frame| Value::boolean(find(frame)?.dont_fragment?) },
            Field { name: "more_fragments", read: |frame| Value::boolean(find(frame)?.more_fragments) },
            Field { name: "fragment_offset", read: |frame| Value::integer(find(frame)?.fragment_offset) },
            Field { name: "flow", read: |frame| Value::integer(find(frame)?.flow?) },
            Field { name: "checksum", read: |frame| Value::integer(find(frame)?.checksum?) },
        ],
        assignments: &[
            Assignment { name: "src", takes: Takes::Address, place: |frame| address(frame, [12, 8]) },
            Assignment { name: "dst", takes: Takes::Address, place: |frame| address(frame, [16, 24]) },
            Assignment {
                name: "tos",
                takes: Takes::Number(8),
                place: |frame| bits(frame, [Some((1, 1, 0, 8)), Some((0, 4, 20, 8))]),
            },
            Assignment {
                name: "ttl",
                takes: Takes::Number(8),
                place: |frame| bits(frame, [Some((8, 1, 0, 8)), Some((7, 1, 0, 8))]),
            },
            Assignment {
                name: "id",
                takes: Takes::Number(16),
                place: |frame| bits(frame, [Some((4, 2, 0, 16)), None]),
            },
            Assignment {
                name: "dont_fragment",
                takes: Takes::Flag,
                place: |frame| bits(frame, [Some((6, 2, 14, 1)), None]),
            },
            Assignment {
                name: "flow",
                takes: Takes::Number(20),
                place: |frame| bits(frame, [None, Some((0, 4, 0, 20))]),
            },
            Assignment {
                name: "checksum",
                takes: Takes::Number(16),
                place: |frame| {
                    let ip = find(frame)?;
                    Place::new(ip.sum()?.at, 2, [None, None])
                },
            },
        ],
    },
};

pub fn find(frame: &[u8]) -> Option<Ip> {
    match vlan::network(frame)? {
        (ipv4::ETHERTYPE, start) => ipv4::parse(frame, start),
        (ipv6::ETHERTYPE, start) => ipv6::parse(frame, start),
        _ => None,
    }
}

impl Ip {
    /// Where the header of `protocol` starts, if that is what this packet carries and it is not a later fragment.
    pub fn transport(&self, protocol: u8) -> Option<usize> {
        (self.protocol == protocol && self.fragment_offset == 0).then_some(self.start + self.header_length)
    }

    /// The header's own checksum, of which IPv6 has none.
    fn sum(&self) -> Option<Sum> {
        (self.version == 4).then_some(Sum { start: self.start, at: self.start + 10, optional: false })
    }

    /// Where the packet ends by its own account.
    pub fn end(&self) -> usize {
        self.start + self.length
    }
}

/// Bits of the header: under IPv4 and IPv6 the first byte, how many bytes, the lowest bit and how many.
fn bits(frame: &[u8], places: [Option<(usize, usize, u32, u32)>; 2]) -> Option<Place> {
    let ip = find(frame)?;
    let (at, size, shift, bits) = places[usize::from(ip.version == 6)]?;
    Place::part(ip.start + at, size, (shift, bits), [ip.sum(), None])
}

fn address(frame: &[u8], places: [usize; 2]) -> Option<Place> {
    let ip = find(frame)?;
    let six = usize::from(ip.version == 6);
    Place::new(ip.start + places[six], [4, 16][six], [ip.sum(), sum_over_addresses(frame)])
}
