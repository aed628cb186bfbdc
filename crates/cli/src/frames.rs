//! The frames that `moonhook bench` uses where no capture is given: generated, so that they are the same everywhere.

use std::iter::repeat_n;

/// A frame and what it is called in the table.
pub struct Sample {
    pub title: &'static str,
    pub frame: Vec<u8>,
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;

/// A frame of each kind that handlers commonly tell apart.
pub fn samples() -> Vec<Sample> {
    let sample = |title, frame| Sample { title, frame };
    vec![
        sample("TLS ClientHello", tcp(443, &client_hello("www.moonhook.example"))),
        sample("HTTP GET", tcp(80, http_get().as_bytes())),
        sample("UDP datagram", udp(5060, &[0x5a; 180])),
        sample("ICMP echo", icmp_echo(56)),
    ]
}

/// A TLS 1.2 record with a ClientHello (RFC 5246 § 7.4.1.2) that names `host` (RFC 6066 § 3), 517 bytes long by padding (RFC
/// 7685).
fn client_hello(host: &str) -> Vec<u8> {
    const LENGTH: usize = 517;
    let mut body = vec![3, 3];
    body.extend((0..32u8).map(|byte| byte.wrapping_mul(73)));
    body.extend([32]);
    body.extend((0..32u8).map(|byte| byte.wrapping_mul(29)));
    body.extend(sized16(&[0x13, 0x01, 0x13, 0x02, 0x13, 0x03, 0xc0, 0x2b, 0xc0, 0x2f]));
    body.extend([1, 0]);
    let mut extensions = extension(23, &[]);
    extensions.extend(extension(43, &[4, 3, 4, 3, 3]));
    extensions.extend(extension(0, &sized16(&[&[0], &sized16(host.as_bytes())[..]].concat())));
    extensions.extend(extension(10, &sized16(&[0, 29, 0, 23])));
    // Headers of record (5), handshake (4), the extensions' length (2) and the padding extension (4).
    let padding = LENGTH.saturating_sub(5 + 4 + body.len() + 2 + extensions.len() + 4);
    extensions.extend(extension(21, &vec![0; padding]));
    body.extend(sized16(&extensions));

    let mut handshake = vec![1, 0];
    handshake.extend(sized16(&body));
    let mut record = vec![22, 3, 1];
    record.extend(sized16(&handshake));
    record
}

fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), sized16(body)].concat()
}

/// The bytes behind their length in 16 bits.
fn sized16(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_be_bytes(), bytes].concat()
}

fn http_get() -> String {
    "GET /index.html HTTP/1.1\r\nHost: www.moonhook.example\r\nAccept: text/html,*/*;q=0.8\r\n\
     Accept-Language: en-GB,en;q=0.5\r\nCache-Control: no-cache\r\nConnection: keep-alive\r\n\
     User-Agent: Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0\r\n\r\n"
        .to_string()
}

fn tcp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut segment = ports(port);
    segment.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0x20, 0, 0, 0, 0, 0]);
    segment.extend(payload);
    with_pseudo_checksum(TCP, 16, segment)
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = ports(port);
    datagram.extend((payload.len() as u16 + 8).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    with_pseudo_checksum(UDP, 6, datagram)
}

fn icmp_echo(length: usize) -> Vec<u8> {
    let mut message = vec![8, 0, 0, 0, 0x12, 0x34, 0, 1];
    message.extend(repeat_n(0xa5, length));
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    ipv4(ICMP, &message)
}

fn ports(destination: u16) -> Vec<u8> {
    [40_000u16.to_be_bytes(), destination.to_be_bytes()].concat()
}

/// Documentation addresses (RFC 5737).
const ADDRESSES: [u8; 8] = [192, 0, 2, 10, 198, 51, 100, 7];

/// Puts the checksum over pseudo header and segment at `at`.
fn with_pseudo_checksum(protocol: u8, at: usize, mut segment: Vec<u8>) -> Vec<u8> {
    let pseudo = [&ADDRESSES[..], &[0, protocol], &(segment.len() as u16).to_be_bytes(), &segment].concat();
    let sum = checksum(&pseudo);
    segment[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    ipv4(protocol, &segment)
}

/// An Ethernet frame with an IPv4 packet.
fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x45, 0];
    header.extend((20 + payload.len() as u16).to_be_bytes());
    header.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
    header.extend(ADDRESSES);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    let ethernet = [0x52, 0x54, 0, 0, 0, 2, 0x52, 0x54, 0, 0, 0, 1, 8, 0];
    [&ethernet[..], &header, payload].concat()
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetHeaders, PacketHeaders, TransportHeader};
    use moonhook_user::protocol::{Frame, Protocol, Value};

    /// An independent parser reads what was meant, and its checksums are the same.
    #[test]
    fn samples_are_what_they_are_called() {
        let mut transports = Vec::new();
        for Sample { title, frame } in samples() {
            let headers = PacketHeaders::from_ethernet_slice(&frame).unwrap();
            let Some(NetHeaders::Ipv4(ip, _)) = headers.net else { panic!("{title}") };
            assert_eq!(ip.header_checksum, ip.calc_header_checksum(), "{title}");
            let payload = headers.payload.slice();
            transports.push(match headers.transport.unwrap() {
                TransportHeader::Tcp(tcp) => {
                    assert_eq!(tcp.checksum, tcp.calc_checksum_ipv4(&ip, payload).unwrap(), "{title}");
                    tcp.destination_port
                }
                TransportHeader::Udp(udp) => {
                    assert_eq!(udp.checksum, udp.calc_checksum_ipv4(&ip, payload).unwrap(), "{title}");
                    udp.destination_port
                }
                TransportHeader::Icmpv4(icmp) => {
                    assert_eq!(icmp.checksum, icmp.icmp_type.calc_checksum(payload), "{title}");
                    0
                }
                other => panic!("{title}: {other:?}"),
            });
        }
        assert_eq!(transports, [443, 80, 5060, 0]);
    }

    #[test]
    fn the_client_hello_names_its_host() {
        let hello = client_hello("www.moonhook.example");
        assert_eq!(hello.len(), 517);
        let frame = tcp(443, &hello);
        let (_, tls) = Protocol::named(b"tls").unwrap();
        let Some(Value::Bytes { start, end }) = (tls.field(b"sni").unwrap().read)(Frame::of_link(&frame))
        else {
            panic!("no name")
        };
        assert_eq!(&frame[start..end], b"www.moonhook.example");
    }
}
