//! `pkt.peer`: whom a socket is about to be connected with. In user space that is read off the packet with which a connection begins.

use super::assign::{Assignment, Given, Refusal, Takes};
use super::frame::{Frame, Peer};
use super::row::{Field, Protocol, View};
use super::value::Value;
use super::{bytes, ip, tcp, udp};
use std::net::IpAddr;

pub const PROTOCOL: Protocol = Protocol {
    name: "peer",
    view: View::Header {
        present: |frame| frame.peer.is_some(),
        fields: &[
            Field { name: "address", read: |frame| address(frame.peer?.address) },
            Field { name: "port", read: |frame| Value::integer(frame.peer?.port) },
            Field { name: "proto", read: |frame| Value::integer(frame.peer?.protocol) },
        ],
        // They are no bytes of a packet: `Peer::assign` has them.
        assignments: &[
            Assignment { name: "address", takes: Takes::Address, place: |_| None },
            Assignment { name: "port", takes: Takes::Number(16), place: |_| None },
        ],
    },
};

fn address(address: IpAddr) -> Option<Value> {
    match address {
        IpAddr::V4(address) => Value::ipv4(address.octets()),
        IpAddr::V6(address) => Value::ipv6(address.octets()),
    }
}

impl Peer {
    /// Whom the process that has sent this Ethernet frame was asking for, over that version of IP: TCP's first segment, or a datagram.
    pub fn of_frame(frame: &[u8], version: u32) -> Option<Peer> {
        let frame = Frame::of_link(frame);
        let found = ip::find(frame).filter(|ip| u32::from(ip.version) == version)?;
        let Value::Text(text) = found.destination else { return None };
        let address = std::str::from_utf8(text.as_bytes()).ok()?.parse().ok()?;
        let begins = |tcp: &tcp::Tcp<'_>| bytes::u8_at(tcp.header, 13).unwrap_or(0) & (SYN | ACK) == SYN;
        let (port, protocol) = match (tcp::find(frame), udp::find(frame)) {
            (Some(tcp), _) if begins(&tcp) => (bytes::u16_at(tcp.header, 2)?, 6),
            (None, Some(udp)) => (bytes::u16_at(udp.header, 2)?, 17),
            _ => return None,
        };
        Some(Peer { address, port, protocol })
    }

    /// Assigns the field of that name.
    ///
    /// # Errors
    /// The value is none for the field.
    pub fn assign(&mut self, name: &str, given: Given<'_>) -> Result<(), Refusal> {
        match (name, given) {
            ("port", Given::Integer(port)) => self.port = u16::try_from(port).map_err(|_| Refusal::Unfit)?,
            ("address", Given::Text(text)) => {
                let address = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
                let is_same = |address: &IpAddr| address.is_ipv4() == self.address.is_ipv4();
                self.address = address.filter(is_same).ok_or(Refusal::Unfit)?;
            }
            _ => return Err(Refusal::Unfit),
        }
        Ok(())
    }
}

/// Flags of TCP (RFC 9293 § 3.1).
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
