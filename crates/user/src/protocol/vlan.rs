//! VLAN tags (IEEE 802.1Q § 9.6): 3 bits priority, 1 bit drop-eligible, 12 bits id, then the type of what follows.

use super::assign::{Assignment, Place, Takes};
use super::bytes::u16_at;
use super::eth;
use super::frame::Frame;
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::{ipv4, ipv6};
use moonhook_hook::Layer;

/// Bytes of a tag, counted from its control information to the type after it.
const LENGTH: usize = 4;

/// The most tags that are looked at.
const TAGS: usize = 2;

pub const PROTOCOL: Protocol = Protocol {
    name: "vlan",
    view: View::Header {
        present: |frame| outer(frame).is_some(),
        fields: &[
            Field { name: "id", read: |frame| Value::integer(outer(frame)?.id()) },
            Field { name: "priority", read: |frame| Value::integer(outer(frame)?.control >> 13) },
            Field { name: "dei", read: |frame| Value::boolean(outer(frame)?.control & 0x1000 != 0) },
            Field { name: "type", read: |frame| Value::integer(outer(frame)?.ethertype) },
            Field { name: "inner_id", read: |frame| Value::integer(inner(frame)?.id()) },
        ],
        assignments: &[
            Assignment { name: "id", takes: Takes::Number(12), place: |frame| control(frame, (0, 12)) },
            Assignment { name: "priority", takes: Takes::Number(3), place: |frame| control(frame, (13, 3)) },
            Assignment { name: "dei", takes: Takes::Flag, place: |frame| control(frame, (12, 1)) },
            Assignment {
                name: "type",
                takes: Takes::Number(16),
                place: |frame| {
                    let at = if frame.beside.is_some() { eth::LENGTH - 2 } else { eth::LENGTH + 2 };
                    outer(frame).and_then(|_| Place::new(at, 2, [None, None]))
                },
            },
        ],
    },
};

struct Tag {
    control: u16,
    /// The ethertype after the tag.
    ethertype: u16,
}

impl Tag {
    fn id(&self) -> u16 {
        self.control & 0x0fff
    }
}

pub fn is_tag(ethertype: u16) -> bool {
    matches!(ethertype, 0x8100 | 0x88a8)
}

fn tag_at(frame: &[u8], at: usize) -> Option<Tag> {
    Some(Tag { control: u16_at(frame, at)?, ethertype: u16_at(frame, at + 2)? })
}

/// The tag beside the packet, or else the first one among the bytes.
fn outer(frame: Frame<'_>) -> Option<Tag> {
    match frame.beside {
        Some(beside) => Some(Tag { control: beside.control, ethertype: eth::ethertype(frame)? }),
        None => first(frame),
    }
}

fn first(frame: Frame<'_>) -> Option<Tag> {
    is_tag(eth::ethertype(frame)?).then(|| tag_at(frame.bytes, eth::LENGTH))?
}

fn inner(frame: Frame<'_>) -> Option<Tag> {
    if frame.beside.is_some() {
        return first(frame);
    }
    is_tag(outer(frame)?.ethertype).then(|| tag_at(frame.bytes, eth::LENGTH + LENGTH))?
}

/// The ethertype after at most two tags, and where its header starts. `None` where the header that holds the ethertype
/// is not whole in the frame.
pub fn network(frame: Frame<'_>) -> Option<(u16, usize)> {
    if frame.layer == Layer::Network {
        let version = frame.first()? >> 4;
        let of_ip = [(4, ipv4::ETHERTYPE), (6, ipv6::ETHERTYPE)];
        return of_ip.into_iter().find(|(number, _)| *number == version).map(|(_, ethertype)| (ethertype, 0));
    }
    let mut ethertype = eth::ethertype(frame)?;
    let mut at = eth::LENGTH;
    for _ in 0..TAGS {
        if !is_tag(ethertype) {
            break;
        }
        ethertype = tag_at(frame.bytes, at)?.ethertype;
        at += LENGTH;
    }
    Some((ethertype, at))
}

/// Bits of the outer tag's control information.
fn control(frame: Frame<'_>, bits: (u32, u32)) -> Option<Place> {
    match frame.beside {
        Some(beside) if beside.is_fixed => None,
        Some(_) => Place::beside(bits),
        None => first(frame).and_then(|_| Place::part(eth::LENGTH, 2, bits, [None, None])),
    }
}
