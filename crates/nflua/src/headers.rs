//! The headers of a packet of TCP or UDP, of which only the first bytes have to be at hand.

use etherparse::{
    IpHeaders, IpNumber, Ipv4Header, Ipv6Header, LaxNetSlice, LaxSlicedPacket, PacketBuilder,
    PacketBuilderStep, TcpHeader, TransportSlice, UdpHeader,
};

/// How far answers go.
const HOPS: u8 = 64;

#[derive(Clone, Debug)]
pub struct Headers {
    pub ip: Ip,
    pub transport: Transport,
    /// Bytes behind them in the whole packet.
    pub payload: usize,
}

#[derive(Clone, Debug)]
pub enum Ip {
    V4(Ipv4Header),
    V6(Ipv6Header),
}

#[derive(Clone, Debug)]
pub enum Transport {
    Tcp(TcpHeader),
    Udp(UdpHeader),
}

impl Headers {
    /// Those of a packet that begins with `head` and has `length` bytes in all. `None` where it is of something else or a fragment, or its headers are not all in `head`.
    pub fn read(head: &[u8], length: usize) -> Option<Headers> {
        let sliced = LaxSlicedPacket::from_ip(head).ok()?;
        let ip = match sliced.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) if !ip.is_payload_fragmented() => Ip::V4(ip.header().to_header()),
            LaxNetSlice::Ipv6(ip) if !ip.is_payload_fragmented() => Ip::V6(ip.header().to_header()),
            _ => return None,
        };
        let (transport, slice, size) = match sliced.transport.as_ref()? {
            TransportSlice::Tcp(tcp) => {
                (Transport::Tcp(tcp.to_header()), tcp.slice(), tcp.header_slice().len())
            }
            TransportSlice::Udp(udp) => (Transport::Udp(udp.to_header()), udp.slice(), UdpHeader::LEN),
            _ => return None,
        };
        let at = slice.as_ptr() as usize - head.as_ptr() as usize;
        Some(Headers { ip, transport, payload: length.checked_sub(at + size)? })
    }
}

impl Ip {
    /// The header of a packet that goes back.
    pub fn back(&self) -> PacketBuilderStep<IpHeaders> {
        match self {
            Ip::V4(ip) => PacketBuilder::ipv4(ip.destination, ip.source, HOPS),
            Ip::V6(ip) => PacketBuilder::ipv6(ip.destination, ip.source, HOPS),
        }
    }

    /// The same header, without options, in front of so many bytes of a protocol; and its bytes. `None` where these are too many.
    pub fn around(mut self, protocol: IpNumber, length: usize) -> Option<(Ip, Vec<u8>)> {
        let mut bytes = Vec::new();
        match &mut self {
            Ip::V4(ip) => {
                ip.options = Default::default();
                ip.set_payload_len(length).ok()?;
                ip.header_checksum = ip.calc_header_checksum();
                ip.write(&mut bytes).ok()?;
            }
            Ip::V6(ip) => {
                ip.next_header = protocol;
                ip.set_payload_length(length).ok()?;
                ip.write(&mut bytes).ok()?;
            }
        }
        Some((self, bytes))
    }
}

/// What tests read packets by.
#[cfg(test)]
pub mod tests {
    use super::*;

    /// Of both versions of IP, what is behind their headers made by `with`.
    pub fn packets(with: impl Fn(PacketBuilderStep<IpHeaders>) -> Vec<u8>) -> [Vec<u8>; 2] {
        [
            with(PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 9)),
            with(PacketBuilder::ipv6([1; 16], [2; 16], 9)),
        ]
    }

    #[test]
    fn the_head_of_a_packet_is_enough() {
        let datagrams = packets(|builder| {
            let mut bytes = Vec::new();
            builder.udp(1, 2).write(&mut bytes, &[7; 1000]).unwrap();
            bytes
        });
        for datagram in datagrams {
            for head in [&datagram[..], &datagram[..60]] {
                let read = Headers::read(head, datagram.len()).unwrap();
                assert_eq!(read.payload, 1000);
                assert!(matches!(read.transport, Transport::Udp(udp) if udp.destination_port == 2));
            }
            assert!(Headers::read(&datagram[..24], datagram.len()).is_none());
            assert!(Headers::read(&datagram, 20).is_none(), "it is not as long as its headers");
        }
    }
}
