//! What is inside of a packet, as a packet of its own.

use super::frame::Frame;
use super::row::{Protocol, View};
use super::{ct, peer, tunnel};

pub const PROTOCOL: Protocol = Protocol {
    name: "inner",
    view: View::Header { present: |frame| find(frame).is_some(), fields: &[], assignments: &[] },
};

/// It has the bytes up to the frame's end, and begins with an Ethernet header or that of IP.
pub fn find(frame: Frame<'_>) -> Option<Frame<'_>> {
    let inside = tunnel::inside(frame)?;
    let bytes = frame.bytes.get(inside.start..)?;
    Some(Frame { is_of_wire: frame.is_of_wire, ..Frame::new(bytes, inside.layer) })
}

/// The number of what it shows under that name.
pub fn member(name: &[u8]) -> Option<usize> {
    let (number, protocol) = Protocol::named(name)?;
    let is_there = ![PROTOCOL.name, peer::PROTOCOL.name, ct::PROTOCOL.name].contains(&protocol.name);
    is_there.then_some(number)
}
