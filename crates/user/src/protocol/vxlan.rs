//! The header of VXLAN (RFC 7348 § 5).

use super::bytes::{u8_at, u32_at};
use super::frame::Frame;
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::{payload, udp};

const PORT: u16 = 4789;
const LENGTH: usize = 8;

pub const PROTOCOL: Protocol = Protocol {
    name: "vxlan",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[Field { name: "vni", read: |frame| Value::integer(u32_at(find(frame)?, 4)? >> 8) }],
        assignments: &[],
    },
};

fn find(frame: Frame<'_>) -> Option<&[u8]> {
    let [_, destination] = udp::find(frame)?.ports()?;
    let message = frame.bytes.get(payload::find(frame)?)?;
    let has_identifier = u8_at(message, 0)? & 0x08 != 0;
    (destination == PORT && message.len() >= LENGTH && has_identifier).then_some(message)
}

/// Where the frame inside starts.
pub fn behind(frame: Frame<'_>) -> Option<usize> {
    find(frame)?;
    Some(payload::find(frame)?.start + LENGTH)
}
