//! Packets by protocol: `pkt.ip.src`, `pkt.tls.sni` (docs/packet.md says what each field is).
//!
//! A protocol is a file with a row for the table below: how to find its header, and its fields. Finding a header is a
//! *parse*: it gives a few words (is it there, where, …) that are kept as facts of the state, so that it is done once.
//! Nothing is parsed before it is asked for.

mod eth;
mod extensions;
pub mod header;
mod icmp;
mod ip;
mod link;
mod network;
pub mod payload;
mod tcp;
mod tls;
mod transport;
mod udp;
mod vlan;

use self::header::Protocol;

/// All of them.
pub const PROTOCOLS: &[&Protocol] = &[
    &eth::PROTOCOL,
    &vlan::PROTOCOL,
    &ip::PROTOCOL,
    &tcp::PROTOCOL,
    &udp::PROTOCOL,
    &icmp::PROTOCOL,
    &payload::PROTOCOL,
    &tls::PROTOCOL,
];

pub fn protocol(name: &str) -> Option<&'static Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.name == name)
}

/// The names of all protocols whose headers are objects.
pub fn headers() -> impl Iterator<Item = &'static str> {
    PROTOCOLS.iter().filter(|protocol| !protocol.fields.is_empty()).map(|protocol| protocol.name)
}

/// The names of all protocols, and of all fields of headers.
pub fn field_names() -> impl Iterator<Item = &'static str> {
    let fields = PROTOCOLS.iter().flat_map(|protocol| protocol.fields.iter().map(|field| field.name));
    PROTOCOLS.iter().map(|protocol| protocol.name).chain(fields)
}
