//! Protocols: what `pkt.eth`, `pkt.ip`, … show of a frame, as `docs/packet.md` defines it.
//!
//! Reads the bytes of one Ethernet frame, or of an IP packet where a hook has those; keeps nothing between two reads, so that a field always shows the frame as it
//! is now. This is the independent opinion against which compiled handlers are tested: it favours being obviously right
//! over being fast. A protocol is one file of this folder and one row of [`PROTOCOLS`]; it offers a table of fields.
//! All offsets are bytes from the start of the frame unless a comment says otherwise; all integers on the wire are
//! big-endian. Nothing here panics, whatever the bytes are.

pub mod arp;
pub mod assign;
mod bytes;
pub mod checksums;
mod ct;
pub mod dhcp;
pub mod dns;
pub mod dns_records;
pub mod eth;
mod frame;
pub mod gre;
pub mod http;
pub mod icmp;
pub mod inner;
pub mod ip;
mod ip_fields;
pub mod ipv4;
pub mod ipv6;
pub mod mpls;
mod neighbours;
pub mod payload;
pub mod peer;
pub mod quic;
mod row;
pub mod sctp;
pub mod tcp;
pub mod tls;
pub mod tunnel;
pub mod udp;
mod value;
pub mod vlan;
pub mod vxlan;

pub use frame::{Beside, Frame, Peer};
pub use row::{Field, Protocol, View};
pub use value::{Dotted, Text, Value};

/// All protocols that a packet shows.
pub static PROTOCOLS: &[Protocol] = &[
    eth::PROTOCOL,
    vlan::PROTOCOL,
    arp::PROTOCOL,
    ip_fields::PROTOCOL,
    tcp::PROTOCOL,
    udp::PROTOCOL,
    icmp::PROTOCOL,
    payload::PROTOCOL,
    tls::PROTOCOL,
    peer::PROTOCOL,
    dns::PROTOCOL,
    http::PROTOCOL,
    sctp::PROTOCOL,
    gre::PROTOCOL,
    vxlan::PROTOCOL,
    mpls::PROTOCOL,
    dhcp::PROTOCOL,
    quic::PROTOCOL,
    inner::PROTOCOL,
    ct::PROTOCOL,
];

impl Protocol {
    /// The protocol of that name, and its number in [`PROTOCOLS`].
    pub fn named(name: &[u8]) -> Option<(usize, &'static Protocol)> {
        PROTOCOLS.iter().enumerate().find(|(_, protocol)| protocol.name.as_bytes() == name)
    }
}
