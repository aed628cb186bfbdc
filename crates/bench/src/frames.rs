//! The frames that are measured: built, not captured, so that they are the same on every machine.
//!
//! Ethernet, IPv4 and (for TCP) a header with the timestamp option, with right lengths and checksums. The ClientHello is laid
//! out as OpenSSL and NSS do: 517 bytes of record, filled up by the padding extension (RFC 7685).

use crate::numbers::Numbers;

/// Bytes of a frame with a ClientHello.
const CLIENT_HELLO_FRAME: usize = 583;
/// Bytes of a frame with an HTTP request.
const HTTP_FRAME: usize = 450;
const HEADERS: usize = 14 + 20 + TCP_HEADER;
const TCP_HEADER: usize = 32;

/// A frame with a TLS ClientHello for `name`, to port 443. `name` has at most 200 bytes.
pub fn client_hello(name: &str) -> Vec<u8> {
    let record = CLIENT_HELLO_FRAME - HEADERS;
    let mut random = Numbers::new(443);
    let mut hello = vec![3, 3];
    hello.extend(random.bytes(32));
    push_vector8(&mut hello, &random.bytes(32));
    let suites = [0x0a0au16, 0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8];
    push_vector16(&mut hello, &suites.map(u16::to_be_bytes).concat());
    push_vector8(&mut hello, &[0]);
    let before = 5 + 4 + hello.len() + 2;
    push_vector16(&mut hello, &extensions(name, &mut random, record - before));

    let mut payload = vec![22, 3, 1];
    payload.extend(((hello.len() + 4) as u16).to_be_bytes());
    payload.push(1);
    payload.extend(&(hello.len() as u32).to_be_bytes()[1..]);
    payload.extend(hello);
    tcp_frame(443, &payload)
}

/// What a browser sends, with three extensions before the server name, padded to `size` bytes.
fn extensions(name: &str, random: &mut Numbers, size: usize) -> Vec<u8> {
    let mut server_name = vec![0];
    push_vector16(&mut server_name, name.as_bytes());
    let mut key_share = vec![0, 29];
    push_vector16(&mut key_share, &random.bytes(32));

    let mut list = Vec::new();
    push_extension(&mut list, 0x2a2a, &[]);
    push_extension(&mut list, 0xff01, &[0]);
    push_extension(&mut list, 23, &[]);
    push_extension(&mut list, 0, &vector16(&server_name));
    push_extension(&mut list, 10, &vector16(&[0, 29, 0, 23, 0, 24]));
    push_extension(&mut list, 11, &[1, 0]);
    push_extension(&mut list, 35, &[]);
    push_extension(&mut list, 16, &vector16(b"\x02h2\x08http/1.1"));
    push_extension(&mut list, 5, &[1, 0, 0, 0, 0]);
    push_extension(&mut list, 13, &vector16(&[4, 3, 8, 4, 4, 1, 5, 3, 8, 5, 5, 1, 8, 6, 6, 1]));
    push_extension(&mut list, 51, &vector16(&key_share));
    push_extension(&mut list, 45, &[1, 1]);
    push_extension(&mut list, 43, &[4, 3, 4, 3, 3]);
    let padding = size.saturating_sub(list.len() + 4);
    push_extension(&mut list, 21, &vec![0; padding]);
    list
}

/// A frame with an HTTP GET to port 80, with that User-Agent header or none.
pub fn http_get(agent: Option<&str>) -> Vec<u8> {
    let mut request =
        String::from("GET /index.html HTTP/1.1\r\nHost: www.shop.example\r\nConnection: keep-alive\r\n");
    if let Some(agent) = agent {
        request.push_str(&format!("User-Agent: {agent}\r\n"));
    }
    request.push_str(
        "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en\r\nCookie: id=",
    );
    let fill = (HTTP_FRAME - HEADERS - 4).saturating_sub(request.len());
    request.extend("0123456789abcdef".chars().cycle().take(fill));
    request.push_str("\r\n\r\n");
    tcp_frame(80, request.as_bytes())
}

/// A frame with a segment of TCP to `port` that carries nothing.
pub fn tcp(port: u16) -> Vec<u8> {
    tcp_frame(port, &[])
}

/// A frame of `size` bytes (at least 42) with a UDP datagram to `port`.
pub fn udp(port: u16, size: usize) -> Vec<u8> {
    udp_frame(port, &Numbers::new(17).bytes(size.saturating_sub(14 + 20 + 8)))
}

/// Source and destination of [`udp6`].
pub const UDP6_ADDRESSES: [[u8; 16]; 2] = [address6(10), address6(7)];

const fn address6(host: u128) -> [u8; 16] {
    (0x2001_0db8 << 96 | host).to_be_bytes()
}

/// A frame of `size` bytes (at least 62) with a UDP datagram over IPv6 to `port`.
pub fn udp6(port: u16, size: usize) -> Vec<u8> {
    let mut segment = udp_segment(40_000, port, &Numbers::new(17).bytes(size.saturating_sub(14 + 40 + 8)));
    let addresses = UDP6_ADDRESSES.concat();
    put_checksum(17, 6, &addresses, &mut segment);
    let mut frame = ethernet(0x86dd);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((segment.len() as u16).to_be_bytes());
    frame.extend([17, 64]);
    frame.extend(addresses);
    frame.extend(segment);
    frame
}

/// A frame with a UDP datagram to `port` that carries `text`.
pub fn udp_text(port: u16, text: &str) -> Vec<u8> {
    udp_frame(port, text.as_bytes())
}

/// A question of DNS for a name, of type A.
pub fn dns_question(name: &str) -> Vec<u8> {
    let mut message = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        push_vector8(&mut message, label.as_bytes());
    }
    message.extend([0, 0, 1, 0, 1]);
    udp_frame(53, &message)
}

/// An answer of DNS for a name, which has so many addresses.
pub fn dns_answer(name: &str, addresses: u8) -> Vec<u8> {
    let mut message = vec![0, 1, 0x81, 0x80, 0, 1, 0, addresses, 0, 0, 0, 0];
    for label in name.split('.') {
        push_vector8(&mut message, label.as_bytes());
    }
    message.extend([0, 0, 1, 0, 1]);
    for number in 1..=addresses {
        // The name is the question's, the type A, the class IN, an hour, and four bytes.
        message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 203, 0, 113, number]);
    }
    finish(17, 6, udp_segment(53, 40_000, &message))
}

fn udp_frame(port: u16, payload: &[u8]) -> Vec<u8> {
    finish(17, 6, udp_segment(40_000, port, payload))
}

/// Its checksum is 0.
fn udp_segment(source: u16, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut segment = Vec::new();
    segment.extend(source.to_be_bytes());
    segment.extend(port.to_be_bytes());
    segment.extend(((payload.len() + 8) as u16).to_be_bytes());
    segment.extend([0, 0]);
    segment.extend(payload);
    segment
}

fn tcp_frame(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut segment = Vec::new();
    // Another connection for another payload, so that tools do not take a frame for a retransmission.
    let source = 40_000 + payload.iter().map(|byte| u16::from(*byte)).fold(0, u16::wrapping_add) % 20_000;
    segment.extend(source.to_be_bytes());
    segment.extend(port.to_be_bytes());
    segment.extend(0x1122_3344u32.to_be_bytes());
    segment.extend(0x5566_7788u32.to_be_bytes());
    segment.extend([(TCP_HEADER as u8 / 4) << 4, 0x18, 1, 0xf5, 0, 0, 0, 0]);
    segment.extend([1, 1, 8, 10, 0, 1, 2, 3, 4, 5, 6, 7]);
    segment.extend(payload);
    finish(6, 16, segment)
}

/// Puts the segment's checksum at `checksum_at` in it, and IPv4 and Ethernet before it.
fn finish(proto: u8, checksum_at: usize, mut segment: Vec<u8>) -> Vec<u8> {
    let addresses = [192, 0, 2, 10, 198, 51, 100, 7];
    put_checksum(proto, checksum_at, &addresses, &mut segment);

    let mut ip = vec![0x45, 0];
    ip.extend(((20 + segment.len()) as u16).to_be_bytes());
    ip.extend([0x12, 0x34, 0x40, 0, 64, proto, 0, 0]);
    ip.extend(addresses);
    let sum = checksum(&ip).to_be_bytes();
    ip[10..12].copy_from_slice(&sum);

    let mut frame = ethernet(0x0800);
    frame.extend(ip);
    frame.extend(segment);
    frame
}

fn ethernet(ethertype: u16) -> Vec<u8> {
    let mut header = vec![0x52, 0x54, 0, 0, 0, 2, 0x52, 0x54, 0, 0, 0, 1];
    header.extend(ethertype.to_be_bytes());
    header
}

/// Puts the checksum of a segment between these addresses, of either family, at `at` in it.
fn put_checksum(proto: u8, at: usize, addresses: &[u8], segment: &mut [u8]) {
    let mut pseudo = addresses.to_vec();
    pseudo.extend([0, proto]);
    pseudo.extend((segment.len() as u16).to_be_bytes());
    pseudo.extend(&*segment);
    segment[at..at + 2].copy_from_slice(&checksum(&pseudo).to_be_bytes());
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn push_extension(list: &mut Vec<u8>, kind: u16, body: &[u8]) {
    list.extend(kind.to_be_bytes());
    push_vector16(list, body);
}

fn push_vector8(to: &mut Vec<u8>, body: &[u8]) {
    to.push(body.len() as u8);
    to.extend(body);
}

fn push_vector16(to: &mut Vec<u8>, body: &[u8]) {
    to.extend((body.len() as u16).to_be_bytes());
    to.extend(body);
}

fn vector16(body: &[u8]) -> Vec<u8> {
    let mut vector = Vec::new();
    push_vector16(&mut vector, body);
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_figures() {
        assert_eq!(client_hello("a.example").len(), 583);
        assert_eq!(client_hello("a-much-longer-name.of-some.host.example").len(), 583);
        assert_eq!(http_get(None).len(), 450);
        assert_eq!(http_get(Some("curl/8.5.0")).len(), 450);
        assert_eq!(udp(5060, 300).len(), 300);
        assert_eq!(udp6(5060, 128).len(), 128);
    }

    #[test]
    fn checksums_are_right() {
        let frame = client_hello("a.example");
        assert_eq!(checksum(&frame[14..34]), 0);
        assert_eq!(checksum(&[0x45, 0x01]), !0x4501);
    }
}
