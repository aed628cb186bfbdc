//! Ethernet II (IEEE 802.3 § 3): destination, source, type.

use super::assign::{Assignment, Place, Takes};
use super::bytes::{array_at, u16_at};
use super::frame::Frame;
use super::row::{Field, Protocol, View};
use super::value::Value;
use moonhook_hook::Layer;

/// Bytes of the header.
pub const LENGTH: usize = 14;

pub const PROTOCOL: Protocol = Protocol {
    name: "eth",
    view: View::Header {
        present: |frame| ethertype(frame).is_some(),
        fields: &[
            Field { name: "dst", read: |frame| whole(frame).and_then(|eth| Value::mac(array_at(eth, 0)?)) },
            Field { name: "src", read: |frame| whole(frame).and_then(|eth| Value::mac(array_at(eth, 6)?)) },
            Field { name: "type", read: |frame| Value::integer(ethertype(frame)?) },
        ],
        assignments: &[
            Assignment {
                name: "dst",
                takes: Takes::Mac,
                place: |frame| whole(frame).and_then(|_| Place::new(0, 6, [None, None])),
            },
            Assignment {
                name: "src",
                takes: Takes::Mac,
                place: |frame| whole(frame).and_then(|_| Place::new(6, 6, [None, None])),
            },
            Assignment {
                name: "type",
                takes: Takes::Number(16),
                place: |frame| whole(frame).and_then(|_| Place::new(12, 2, [None, None])),
            },
        ],
    },
};

fn whole(frame: Frame<'_>) -> Option<&[u8]> {
    frame.bytes.get(..LENGTH).filter(|_| frame.layer == Layer::Link)
}

/// The two bytes at offset 12.
pub fn ethertype(frame: Frame<'_>) -> Option<u16> {
    u16_at(whole(frame)?, 12)
}
