//! Packets inside others: in IP (RFC 2003, RFC 4213, RFC 2473), GRE (RFC 2784, RFC 2890), VXLAN (RFC 7348) and GUE
//! (draft-ietf-intarea-gue).

use super::bytes::{u8_at, u16_at};
use super::checksums::checksum;
use super::frame::Frame;
use super::ip::{self, Ip};
use super::{gre, payload, tcp, udp, vxlan};
use moonhook_hook::Layer;

const ETHERNET: usize = 14;
const BRIDGED: u16 = 0x6558;
const GUE_PORT: u16 = 6080;
const GUE_LENGTH: usize = 4;

/// What is between the outer IP header and what is inside.
pub enum Carrier {
    Ip,
    Gre {
        key: Option<u32>,
    },
    /// `source` is `None` where the port is to say which flow the packet is of.
    Vxlan {
        identifier: u32,
        source: Option<u16>,
        destination: u16,
    },
    Gue {
        source: Option<u16>,
        destination: u16,
    },
}

/// The type of a link's header, and the protocol number, that say that a packet of that version follows.
pub fn numbers(version: u8) -> (u16, u8) {
    if version == 4 { (0x0800, 4) } else { (0x86dd, 41) }
}

/// The headers that are put in front of a packet, or of a frame, to travel between two addresses, of 4 or 16 bytes; `None` where there are no
/// such headers.
pub fn outer(
    frame: Frame<'_>,
    inner: Option<&Ip>,
    ([source, target], ttl): ([&[u8]; 2], u8),
    carrier: &Carrier,
) -> Option<Vec<u8>> {
    let (kind, number) = numbers(inner.map_or(4, |ip| ip.version));
    let length = match (carrier, inner) {
        (Carrier::Vxlan { .. }, _) => frame.len(),
        (_, Some(ip)) if ip.version == 6 && ip.length == 40 => return None,
        (_, Some(ip)) => ip.length,
        _ => return None,
    };
    let datagram = |source: &Option<u16>, destination: u16, header: &[u8]| {
        let source = source.unwrap_or_else(|| flow(frame, inner)).to_be_bytes();
        let length = u16::try_from(length + 8 + header.len()).ok()?.to_be_bytes();
        Some((17, [&source, &destination.to_be_bytes(), &length, &[0; 2], header].concat()))
    };
    let kind = kind.to_be_bytes();
    let (protocol, headers) = match carrier {
        Carrier::Ip => (number, vec![]),
        Carrier::Gre { key: None } => (47, vec![0, 0, kind[0], kind[1]]),
        Carrier::Gre { key: Some(key) } => {
            (47, [&[0x20, 0, kind[0], kind[1]], key.to_be_bytes().as_slice()].concat())
        }
        Carrier::Vxlan { identifier, source, destination } => {
            let header = [&[8, 0, 0, 0], (identifier << 8).to_be_bytes().as_slice()].concat();
            datagram(source, *destination, &header)?
        }
        Carrier::Gue { source, destination } => datagram(source, *destination, &[0, number, 0, 0])?,
    };
    let class = inner.map_or(0, |ip| ip.traffic_class);
    let length = length + headers.len();
    let mut outer = ip_header([source, target], (class, ttl, protocol), length)?;
    outer.extend(headers);
    Some(outer)
}

/// An IP header in front of so many bytes.
fn ip_header(
    [source, target]: [&[u8]; 2],
    (class, ttl, protocol): (u8, u8, u8),
    length: usize,
) -> Option<Vec<u8>> {
    if source.len() == 4 {
        let length = u16::try_from(length + 20).ok()?.to_be_bytes();
        let start = [0x45, class, length[0], length[1], 0, 0, 0x40, 0, ttl, protocol, 0, 0];
        let mut header = [&start, source, target].concat();
        let sum = checksum(&[&header]).to_be_bytes();
        header[10..12].copy_from_slice(&sum);
        return Some(header);
    }
    let length = u16::try_from(length).ok()?.to_be_bytes();
    let start = [0x60 | class >> 4, class << 4, 0, 0, length[0], length[1], protocol, ttl];
    Some([&start, source, target].concat())
}

/// The source port that says which flow a packet is of.
fn flow(frame: Frame<'_>, ip: Option<&Ip>) -> u16 {
    let Some(ip) = ip else { return 0xc000 };
    let addresses = if ip.version == 4 { 12..20 } else { 8..40 };
    let addresses = frame.bytes.get(ip.start + addresses.start..ip.start + addresses.end).unwrap_or_default();
    let ports = [tcp::NUMBER, udp::NUMBER].into_iter().find_map(|number| ip.transport(number));
    let ports = ports.and_then(|start| frame.bytes.get(start..start + 4)).unwrap_or_default();
    let words = addresses.chunks(2).chain(ports.chunks(2));
    let mixed = words.fold(0, |mixed, pair| mixed ^ u16::from_be_bytes([pair[0], pair[1]]));
    0xc000 | mixed & 0x3fff
}

/// What is inside of a packet.
pub struct Inside {
    pub outer: Ip,
    /// Where it starts.
    pub start: usize,
    /// What it begins with: an Ethernet header, or that of an IP packet.
    pub layer: Layer,
}

/// What is inside, if there is something whose header is there.
pub fn inside(frame: Frame<'_>) -> Option<Inside> {
    let outer = ip::find(frame)?;
    if outer.fragment_offset != 0 {
        return None;
    }
    let (layer, version, start) = match outer.protocol {
        4 => (Layer::Network, 4, outer.start + outer.header_length),
        41 => (Layer::Network, 6, outer.start + outer.header_length),
        gre::NUMBER => {
            let (kind, start) = gre::behind(frame)?;
            match kind {
                0x0800 => (Layer::Network, 4, start),
                0x86dd => (Layer::Network, 6, start),
                BRIDGED => (Layer::Link, 0, start),
                _ => return None,
            }
        }
        udp::NUMBER => match vxlan::behind(frame) {
            Some(start) => (Layer::Link, 0, start),
            None => {
                let (number, start) = in_gue(frame)?;
                (Layer::Network, if number == 4 { 4 } else { 6 }, start)
            }
        },
        _ => return None,
    };
    let header = frame.bytes.get(start..)?;
    let is_there = match layer {
        Layer::Link => header.len() >= ETHERNET,
        _ => header.len() >= if version == 4 { 20 } else { 40 } && header[0] >> 4 == version,
    };
    is_there.then_some(Inside { outer, start, layer })
}

/// The protocol number of what is inside of GUE, 4 or 41, and where it starts.
fn in_gue(frame: Frame<'_>) -> Option<(u8, usize)> {
    let [_, destination] = udp::find(frame)?.ports()?;
    let range = payload::find(frame)?;
    let message = frame.bytes.get(range.clone())?;
    let (first, number) = (u8_at(message, 0)?, u8_at(message, 1)?);
    let is_data = destination == GUE_PORT && message.len() >= GUE_LENGTH && first & 0xe0 == 0;
    let start = range.start + GUE_LENGTH + 4 * usize::from(first & 0x1f);
    (is_data && matches!(number, 4 | 41)).then_some((number, start))
}

/// The type of an Ethernet frame.
pub fn kind(frame: &[u8]) -> Option<u16> {
    u16_at(frame, 12)
}
