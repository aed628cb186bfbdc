//! ARP (RFC 826), for IPv4 over Ethernet.

use super::assign::{Assignment, Place, Takes};
use super::bytes::{array_at, u16_at};
use super::frame::Frame;
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::vlan;

const ETHERTYPE: u16 = 0x0806;
const LENGTH: usize = 28;

/// Hardware type Ethernet, protocol type IPv4, and the lengths of their addresses.
const BEGINNING: [u8; 6] = [0, 1, 8, 0, 6, 4];

pub const PROTOCOL: Protocol = Protocol {
    name: "arp",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "op", read: |frame| Value::integer(u16_at(find(frame)?.1, 6)?) },
            Field { name: "sender_mac", read: |frame| Value::mac(array_at(find(frame)?.1, 8)?) },
            Field { name: "sender", read: |frame| Value::ipv4(array_at(find(frame)?.1, 14)?) },
            Field { name: "target_mac", read: |frame| Value::mac(array_at(find(frame)?.1, 18)?) },
            Field { name: "target", read: |frame| Value::ipv4(array_at(find(frame)?.1, 24)?) },
        ],
        assignments: &[
            Assignment { name: "op", takes: Takes::Number(16), place: |frame| place(frame, 6, 2) },
            Assignment { name: "sender_mac", takes: Takes::Mac, place: |frame| place(frame, 8, 6) },
            Assignment { name: "sender", takes: Takes::Ipv4, place: |frame| place(frame, 14, 4) },
            Assignment { name: "target_mac", takes: Takes::Mac, place: |frame| place(frame, 18, 6) },
            Assignment { name: "target", takes: Takes::Ipv4, place: |frame| place(frame, 24, 4) },
        ],
    },
};

/// Where the packet starts, and its bytes.
fn find(frame: Frame<'_>) -> Option<(usize, &[u8])> {
    let (ETHERTYPE, start) = vlan::network(frame)? else { return None };
    let packet = frame.bytes.get(start..start + LENGTH)?;
    packet.starts_with(&BEGINNING).then_some((start, packet))
}

fn place(frame: Frame<'_>, at: usize, size: usize) -> Option<Place> {
    Place::new(find(frame)?.0 + at, size, [None, None])
}
