//! Segments of TCP: answers to them, and others in their places.

use crate::headers::{Headers, Ip, Transport};
use etherparse::IpNumber;

/// A segment that answers one of `length` bytes, which begins with `head`, with these bytes (RFC 9293): it goes on where that expects it to, and acknowledges all
/// that was in it. `None` where it is no segment, or a reset, or cannot be answered.
pub fn reply(head: &[u8], length: usize, message: &[u8]) -> Option<Vec<u8>> {
    let headers = Headers::read(head, length)?;
    let Transport::Tcp(tcp) = &headers.transport else { return None };
    if tcp.rst {
        return None;
    }
    let payload = u32::try_from(headers.payload).ok()?;
    let seen = tcp.sequence_number.wrapping_add(payload);
    let seen = seen.wrapping_add(tcp.syn.into()).wrapping_add(tcp.fin.into());
    let builder = headers.ip.back();
    let builder = builder.tcp(tcp.destination_port, tcp.source_port, tcp.acknowledgment_number, 0);
    let builder = builder.ack(seen).psh();
    let mut bytes = Vec::with_capacity(builder.size(message.len()));
    builder.write(&mut bytes, message).ok()?;
    Some(bytes)
}

/// The same segment with another payload, and without options. `None` where it is no segment, or too long.
pub fn with_payload(head: &[u8], length: usize, payload: &[u8]) -> Option<Vec<u8>> {
    let headers = Headers::read(head, length)?;
    let Transport::Tcp(mut tcp) = headers.transport else { return None };
    tcp.options = Default::default();
    let (ip, mut bytes) = headers.ip.around(IpNumber::TCP, tcp.header_len() + payload.len())?;
    tcp.checksum = match &ip {
        Ip::V4(ip) => tcp.calc_checksum_ipv4(ip, payload).ok()?,
        Ip::V6(ip) => tcp.calc_checksum_ipv6(ip, payload).ok()?,
    };
    tcp.write(&mut bytes).ok()?;
    bytes.extend(payload);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::tests::packets;
    use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

    fn segments() -> [Vec<u8>; 2] {
        packets(|builder| {
            let builder = builder.tcp(4000, 80, 1000, 512).ack(5000).psh();
            let mut bytes = Vec::new();
            builder.write(&mut bytes, b"hello").unwrap();
            bytes
        })
    }

    /// Ports, sequence number, acknowledgment, payload; the checksum is right.
    fn read(packet: &[u8]) -> (u16, u16, u32, u32, Vec<u8>) {
        let sliced = SlicedPacket::from_ip(packet).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { panic!("no TCP") };
        let header = tcp.to_header();
        let checksum = match sliced.net.as_ref().unwrap() {
            NetSlice::Ipv4(ip) => {
                let ip = ip.header().to_header();
                assert_eq!(ip.header_checksum, ip.calc_header_checksum());
                header.calc_checksum_ipv4(&ip, tcp.payload()).unwrap()
            }
            NetSlice::Ipv6(ip) => header.calc_checksum_ipv6(&ip.header().to_header(), tcp.payload()).unwrap(),
            NetSlice::Arp(_) => panic!("no IP"),
        };
        assert_eq!(header.checksum, checksum);
        let (number, seen) = (header.sequence_number, header.acknowledgment_number);
        (header.source_port, header.destination_port, number, seen, tcp.payload().to_vec())
    }

    #[test]
    fn an_answer_goes_on_where_it_is_expected() {
        for segment in segments() {
            let expected = (80, 4000, 5000, 1005, b"no\n".to_vec());
            assert_eq!(read(&reply(&segment, segment.len(), b"no\n").unwrap()), expected);
        }
    }

    #[test]
    fn another_payload_has_right_lengths_and_checksums() {
        for segment in segments() {
            for payload in [&b"a longer one"[..], b""] {
                let changed = with_payload(&segment, segment.len(), payload).unwrap();
                assert_eq!(read(&changed), (4000, 80, 1000, 5000, payload.to_vec()));
            }
            assert_eq!(with_payload(&segment, segment.len(), &vec![0; 70_000]), None);
        }
    }

    #[test]
    fn what_is_no_segment_has_neither() {
        let mut datagram = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 9).udp(1, 2).write(&mut datagram, b"x").unwrap();
        let whole = &segments()[0];
        for packet in [&datagram[..], &whole[..30], b"", &[0x45; 20]] {
            assert_eq!(reply(packet, packet.len(), b"x"), None);
            assert_eq!(with_payload(packet, packet.len(), b"x"), None);
        }
    }
}
