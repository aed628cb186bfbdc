//! Neighbour discovery (RFC 4861 § 4): what its ICMPv6 messages have behind the header of ICMP.

use super::bytes::{array_at, u8_at, u32_at};
use super::frame::Frame;
use super::value::Value;
use super::{icmp, ip};

const ROUTER_ADVERTISEMENT: u8 = 134;
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

const SOURCE_ADDRESS: u8 = 1;
const TARGET_ADDRESS: u8 = 2;
const PREFIX: u8 = 3;
const MTU: u8 = 5;
/// RFC 8106 § 5.1.
const DNS_SERVERS: u8 = 25;

/// The first option that `wanted` wants, by its kind and its length in units of eight bytes, up to the end of the IP packet.
fn option<const N: usize>(frame: Frame<'_>, wanted: fn(u8, u8) -> bool) -> Option<[u8; N]> {
    let (kind, message) = message(frame)?;
    let mut at = match kind {
        133 => 8,
        ROUTER_ADVERTISEMENT => 16,
        NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT => 24,
        REDIRECT => 40,
        _ => return None,
    };
    let room = ip::find(frame)?.end().checked_sub(icmp::find(frame)?.start)?;
    let message = message.get(..room).unwrap_or(message);
    loop {
        match *message.get(at..at + 8)? {
            [kind, units, ..] if wanted(kind, units) => return array_at(message, at),
            [_, 0, ..] => return None,
            [_, units, ..] => at += 8 * usize::from(units),
            _ => return None,
        }
    }
}

/// The same of a router's advertisement.
fn of_router<const N: usize>(frame: Frame<'_>, wanted: fn(u8, u8) -> bool) -> Option<[u8; N]> {
    (message(frame)?.0 == ROUTER_ADVERTISEMENT).then_some(())?;
    option(frame, wanted)
}

/// The first option of kind 1 or 2 with a MAC address.
pub fn link_address(frame: Frame<'_>) -> Option<Value> {
    mac(option(frame, |kind, units| matches!(kind, SOURCE_ADDRESS | TARGET_ADDRESS) && units == 1)?)
}

pub fn source_link_address(frame: Frame<'_>) -> Option<Value> {
    mac(option(frame, |kind, units| (kind, units) == (SOURCE_ADDRESS, 1))?)
}

pub fn target_link_address(frame: Frame<'_>) -> Option<Value> {
    mac(option(frame, |kind, units| (kind, units) == (TARGET_ADDRESS, 1))?)
}

fn mac(option: [u8; 8]) -> Option<Value> {
    Value::mac(array_at(&option, 2)?)
}

fn first_prefix(frame: Frame<'_>) -> Option<[u8; 32]> {
    of_router(frame, |kind, units| (kind, units) == (PREFIX, 4))
}

pub fn prefix(frame: Frame<'_>) -> Option<Value> {
    Value::ipv6(array_at(&first_prefix(frame)?, 16)?)
}

pub fn prefix_length(frame: Frame<'_>) -> Option<Value> {
    Value::integer(u8_at(&first_prefix(frame)?, 2)?)
}

pub fn mtu(frame: Frame<'_>) -> Option<Value> {
    let option: [u8; 8] = of_router(frame, |kind, units| (kind, units) == (MTU, 1))?;
    Value::integer(u32_at(&option, 4)?)
}

pub fn dns_server(frame: Frame<'_>) -> Option<Value> {
    let option: [u8; 24] = of_router(frame, |kind, units| kind == DNS_SERVERS && units >= 3)?;
    Value::ipv6(array_at(&option, 8)?)
}
