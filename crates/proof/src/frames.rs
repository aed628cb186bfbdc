//! Frames by short descriptions, as the scripts of `tests/cases` name them.
//!
//! A description is a name of [`NAMED`]; or a prefix with a text (`sni:www.example.org`, `http:curl`, `tcp:GET`, `tcp80:GET`, `udp:…`,
//! `udp-68-67:…` and `tcp-1025-80:…` with two ports, `dns:www.example.org`, `eth:…`), where `\n`, `\r`, `\s` (space), `\\` and `\xNN` are
//! escapes; or `hex:` and digits. Behind it can stand `/N` (the first N bytes only) and `*N` (N times). `all` is one of each name, `truncated:NAME` every prefix that the kernel takes,
//! `long:NAME` the frame with so many zeros behind it that the kernel keeps it in several buffers.

use crate::corpus::lengthened;
use crate::layers::*;
use moonhook_install::FRAME_MIN;

/// One frame of each kind that protocols tell apart.
pub fn named() -> Vec<(&'static str, Vec<u8>)> {
    let hello = client_hello(Some(b"www.example.org"));
    let walked =
        [extension(0, 1), extension(43, 2), extension(60, 1), (51, vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])];
    let nine: Vec<_> = (0..9).map(|_| extension(60, 1)).collect();
    let v4 = |rest: &[u8]| eth(0x0800, rest);
    let v6 = |rest: &[u8]| eth(0x86dd, rest);
    let tagged = |ethertype, rest: &[u8]| eth(0x8100, &tag(42, ethertype, rest));
    let double = |ethertype, rest: &[u8]| eth(0x88a8, &tag(7, 0x8100, &tag(300, ethertype, rest)));
    let syn = tcp(&[2, 4, 5, 0xb4], b"");
    let question = udp(b"a question");
    let asks = udp(&self::question(b"www.example.org"));
    let answers = udp(&answer(b"www.example.org"));
    vec![
        ("dns", v4(&ipv4(17, &[], &asks))),
        ("dns-answers", v4(&ipv4(17, &[], &udp(&records())))),
        ("dns6", v6(&ipv6(17, &walked, &answers))),
        ("sctp", v4(&ipv4(132, &[], b"\x0b\x59\x0b\x5a\x12\x34\x56\x78\xde\xad\xbe\xefchunks"))),
        ("sctp6", v6(&ipv6(132, &walked, b"\x0b\x59\x0b\x5a\x12\x34\x56\x78\xde\xad\xbe\xef"))),
        ("gre-key", v4(&ipv4(47, &[1; 4], b"\xb0\0\x08\0\x12\x34\0\0\0\0\0\x2a\0\0\0\x07inside"))),
        ("vxlan", v4(&ipv4(17, &[], &to_port(4789, udp(b"\x08\0\0\0\x12\x34\x56\0inside"))))),
        ("mpls", eth(0x8847, b"\x12\x34\x5b\x40\0\0\x31\x01inside")),
        ("dhcp", v4(&ipv4(17, &[], &to_port(67, udp(&discover()))))),
        ("quic", v4(&ipv4(17, &[], &to_port(443, udp(b"\xc3\0\0\0\x01\x08abcdefgh\0\0rest"))))),
        ("router", v6(&ipv6(58, &[], &advertisement()))),
        ("neighbour", v6(&ipv6(58, &[], &solicitation()))),
        ("arp", eth(0x0806, b"who-has 192.0.2.1? tell 192.0.2.7")),
        ("short", eth(0x0800, b"")),
        ("tcp", v4(&ipv4(6, &[], &tcp(&[], b"hello, world")))),
        ("syn", v4(&ipv4(6, &[], &syn))),
        ("tls", v4(&ipv4(6, &[], &tcp(&[], &hello)))),
        ("tls-without-name", v4(&ipv4(6, &[], &tcp(&[], &client_hello(None))))),
        ("tcp-options", v4(&ipv4(6, &[1; 40], &tcp(&[1; 40], &hello)))),
        ("udp", v4(&ipv4(17, &[], &question))),
        ("udp-options", v4(&ipv4(17, &[1; 12], &question))),
        ("udp-empty", v4(&ipv4(17, &[], &udp(b"")))),
        ("udp-padded", v4(&[ipv4(17, &[], &question), vec![0; 18]].concat())),
        ("icmp", v4(&ipv4(1, &[], &icmp(8, b"ping")))),
        ("icmp-reply", v4(&ipv4(1, &[], &icmp(0, b"ping")))),
        ("gre", v4(&ipv4(47, &[], b"\0\0\x08\0something"))),
        ("fragment", v4(&fragmented(ipv4(17, &[], &question), 0x2000))),
        ("later-fragment", v4(&fragmented(ipv4(17, &[], b"the rest of a question"), 0x00b9))),
        ("bad-version", v4(&[&[0x65][..], &ipv4(6, &[], &syn)[1..]].concat())),
        ("bad-length", v4(&[&[0x44][..], &ipv4(6, &[], &syn)[1..]].concat())),
        ("tcp6", v6(&ipv6(6, &[], &tcp(&[], b"hello, world")))),
        ("tls6", v6(&ipv6(6, &[], &tcp(&[1; 12], &hello)))),
        ("udp6", v6(&ipv6(17, &[], &question))),
        ("jumbo6", v6(&unstated(ipv6(6, &[jumbo_payload(70_000)], &tcp(&[], &hello))))),
        ("icmp6", v6(&ipv6(58, &[], &icmp(128, b"ping")))),
        ("udp6-extensions", v6(&ipv6(17, &walked, &question))),
        ("tls6-extensions", v6(&ipv6(6, &walked, &tcp(&[], &hello)))),
        ("icmp6-extensions", v6(&ipv6(58, &[extension(0, 1)], &icmp(128, b"ping")))),
        ("nine-extensions", v6(&ipv6(17, &nine, &question))),
        (
            "mobility",
            v6(&ipv6(17, &[(135, vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])], &question)),
        ),
        ("fragment6", v6(&ipv6(17, &[fragment(0, true)], &question))),
        ("later-fragment6", v6(&ipv6(17, &[fragment(1480, false)], b"the rest of it"))),
        ("only-fragment6", v6(&ipv6(6, &[extension(0, 2), fragment(0, false)], &tcp(&[], &hello)))),
        ("vlan-arp", tagged(0x0806, b"who-has")),
        ("vlan-tcp", tagged(0x0800, &ipv4(6, &[], &syn))),
        ("vlan-tls", tagged(0x0800, &ipv4(6, &[1; 40], &tcp(&[1; 40], &hello)))),
        ("vlan-udp6", tagged(0x86dd, &ipv6(17, &[], &question))),
        ("qinq-tcp", double(0x0800, &ipv4(6, &[], &tcp(&[], b"hello")))),
        ("qinq-tls6", double(0x86dd, &ipv6(6, &walked, &tcp(&[1; 4], &hello)))),
        ("qinq-icmp", double(0x0800, &ipv4(1, &[1; 4], &icmp(8, b"ping")))),
        ("ip-in-ip", v4(&ipv4(4, &[1; 4], &ipv4(17, &[], &question)))),
        ("ip6-in-ip", v4(&ipv4(41, &[], &ipv6(6, &[], &tcp(&[], &hello))))),
        ("ip-in-ip6", v6(&ipv6(4, &walked, &ipv4(1, &[], &icmp(8, b"ping"))))),
        ("gre-tcp", v4(&ipv4(47, &[], &[b"\x20\0\x08\0\0\0\0\x2a", &ipv4(6, &[], &syn)[..]].concat()))),
        (
            "gre-bridged",
            v6(&ipv6(47, &[], &[b"\0\0\x65\x58", &tagged(0x0800, &ipv4(6, &[], &syn))[..]].concat())),
        ),
        (
            "vxlan-dns",
            v4(&ipv4(
                17,
                &[],
                &to_port(4789, udp(&[b"\x08\0\0\0\x12\x34\x56\0", &v4(&ipv4(17, &[], &asks))[..]].concat())),
            )),
        ),
        (
            "gue-udp6",
            v4(&ipv4(
                17,
                &[],
                &to_port(6080, udp(&[b"\x01\x29\0\0\x12\x34\x56\0", &ipv6(17, &[], &question)[..]].concat())),
            )),
        ),
        ("three-tags", eth(0x88a8, &tag(7, 0x8100, &tag(8, 0x8100, &tag(9, 0x0800, &ipv4(6, &[], &syn)))))),
    ]
}

/// An IPv4 packet with other flags and fragment offset.
fn fragmented(mut packet: Vec<u8>, flags_and_offset: u16) -> Vec<u8> {
    packet[6..8].copy_from_slice(&flags_and_offset.to_be_bytes());
    packet
}

/// The frames that a description stands for, each with a name of its own.
///
/// # Errors
/// What is wrong with the description.
pub fn described(description: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
    if description == "all" {
        return Ok(named().into_iter().map(|(name, frame)| (name.to_string(), frame)).collect());
    }
    if let Some(rest) = description.strip_prefix("truncated:") {
        let frame = one(rest)?;
        let prefix = |length: usize| (format!("{rest}/{length}"), frame[..length].to_vec());
        return Ok((FRAME_MIN..=frame.len()).map(prefix).collect());
    }
    if let Some(rest) = description.strip_prefix("long:") {
        return Ok(vec![(description.to_string(), lengthened(one(rest)?))]);
    }
    let (name, times) = suffix(description, '*').map_or((description, 1), |(name, times)| (name, times));
    let frame = one(name)?;
    Ok(vec![(name.to_string(), frame); times])
}

fn one(description: &str) -> Result<Vec<u8>, String> {
    let (name, length) = suffix(description, '/').map_or((description, usize::MAX), |found| found);
    let mut frame = whole(name)?;
    frame.truncate(length);
    if frame.len() < FRAME_MIN {
        return Err(format!("the kernel runs no frame as short as '{description}'"));
    }
    Ok(frame)
}

/// `NAME` and the number behind `mark`, if that is how the description ends.
fn suffix(description: &str, mark: char) -> Option<(&str, usize)> {
    let (name, number) = description.rsplit_once(mark)?;
    Some((name, number.parse().ok()?))
}

fn whole(name: &str) -> Result<Vec<u8>, String> {
    let Some((kind, text)) = name.split_once(':') else {
        let found = named().into_iter().find(|(known, _)| *known == name);
        return found.map(|(_, frame)| frame).ok_or_else(|| format!("no frame is called '{name}'"));
    };
    if kind == "hex" {
        return digits(text);
    }
    let bytes = unescaped(text)?;
    let v4 = |proto, rest: &[u8]| eth(0x0800, &ipv4(proto, &[], rest));
    Ok(match kind {
        "sni" => v4(6, &tcp(&[], &client_hello(Some(&bytes)))),
        "sni6" => eth(0x86dd, &ipv6(6, &[], &tcp(&[], &client_hello(Some(&bytes))))),
        "http" => v4(6, &to_port(80, tcp(&[], &request(&bytes)))),
        "tcp" => v4(6, &tcp(&[], &bytes)),
        "tcp80" => v4(6, &to_port(80, tcp(&[], &bytes))),
        "udp" => datagram(&bytes),
        "sip" => v4(17, &to_port(5060, udp(&bytes))),
        "dns" => v4(17, &udp(&question(&bytes))),
        "eth" => eth(0x88b5, &bytes),
        _ => between_ports(kind, &bytes).ok_or_else(|| format!("no frame is called '{kind}:'"))?,
    })
}

/// A segment or datagram of a kind like `udp-68-67`.
fn between_ports(kind: &str, payload: &[u8]) -> Option<Vec<u8>> {
    let mut parts = kind.split('-');
    let (number, mut segment) = match parts.next()? {
        "tcp" => (6, tcp(&[], payload)),
        "udp" => (17, udp(payload)),
        _ => return None,
    };
    let mut port = || parts.next()?.parse::<u16>().ok();
    let (source, destination) = (port()?, port()?);
    segment[..2].copy_from_slice(&source.to_be_bytes());
    Some(eth(0x0800, &ipv4(number, &[], &to_port(destination, segment))))
}

/// An HTTP request of that user agent.
pub fn request(agent: &[u8]) -> Vec<u8> {
    [b"GET / HTTP/1.1\r\nHost: www.shop.example\r\nUser-Agent: ", agent, b"\r\nAccept: */*\r\n\r\n"].concat()
}

/// A datagram over IPv4.
pub fn datagram(payload: &[u8]) -> Vec<u8> {
    eth(0x0800, &ipv4(17, &[], &udp(payload)))
}

/// A DNS message that asks for the addresses of a name.
pub fn question(name: &[u8]) -> Vec<u8> {
    let mut message = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split(|byte| *byte == b'.') {
        message.push(label.len() as u8);
        message.extend(label);
    }
    [&message[..], &[0, 0, 1, 0, 1]].concat()
}

/// A neighbour solicitation with an option that is passed over, and the address of who asks.
fn solicitation() -> Vec<u8> {
    let mut message = vec![135, 0, 0, 0, 0, 0, 0, 0, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
    message.extend([14, 1, 1, 2, 3, 4, 5, 6, 1, 1, 2, 0, 0, 0, 0, 10]);
    message
}

/// A router advertisement with the router's address, a largest packet, two prefixes and a server for names.
fn advertisement() -> Vec<u8> {
    let mut message = vec![134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    message.extend([1, 1, 2, 0, 0, 0, 0, 10, 5, 1, 0, 0, 0, 0, 5, 220]);
    for (length, part) in [(64, 1), (56, 2)] {
        message.extend([3, 4, length, 0xc0, 0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 0, 0]);
        message.extend([0x20, 1, 0x0d, 0xb8, 0, part, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    message.extend([25, 3, 0, 0, 0, 0, 2, 88, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 53]);
    message.extend([2, 1, 2, 0, 0, 0, 0, 11]);
    message
}

/// A message of DHCP that asks for an address, with two options before the one that says so.
fn discover() -> Vec<u8> {
    let mut message = vec![0; 240];
    message[..8].copy_from_slice(&[1, 1, 6, 0, 0x12, 0x34, 0x56, 0x78]);
    for (address, number) in message[12..28].chunks_mut(4).zip(1..) {
        address.copy_from_slice(&[192, 0, 2, number]);
    }
    message[28..34].copy_from_slice(&[2, 0, 0, 0, 0, 10]);
    message[236..].copy_from_slice(&[0x63, 0x82, 0x53, 0x63]);
    message.extend([0, 12, 2, b'h', b'i', 53, 1, 1, 255]);
    message
}

/// The answer to it, with one address; the name there is a pointer to the question.
fn answer(name: &[u8]) -> Vec<u8> {
    let mut message = question(name);
    message[2..8].copy_from_slice(&[0x85, 0xb3, 0, 1, 0, 1]);
    message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 80]);
    message
}

/// An answer with records of several types in each section, whose names are written in all ways, also in wrong ones.
fn records() -> Vec<u8> {
    let mut message = question(b"www.example.org");
    message[2..12].copy_from_slice(&[0x85, 0x80, 0, 1, 0, 5, 0, 1, 0, 3]);
    let mut record = |name: &[u8], kind: u16, class: u16, ttl: u32, data: &[u8]| {
        message.extend(name);
        message.extend([kind, class].map(u16::to_be_bytes).concat());
        message.extend(ttl.to_be_bytes());
        message.extend((data.len() as u16).to_be_bytes());
        message.extend(data);
    };
    // Offset 16 has `example.org`, 45 the first record's data.
    record(&[0xc0, 12], 5, 1, 300, b"\x03web\xc0\x10");
    record(&[0xc0, 45], 1, 1, 60, &[192, 0, 2, 80]);
    record(&[0xc0, 45], 28, 1, u32::MAX, &[0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 80]);
    record(b"\x04MAIL\xc0\x10", 15, 1, 7, b"\0\x0a\x02mx\xc0\x10");
    record(&[0], 16, 0x8001, 0, b"\x05hello");
    record(&[0xc0, 16], 2, 1, 86400, b"\x02ns\xc0\x10");
    // The record of EDNS; one whose name leads to itself, and its data to what follows; a name of one label that lies in its data.
    record(&[0], 41, 4096, 0, b"");
    let at = message.len() as u8;
    let mut record = |name: &[u8], kind: u16, data: &[u8]| {
        let start = message.len() + name.len();
        message.extend(name);
        message.extend([0, kind as u8, 0, 1, 0, 0, 0, 9, 0, data.len() as u8]);
        message.extend(data);
        start + 10
    };
    record(&[0xc0, at], 12, &[1, b'a', 0xc0, at + 20]);
    record(&[0xc0, at + 12], 39, &[1, b'b', 0]);
    message
}

/// A TCP or UDP header, and what follows it, with another destination port.
pub fn to_port(port: u16, mut segment: Vec<u8>) -> Vec<u8> {
    segment[2..4].copy_from_slice(&port.to_be_bytes());
    segment
}

fn digits(text: &str) -> Result<Vec<u8>, String> {
    let text: Vec<u8> = text.bytes().collect();
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    text.chunks(2).map(byte).collect::<Option<_>>().ok_or_else(|| "not a row of bytes in hex".to_string())
}

fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        match rest {
            [b'x', high, low, after @ ..] => {
                bytes.extend(digits(&format!("{}{}", *high as char, *low as char))?);
                rest = after;
            }
            [letter, after @ ..] => {
                bytes.push(match letter {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b's' => b' ',
                    other => *other,
                });
                rest = after;
            }
            [] => return Err("it ends in a backslash".to_string()),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_frames() {
        let frames = |description| described(description).map(|frames| frames.len());
        assert_eq!(frames("tcp"), Ok(1));
        assert_eq!(frames("tcp*3"), Ok(3));
        assert_eq!(frames("all"), Ok(named().len()));
        assert!(described("long:dns").unwrap()[0].1.len() > 3500);
        assert!(frames("truncated:tls").unwrap() > 100);
        for bad in ["nothing", "tcp/13", "hex:123", "hex:xx", "udp:\\", "foo:bar"] {
            assert!(frames(bad).is_err(), "{bad}");
        }
        assert_eq!(described("udp:a\\x00\\n\\s\\\\/45").unwrap()[0].1[42..], *b"a\0\n");
        assert_eq!(described("dns:a.bc").unwrap()[0].1[54..], *b"\x01a\x02bc\0\0\x01\0\x01");
        assert_eq!(described("hex:000102030405060708090a0b0c0d").unwrap()[0].1, (0..14).collect::<Vec<u8>>());
    }
}
