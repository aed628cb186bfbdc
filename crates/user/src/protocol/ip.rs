//! The internet protocol, either version: what the two headers have in common, and where the transport header is.

use super::assign::Sum;
use super::frame::Frame;
use super::value::Value;
use super::{ipv4, ipv6, vlan};

/// What a version's own file finds in its header.
pub struct Ip {
    pub version: u8,
    /// Offset of the header in the frame.
    pub start: usize,
    /// The fixed header with its options (v4), or with the extension headers that were passed over (v6); bytes.
    pub header_length: usize,
    /// The whole packet as its header states it, in bytes; the frame may have fewer or more.
    pub length: usize,
    pub source: Value,
    pub destination: Value,
    pub traffic_class: u8,
    pub hop_limit: u8,
    /// The protocol of the payload; v6: of the header behind the extension headers.
    pub protocol: u8,
    /// Identification, from a v6 packet only if it has a fragment header.
    pub id: Option<u32>,
    /// v4 only.
    pub dont_fragment: Option<bool>,
    pub more_fragments: bool,
    /// In bytes.
    pub fragment_offset: u16,
    /// v6 only.
    pub flow: Option<u32>,
    /// v4 only.
    pub checksum: Option<u16>,
    /// v6: a routing header names another destination, which is the packet's last one.
    pub is_detour: bool,
}

pub fn find(frame: Frame<'_>) -> Option<Ip> {
    match vlan::network(frame)? {
        (ipv4::ETHERTYPE, start) => ipv4::parse(frame, start),
        (ipv6::ETHERTYPE, start) => ipv6::parse(frame, start),
        _ => None,
    }
}

impl Ip {
    /// Where the header of `protocol` starts, if that is what this packet carries and it is not a later fragment.
    pub fn transport(&self, protocol: u8) -> Option<usize> {
        (self.protocol == protocol && self.fragment_offset == 0).then_some(self.start + self.header_length)
    }

    /// The header's own checksum, of which IPv6 has none.
    pub fn sum(&self) -> Option<Sum> {
        (self.version == 4).then_some(Sum { start: self.start, at: self.start + 10, optional: false })
    }

    /// Where the packet ends by its own account.
    pub fn end(&self) -> usize {
        self.start + self.length
    }
}
