//! The fields of `pkt.ip`.

use super::assign::{Assignment, Place, Sum, Takes};
use super::frame::Frame;
use super::ip::find;
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::{icmp, tcp, udp};

pub const PROTOCOL: Protocol = Protocol {
    name: "ip",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "version", read: |frame| Value::integer(find(frame)?.version) },
            Field { name: "src", read: |frame| Some(find(frame)?.source) },
            Field { name: "dst", read: |frame| Some(find(frame)?.destination) },
            Field { name: "tos", read: |frame| Value::integer(find(frame)?.traffic_class) },
            Field { name: "dscp", read: |frame| Value::integer(find(frame)?.traffic_class >> 2) },
            Field { name: "ecn", read: |frame| Value::integer(find(frame)?.traffic_class & 3) },
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
                place: |frame| bits(frame, traffic_class(0, 8)),
            },
            Assignment {
                name: "dscp",
                takes: Takes::Number(6),
                place: |frame| bits(frame, traffic_class(2, 6)),
            },
            Assignment {
                name: "ecn",
                takes: Takes::Number(2),
                place: |frame| bits(frame, traffic_class(0, 2)),
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

/// Bits of a header: the first byte, how many bytes, the lowest bit and how many.
type Bits = (usize, usize, u32, u32);

/// Bits of the octet that has DSCP in its upper six (RFC 2474) and ECN in its lower two (RFC 3168).
const fn traffic_class(shift: u32, bits: u32) -> [Option<Bits>; 2] {
    [Some((1, 1, shift, bits)), Some((0, 4, 20 + shift, bits))]
}

/// Bits of the header, under IPv4 and IPv6.
fn bits(frame: Frame<'_>, places: [Option<Bits>; 2]) -> Option<Place> {
    let ip = find(frame)?;
    let (at, size, shift, bits) = places[usize::from(ip.version == 6)]?;
    Place::part(ip.start + at, size, (shift, bits), [ip.sum(), None])
}

fn address(frame: Frame<'_>, places: [usize; 2]) -> Option<Place> {
    let ip = find(frame)?;
    let six = usize::from(ip.version == 6);
    Place::new(ip.start + places[six], [4, 16][six], [ip.sum(), sum_over_addresses(frame)])
}

/// The checksum of a transport header that covers the addresses of the IP header.
fn sum_over_addresses(frame: Frame<'_>) -> Option<Sum> {
    let six = find(frame)?.version == 6;
    let icmp = || six.then(|| icmp::find(frame)?.sum());
    tcp::find(frame)
        .and_then(|tcp| tcp.sum())
        .or_else(|| udp::find(frame)?.sum())
        .or_else(|| icmp().flatten())
}
