//! IP packets inside others (RFC 2003, RFC 4213, RFC 2473).

use super::checksums::checksum;
use super::frame::Frame;
use super::ip::{self, Ip};

/// The type of a link's header, and the protocol number, that say that a packet of that version follows.
pub fn numbers(version: u8) -> (u16, u8) {
    if version == 4 { (0x0800, 4) } else { (0x86dd, 41) }
}

/// The header that is put in front of a packet, to travel between two addresses, of 4 or 16 bytes; `None` where there is no such header.
pub fn outer(inner: &Ip, [source, target]: [&[u8]; 2], ttl: u8) -> Option<Vec<u8>> {
    let (_, protocol) = numbers(inner.version);
    let class = inner.traffic_class;
    if inner.version == 6 && inner.length == 40 {
        return None;
    }
    if source.len() == 4 {
        let length = u16::try_from(inner.length + 20).ok()?.to_be_bytes();
        let start = [0x45, class, length[0], length[1], 0, 0, 0x40, 0, ttl, protocol, 0, 0];
        let mut header = [&start, source, target].concat();
        let sum = checksum(&[&header]).to_be_bytes();
        header[10..12].copy_from_slice(&sum);
        return Some(header);
    }
    let length = u16::try_from(inner.length).ok()?.to_be_bytes();
    let start = [0x60 | class >> 4, class << 4, 0, 0, length[0], length[1], protocol, ttl];
    Some([&start, source, target].concat())
}

/// The version of the packet inside, if there is one whose header is there.
pub fn inside(frame: Frame<'_>) -> Option<(Ip, u8)> {
    let outer = ip::find(frame)?;
    if outer.more_fragments || outer.fragment_offset != 0 {
        return None;
    }
    let (version, least) = match outer.protocol {
        4 => (4, 20),
        41 => (6, 40),
        _ => return None,
    };
    let start = outer.start + outer.header_length;
    let header = frame.bytes.get(start..start + least)?;
    (header[0] >> 4 == version).then_some((outer, version))
}
