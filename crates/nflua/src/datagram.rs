//! Datagrams of UDP: answers to them, and others in their places; and packets whose checksums are not complete yet.

use crate::headers::{Headers, Ip, Transport};
use etherparse::{IpNumber, NetSlice, SlicedPacket, TransportSlice, UdpHeader};

/// A datagram that answers one of `length` bytes, which begins with `head`, with these bytes. `None` where it is none, or cannot be answered.
pub fn reply(head: &[u8], length: usize, message: &[u8]) -> Option<Vec<u8>> {
    let headers = Headers::read(head, length)?;
    let Transport::Udp(udp) = &headers.transport else { return None };
    let builder = headers.ip.back().udp(udp.destination_port, udp.source_port);
    let mut bytes = Vec::with_capacity(builder.size(message.len()));
    builder.write(&mut bytes, message).ok()?;
    Some(bytes)
}

/// The same datagram with another payload, and without options. `None` where it is none, or too long.
pub fn with_payload(head: &[u8], length: usize, payload: &[u8]) -> Option<Vec<u8>> {
    let headers = Headers::read(head, length)?;
    let Transport::Udp(udp) = headers.transport else { return None };
    let (ip, mut bytes) = headers.ip.around(IpNumber::UDP, UdpHeader::LEN + payload.len())?;
    let (from, to) = (udp.source_port, udp.destination_port);
    let udp = match &ip {
        Ip::V4(ip) => UdpHeader::with_ipv4_checksum(from, to, ip, payload).ok()?,
        Ip::V6(ip) => UdpHeader::with_ipv6_checksum(from, to, ip, payload).ok()?,
    };
    udp.write(&mut bytes).ok()?;
    bytes.extend(payload);
    Some(bytes)
}

/// The packet with a right checksum of TCP or UDP: matches see packets before their network card has finished them. What has none stays as it is.
pub fn completed(packet: &[u8]) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    if let Some((at, checksum)) = checksum_of(packet)
        && let Some(place) = bytes.get_mut(at..at + 2)
    {
        place.copy_from_slice(&checksum.to_be_bytes());
    }
    bytes
}

/// Where in a packet the checksum of its TCP or UDP is, and which it should be.
fn checksum_of(packet: &[u8]) -> Option<(usize, u16)> {
    /// Where these are in their headers (RFC 9293, RFC 768).
    const OF_TCP: usize = 16;
    const OF_UDP: usize = 6;
    let sliced = SlicedPacket::from_ip(packet).ok()?;
    let place = |header: &[u8], at: usize| header.as_ptr() as usize - packet.as_ptr() as usize + at;
    match (sliced.net.as_ref()?, sliced.transport.as_ref()?) {
        (NetSlice::Ipv4(ip), TransportSlice::Tcp(tcp)) => {
            let sum = tcp.to_header().calc_checksum_ipv4(&ip.header().to_header(), tcp.payload()).ok()?;
            Some((place(tcp.slice(), OF_TCP), sum))
        }
        (NetSlice::Ipv6(ip), TransportSlice::Tcp(tcp)) => {
            let sum = tcp.to_header().calc_checksum_ipv6(&ip.header().to_header(), tcp.payload()).ok()?;
            Some((place(tcp.slice(), OF_TCP), sum))
        }
        // Without a checksum there is nothing to complete (RFC 768).
        (NetSlice::Ipv4(ip), TransportSlice::Udp(udp)) if udp.checksum() != 0 => {
            let ip = ip.header().to_header();
            let sum = udp.to_header().calc_checksum_ipv4(&ip, udp.payload()).ok()?;
            Some((place(udp.slice(), OF_UDP), sum))
        }
        (NetSlice::Ipv6(ip), TransportSlice::Udp(udp)) => {
            let ip = ip.header().to_header();
            let sum = udp.to_header().calc_checksum_ipv6(&ip, udp.payload()).ok()?;
            Some((place(udp.slice(), OF_UDP), sum))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::tests::packets;
    use etherparse::PacketBuilder;

    fn datagrams() -> [Vec<u8>; 2] {
        packets(|builder| {
            let mut bytes = Vec::new();
            builder.udp(4000, 53).write(&mut bytes, b"hello").unwrap();
            bytes
        })
    }

    /// Ports and payload; the checksum is right.
    fn read(packet: &[u8]) -> (u16, u16, Vec<u8>) {
        let sliced = SlicedPacket::from_ip(packet).unwrap();
        let Some(TransportSlice::Udp(udp)) = &sliced.transport else { panic!("no UDP") };
        let (at, sum) = checksum_of(packet).unwrap();
        assert_eq!(packet[at..at + 2], sum.to_be_bytes());
        (udp.source_port(), udp.destination_port(), udp.payload().to_vec())
    }

    #[test]
    fn an_answer_goes_back() {
        for datagram in datagrams() {
            assert_eq!(read(&reply(&datagram, datagram.len(), b"no").unwrap()), (53, 4000, b"no".to_vec()));
        }
    }

    #[test]
    fn another_payload_has_right_lengths_and_checksums() {
        for datagram in datagrams() {
            for payload in [&b"a longer one"[..], b""] {
                let changed = with_payload(&datagram, datagram.len(), payload).unwrap();
                assert_eq!(read(&changed), (4000, 53, payload.to_vec()));
            }
            assert_eq!(with_payload(&datagram, datagram.len(), &vec![0; 70_000]), None);
        }
    }

    #[test]
    fn checksums_become_right() {
        let mut segment = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 9).tcp(1, 2, 3, 4);
        builder.write(&mut segment, b"x").unwrap();
        for whole in datagrams().into_iter().chain([segment]) {
            let (at, _) = checksum_of(&whole).unwrap();
            let mut wrong = whole.clone();
            wrong[at] ^= 0x55;
            assert_eq!(completed(&wrong), whole);
        }
        assert_eq!(completed(b"what"), b"what");
    }

    #[test]
    fn what_is_no_datagram_has_neither() {
        let whole = &datagrams()[0];
        for packet in [&whole[..20], b"", &[0x45; 20]] {
            assert_eq!(reply(packet, packet.len(), b"x"), None);
            assert_eq!(with_payload(packet, packet.len(), b"x"), None);
        }
    }
}
