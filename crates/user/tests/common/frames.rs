//! Frames made layer by layer.

pub const MACS: [u8; 12] = [0x52, 0x54, 0, 0x12, 0x34, 0x56, 0x02, 0, 0, 0, 0, 0x0a];

/// An Ethernet header and what follows it.
pub fn eth(ethertype: u16, rest: &[u8]) -> Vec<u8> {
    [&MACS, &ethertype.to_be_bytes()[..], rest].concat()
}

/// A VLAN tag: priority 5, drop-eligible, `id`; then `ethertype`.
pub fn tag(id: u16, ethertype: u16, rest: &[u8]) -> Vec<u8> {
    [&(0xb000 | id).to_be_bytes()[..], &ethertype.to_be_bytes(), rest].concat()
}

/// IPv4 with `options` (a multiple of 4 bytes), don't-fragment set.
pub fn ipv4(proto: u8, options: &[u8], rest: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut bytes = vec![0x40 | (header / 4) as u8, 0x2e];
    bytes.extend(((header + rest.len()) as u16).to_be_bytes());
    bytes.extend([0xab, 0xcd, 0x40, 0, 61, proto, 0x12, 0x34, 192, 0, 2, 7, 198, 51, 100, 1]);
    [&bytes, options, rest].concat()
}

/// IPv6 with the extension headers `extensions` (each starting with its next-header byte, which is filled in).
pub fn ipv6(proto: u8, extensions: &[(u8, Vec<u8>)], rest: &[u8]) -> Vec<u8> {
    let mut next: Vec<u8> = extensions.iter().map(|(kind, _)| *kind).chain([proto]).collect();
    let mut body = Vec::new();
    let first = next.remove(0);
    for ((_, extension), next) in extensions.iter().zip(next) {
        body.push(next);
        body.extend(&extension[1..]);
    }
    body.extend(rest);
    let mut bytes = vec![0x62, 0xe1, 0x23, 0x45];
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend([first, 63]);
    bytes.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    bytes.extend([0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    bytes.extend(body);
    bytes
}

/// The IP packet with 0 in its length field.
pub fn unstated(mut packet: Vec<u8>) -> Vec<u8> {
    let at = if packet[0] >> 4 == 4 { 2 } else { 4 };
    packet[at..at + 2].fill(0);
    packet
}

/// Hop-by-hop options with a Jumbo Payload option (RFC 2675).
pub fn jumbo_payload(length: u32) -> (u8, Vec<u8>) {
    (0, [&[0, 0, 0xc2, 4][..], &length.to_be_bytes()].concat())
}

/// A hop-by-hop, routing, or destination options header of `8 * units` bytes.
pub fn extension(kind: u8, units: u8) -> (u8, Vec<u8>) {
    let mut bytes = vec![0; usize::from(units) * 8];
    bytes[1] = units - 1;
    (kind, bytes)
}

/// A fragment header; `offset` in bytes.
pub fn fragment(offset: u16, more: bool) -> (u8, Vec<u8>) {
    let word = (offset | u16::from(more)).to_be_bytes();
    (44, vec![0, 0xff, word[0], word[1], 0xde, 0xad, 0xbe, 0xef])
}

/// TCP with `options` (a multiple of 4 bytes); SYN, ACK and CWR are set.
pub fn tcp(options: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xc0, 0x00, 0x01, 0xbb, 0xf0, 0, 0, 1, 0, 0, 0, 2];
    bytes.extend([(((20 + options.len()) / 4) << 4) as u8, 0x92, 0x72, 0x10, 0xca, 0xfe, 0, 9]);
    [&bytes, options, rest].concat()
}

pub fn udp(rest: &[u8]) -> Vec<u8> {
    let length = (8 + rest.len() as u16).to_be_bytes();
    [&[0x14, 0xe9, 0x00, 0x35, length[0], length[1], 0xbe, 0xef], rest].concat()
}

pub fn icmp(kind: u8, rest: &[u8]) -> Vec<u8> {
    [&[kind, 3, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66], rest].concat()
}

/// A ClientHello record whose extensions are one that is not asked for, and, if given, a server name.
pub fn client_hello(name: Option<&[u8]>) -> Vec<u8> {
    let mut extensions = vec![0, 43, 0, 3, 2, 3, 4];
    if let Some(name) = name {
        let length = name.len() as u16;
        for word in [0, length + 5, length + 3] {
            extensions.extend(word.to_be_bytes());
        }
        extensions.push(0);
        extensions.extend(length.to_be_bytes());
        extensions.extend(name);
        extensions.extend([0, 16, 0, 0]);
    }
    let mut body = vec![3, 3];
    body.extend([0x5a; 32]);
    body.push(4);
    body.extend([1, 2, 3, 4]);
    body.extend([0, 4, 0x13, 1, 0x13, 2]);
    body.extend([1, 0]);
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    let mut record = vec![22, 3, 1];
    record.extend((body.len() as u16 + 4).to_be_bytes());
    record.extend([1, 0]);
    record.extend((body.len() as u16).to_be_bytes());
    record.extend(body);
    record
}

/// One frame of each kind, by name.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    let hello = client_hello(Some(b"www.example.org"));
    let extensions =
        [extension(0, 1), extension(43, 2), extension(60, 1), (51, vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])];
    let tagged = |rest: &[u8]| eth(0x8100, &tag(42, 0x0800, rest));
    let double = |rest: &[u8]| eth(0x88a8, &tag(7, 0x8100, &tag(300, 0x86dd, rest)));
    let syn = tcp(&[2, 4, 5, 0xb4], b"");
    vec![
        ("eth", eth(0x0806, b"who-has")),
        ("ipv4 tls", eth(0x0800, &ipv4(6, &[], &tcp(&[], &hello)))),
        ("ipv4 options udp", eth(0x0800, &ipv4(17, &[1; 12], &udp(b"a question")))),
        ("ipv4 icmp", eth(0x0800, &ipv4(1, &[], &icmp(8, b"ping")))),
        ("ipv6 tls", eth(0x86dd, &ipv6(6, &[], &tcp(&[1; 12], &hello)))),
        ("ipv6 extensions udp", eth(0x86dd, &ipv6(17, &extensions, &udp(b"a question")))),
        ("ipv6 icmp", eth(0x86dd, &ipv6(58, &[extension(0, 1)], &icmp(128, b"ping")))),
        ("ipv6 first fragment", eth(0x86dd, &ipv6(17, &[fragment(0, true)], &udp(b"a question")))),
        ("ipv6 later fragment", eth(0x86dd, &ipv6(17, &[fragment(1480, false)], b"the rest of it"))),
        ("vlan ipv4 tcp", tagged(&ipv4(6, &[], &syn))),
        ("vlan ipv4 options tls", tagged(&ipv4(6, &[1; 40], &tcp(&[1; 40], &hello)))),
        ("qinq ipv6 tcp", double(&ipv6(6, &[], &tcp(&[], b"hello")))),
        ("qinq ipv6 extensions tls", double(&ipv6(6, &extensions, &tcp(&[1; 4], &hello)))),
    ]
}
