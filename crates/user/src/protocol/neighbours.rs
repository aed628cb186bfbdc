//! Neighbour discovery (RFC 4861 § 4): what its ICMPv6 messages have behind the header of ICMP.

use super::bytes::{array_at, u8_at};
use super::frame::Frame;
use super::value::Value;
use super::{icmp, ip};

const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
const REDIRECT: u8 = 137;

/// The type of an ICMPv6 message, and its bytes in the frame.
fn message(frame: Frame<'_>) -> Option<(u8, &[u8])> {
    let icmp = icmp::find(frame)?;
    let message = frame.bytes.get(icmp.start..)?;
    (ip::find(frame)?.version == 6).then_some((u8_at(message, 0)?, message))
}

pub fn target(frame: Frame<'_>) -> Option<Value> {
    let (kind, message) = message(frame)?;
    match kind {
        NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT | REDIRECT => Value::ipv6(array_at(message, 8)?),
        _ => None,
    }
}

/// The first option of kind 1 or 2 with a MAC address, up to the end of the IP packet.
pub fn link_address(frame: Frame<'_>) -> Option<Value> {
    let (kind, message) = message(frame)?;
    let mut at = match kind {
        133 => 8,
        134 => 16,
        NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT => 24,
        REDIRECT => 40,
        _ => return None,
    };
    let room = ip::find(frame)?.end().checked_sub(icmp::find(frame)?.start)?;
    let message = message.get(..room).unwrap_or(message);
    loop {
        match *message.get(at..at + 8)? {
            [1 | 2, 1, ..] => return Value::mac(array_at(message, at + 2)?),
            [_, 0, ..] => return None,
            [_, units, ..] => at += 8 * usize::from(units),
            _ => return None,
        }
    }
}
