//! The first entry of an MPLS label stack (RFC 3032 § 2.1).

use super::bytes::u32_at;
use super::frame::Frame;
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::vlan;

const UNICAST: u16 = 0x8847;
/// Of upstream-assigned labels (RFC 5332).
const UPSTREAM: u16 = 0x8848;

pub const PROTOCOL: Protocol = Protocol {
    name: "mpls",
    view: View::Header {
        present: |frame| entry(frame).is_some(),
        fields: &[
            Field { name: "label", read: |frame| Value::integer(entry(frame)? >> 12) },
            Field { name: "tc", read: |frame| Value::integer(entry(frame)? >> 9 & 7) },
            Field { name: "bottom", read: |frame| Value::boolean(entry(frame)? & 0x100 != 0) },
            Field { name: "ttl", read: |frame| Value::integer(entry(frame)? & 0xff) },
        ],
        assignments: &[],
    },
};

fn entry(frame: Frame<'_>) -> Option<u32> {
    match vlan::network(frame)? {
        (UNICAST | UPSTREAM, start) => u32_at(frame.bytes, start),
        _ => None,
    }
}
