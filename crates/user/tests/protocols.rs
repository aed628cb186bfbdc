//! Protocol fields over generated frames: as a table, at every truncation length, and against the crate etherparse.

mod common;

use common::frames::{self, client_hello, eth, extension, fragment, icmp, ipv4, ipv6, tag, tcp, udp};
use common::show;
use moonhook_user::protocol::{self, Frame, PROTOCOLS, Value, View};

/// `pkt.ip`, `pkt.tcp.sport`, …: a field as text, or "nil"; without the detour through Lua.
fn field(frame: &[u8], path: &str) -> String {
    let (name, field) = path.split_once('.').unwrap_or((path, ""));
    let protocol = PROTOCOLS.iter().find(|protocol| protocol.name == name).unwrap();
    let value = match (&protocol.view, field) {
        (View::Plain(read), "") => read(Frame::of_link(frame)),
        (View::Header { present, .. }, "") => {
            return if present(Frame::of_link(frame)) { "present".into() } else { "nil".into() };
        }
        (_, field) => (protocol.field(field.as_bytes()).unwrap().read)(Frame::of_link(frame)),
    };
    match value {
        None => "nil".into(),
        Some(Value::Integer(integer)) => integer.to_string(),
        Some(Value::Boolean(boolean)) => boolean.to_string(),
        Some(Value::Text(text)) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
        Some(Value::Bytes { start, end }) => String::from_utf8_lossy(&frame[start..end]).into_owned(),
        Some(Value::Name { start, end }) => {
            String::from_utf8_lossy(protocol::Dotted::new(&frame[start..end]).as_bytes()).into_owned()
        }
    }
}

/// All fields of all protocols by path.
fn paths() -> Vec<String> {
    let of = |protocol: &moonhook_user::protocol::Protocol| {
        let name = protocol.name;
        let fields = protocol.fields().iter().map(move |field| format!("{name}.{}", field.name));
        [name.to_owned()].into_iter().chain(fields).collect::<Vec<_>>()
    };
    PROTOCOLS.iter().flat_map(of).collect()
}

/// Each frame with the fields that it must show; `expected` is "path value" pairs separated by line ends.
#[test]
fn fields() {
    let hello = client_hello(Some(b"www.example.org"));
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (
            eth(0x0806, b"x"),
            "eth.dst 52:54:00:12:34:56\neth.src 02:00:00:00:00:0a\neth.type 2054\nvlan nil\nip nil\npayload nil",
        ),
        (
            eth(0x8100, &tag(42, 0x0800, &ipv4(6, &[], &tcp(&[], &hello)))),
            "eth.type 33024\nvlan.id 42\nvlan.priority 5\nvlan.dei true\nvlan.type 2048\nvlan.inner_id nil\nip.version 4\n\
             ip.src 192.0.2.7\nip.dst 198.51.100.1\nip.tos 46\nip.dscp 11\nip.ecn 2\nip.ttl 61\nip.proto 6\nip.header_length 20\nip.id 43981\n\
             ip.dont_fragment true\nip.more_fragments false\nip.fragment_offset 0\nip.flow nil\nip.checksum 4660\n\
             tcp.sport 49152\ntcp.dport 443\ntcp.seq 4026531841\ntcp.ack 2\ntcp.flags 146\ntcp.fin false\ntcp.syn true\n\
             tcp.rst false\ntcp.psh false\ntcp.urg false\ntcp.ece false\ntcp.cwr true\ntcp.window 29200\ntcp.checksum 51966\n\
             tcp.urgent 9\ntcp.header_length 20\nudp nil\nicmp nil\ntls present\ntls.sni www.example.org",
        ),
        (
            eth(
                0x88a8,
                &tag(
                    7,
                    0x8100,
                    &tag(300, 0x86dd, &ipv6(17, &[extension(0, 1), extension(60, 2)], &udp(b"hi"))),
                ),
            ),
            "vlan.id 7\nvlan.inner_id 300\nvlan.type 33024\nip.version 6\nip.src 2001:db8::1\nip.dst 2001:db8:1::2\nip.tos 46\n\
             ip.dscp 11\nip.ecn 2\nip.ttl 63\nip.proto 17\nip.length 74\nip.header_length 64\nip.id nil\nip.dont_fragment nil\nip.more_fragments false\n\
             ip.flow 74565\nip.checksum nil\nudp.sport 5353\nudp.dport 53\nudp.length 10\nudp.checksum 48879\npayload hi\ntls nil",
        ),
        (
            eth(0x0800, &ipv4(1, &[], &icmp(8, b"ping"))),
            "icmp.type 8\nicmp.code 3\nicmp.checksum 4386\nicmp.id 13124\nicmp.seq 21862\npayload ping",
        ),
        (eth(0x0800, &ipv4(58, &[], &icmp(128, b""))), "ip.proto 58\nicmp nil\npayload nil"),
        (eth(0x86dd, &ipv6(1, &[], &icmp(8, b""))), "ip.proto 1\nicmp nil"),
        (
            eth(0x86dd, &ipv6(17, &[fragment(0, true)], &udp(b"ab"))),
            "ip.id 3735928559\nip.more_fragments true\nip.fragment_offset 0\nudp.dport 53",
        ),
        (
            eth(0x86dd, &ipv6(17, &[fragment(1480, false), extension(60, 1)], &udp(b"ab"))),
            "ip.fragment_offset 1480\nip.proto 60\nip.header_length 48\nudp nil\npayload nil",
        ),
        // An authentication header counts in units of 4 bytes, less 2.
        (
            eth(
                0x86dd,
                &ipv6(
                    17,
                    &[(51, vec![0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
                    &udp(b""),
                ),
            ),
            "udp.dport 53\nip.header_length 64",
        ),
        // Eight extension headers are passed over, a ninth is not.
        (eth(0x86dd, &ipv6(17, &vec![extension(60, 1); 8], &udp(b""))), "udp.dport 53\nip.header_length 104"),
        (
            eth(0x86dd, &ipv6(17, &vec![extension(60, 1); 9], &udp(b""))),
            "ip.proto 60\nip.header_length 104\nudp nil",
        ),
        // Three tags: the third is not passed over.
        (
            eth(0x8100, &tag(1, 0x8100, &tag(2, 0x8100, &tag(3, 0x0800, &ipv4(17, &[], &udp(b"")))))),
            "vlan.inner_id 2\nip nil",
        ),
        // Padding after the packet, and after the datagram.
        (eth(0x0800, &[ipv4(17, &[], &udp(b"ab")), b"pad".to_vec()].concat()), "payload ab"),
        (eth(0x0800, &ipv4(17, &[], &[udp(b"ab"), b"more".to_vec()].concat())), "payload ab"),
        (eth(0x0800, &ipv4(17, &[], &[0, 1, 0, 2, 0, 7, 0, 0, b'a'])), "udp.length 7\npayload a"),
        // A total length shorter than the headers.
        (
            edit(&eth(0x0800, &ipv4(17, &[], &udp(b"ab"))), 16, &[0, 20]),
            "ip.length 20\nudp.dport 53\npayload ",
        ),
        (edit(&eth(0x0800, &ipv4(17, &[], &udp(b"ab"))), 14, &[0x44]), "ip nil\nudp nil"),
        (edit(&eth(0x0800, &ipv4(17, &[], &udp(b"ab"))), 14, &[0x65]), "ip nil"),
        (
            edit(&eth(0x0800, &ipv4(17, &[], &udp(b"ab"))), 20, &[0x20, 1]),
            "ip.more_fragments true\nip.fragment_offset 8\nudp nil",
        ),
        (edit(&eth(0x0800, &ipv4(6, &[], &tcp(&[], b"ab"))), 46, &[0x40]), "ip.proto 6\ntcp nil"),
        (edit(&eth(0x0800, &ipv4(6, &[], &tcp(&[], b"ab"))), 46, &[0x60]), "tcp nil"),
        (eth(0x0800, &ipv4(6, &[], &tcp(&[], &client_hello(None)))), "tls present\ntls.sni nil"),
        (eth(0x0800, &ipv4(6, &[], &tcp(&[], &client_hello(Some(b""))))), "tls present\ntls.sni nil"),
        (eth(0x0800, &ipv4(6, &[], &tcp(&[], b"\x16\x03\x01\x00\x00\x02"))), "tls nil"),
        (eth(0x0800, &ipv4(6, &[], &tcp(&[], b"\x16\x03\x01\x00\x00"))), "tls nil"),
        (eth(0x0800, &ipv4(6, &[], &tcp(&[], b"\x16\x03\x01\x00\x00\x01"))), "tls present\ntls.sni nil"),
        (eth(0x0800, &ipv4(17, &[], &udp(&hello))), "tls nil"),
    ];
    for (frame, expected) in cases {
        for line in expected.lines() {
            let (path, value) = line.split_once(' ').unwrap();
            assert_eq!(field(&frame, path), value, "{path} of {frame:02x?}");
            let tail = if value == "present" { " and 'present'" } else { "" };
            let mut parts = path.split('.');
            let guard = parts.next().map(|header| format!("pkt.{header} and pkt.{path}{tail}")).unwrap();
            assert_eq!(show(&guard, &frame), value, "{path} through Lua");
        }
    }
}

fn edit(frame: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    frame
}

/// How many bytes a header needs: at that length of the frame it appears, one byte before it is not there.
#[test]
fn headers_appear_when_they_are_whole() {
    let cases = [
        ("ipv4 tls", vec![("eth", 14), ("ip", 34), ("tcp", 54), ("payload", 54), ("tls", 60)]),
        ("ipv4 options udp", vec![("eth", 14), ("ip", 46), ("udp", 54), ("payload", 54)]),
        ("ipv4 icmp", vec![("ip", 34), ("icmp", 42), ("payload", 42)]),
        ("ipv6 tls", vec![("ip", 54), ("tcp", 86), ("tls", 92)]),
        ("ipv6 extensions udp", vec![("ip", 54), ("udp", 14 + 40 + 8 + 16 + 8 + 12 + 8)]),
        ("ipv6 first fragment", vec![("ip", 54), ("udp", 14 + 40 + 8 + 8)]),
        ("vlan ipv4 tcp", vec![("eth", 14), ("vlan", 18), ("ip", 38), ("tcp", 62)]),
        ("qinq ipv6 tcp", vec![("vlan", 18), ("vlan.inner_id", 22), ("ip", 62), ("tcp", 82)]),
    ];
    let frames = frames::all();
    for (name, headers) in cases {
        let (_, frame) = frames.iter().find(|(other, _)| *other == name).unwrap();
        for (path, needed) in headers {
            for length in 0..=frame.len() {
                let there = field(&frame[..length], path) != "nil";
                assert_eq!(there, length >= needed, "{path} of the first {length} bytes of {name}");
            }
        }
    }
}

/// At every truncation length: no panic, and a field is nil or what the whole frame shows (but the payload, which is cut,
/// and what is counted over extension headers, which may be truncated).
#[test]
fn truncation_shows_nothing_wrong() {
    let cut = ["payload", "ip.proto", "ip.header_length", "ip.id", "ip.more_fragments", "ip.fragment_offset"];
    for (name, frame) in frames::all() {
        for path in paths() {
            let whole = field(&frame, &path);
            for length in 0..frame.len() {
                let part = field(&frame[..length], &path);
                if path == "payload" && part != "nil" {
                    assert!(whole.starts_with(part.trim_end_matches('\u{fffd}')), "{name}, {length} bytes");
                } else if !(cut.contains(&path.as_str()) && name.contains("ipv6")) {
                    assert!(
                        part == "nil" || part == whole,
                        "{path} of {length} bytes of {name}: {part}, not {whole}"
                    );
                }
            }
        }
    }
}

/// A server name is shown exactly from the length on at which its last byte is there.
#[test]
fn a_name_is_shown_when_it_is_whole() {
    for (name, frame) in frames::all() {
        let Some(start) = frame.windows(15).position(|window| window == b"www.example.org") else { continue };
        for length in 0..=frame.len() {
            let shown = field(&frame[..length], "tls.sni");
            let expected = if length >= start + 15 { "www.example.org" } else { "nil" };
            assert_eq!(shown, expected, "{name}, {length} bytes");
        }
    }
}

/// What etherparse makes of every truncation of every frame, and of frames with single wrong bytes.
#[test]
fn etherparse_agrees() {
    let mut compared = 0;
    for (_, frame) in frames::all() {
        for length in 0..=frame.len() {
            compared += compare(&frame[..length]);
        }
        for at in 12..frame.len().min(120) {
            for flip in [0x01, 0x04, 0x10, 0x40, 0x80, 0xff] {
                compared += compare(&edit(&frame, at, &[frame[at] ^ flip]));
            }
        }
    }
    assert!(compared > 30_000, "only {compared} fields were compared");
}

/// Compares what etherparse finds; it stops earlier than we do (at a length field that contradicts another, for example),
/// so that what it does not find is not compared. Gives the number of fields.
fn compare(frame: &[u8]) -> usize {
    use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
    let tag = |at: usize| frame.get(at..at + 2).is_some_and(|kind| kind == [0x91, 0x00]);
    // etherparse passes over tags of type 0x9100 and over a third one.
    if tag(12) || tag(16) || has_three_tags(frame) {
        return 0;
    }
    let Ok(packet) = LaxSlicedPacket::from_ethernet(frame) else { return 0 };
    let mut fields = Vec::new();
    match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            fields.extend([
                ("ip.version", "4".into()),
                ("ip.src", header.source_addr().to_string()),
                ("ip.dst", header.destination_addr().to_string()),
                ("ip.ttl", header.ttl().to_string()),
                ("ip.length", header.total_len().to_string()),
                ("ip.proto", header.protocol().0.to_string()),
                ("ip.id", header.identification().to_string()),
                ("ip.dont_fragment", header.dont_fragment().to_string()),
                ("ip.more_fragments", header.more_fragments().to_string()),
                ("ip.fragment_offset", header.fragments_offset().byte_offset().to_string()),
                ("ip.header_length", header.slice().len().to_string()),
                ("ip.checksum", header.header_checksum().to_string()),
            ]);
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            fields.extend([
                ("ip.version", "6".into()),
                ("ip.src", header.source_addr().to_string()),
                ("ip.dst", header.destination_addr().to_string()),
                ("ip.ttl", header.hop_limit().to_string()),
                ("ip.length", (u32::from(header.payload_length()) + 40).to_string()),
                ("ip.flow", header.flow_label().value().to_string()),
                ("ip.tos", header.traffic_class().to_string()),
                ("ip.dscp", (header.traffic_class() >> 2).to_string()),
                ("ip.ecn", (header.traffic_class() & 3).to_string()),
            ]);
        }
        _ => {}
    }
    match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => fields.extend([
            ("tcp.sport", tcp.source_port().to_string()),
            ("tcp.dport", tcp.destination_port().to_string()),
            ("tcp.seq", tcp.sequence_number().to_string()),
            ("tcp.ack", tcp.acknowledgment_number().to_string()),
            ("tcp.window", tcp.window_size().to_string()),
            ("tcp.syn", tcp.syn().to_string()),
            ("tcp.fin", tcp.fin().to_string()),
            ("tcp.psh", tcp.psh().to_string()),
            ("tcp.cwr", tcp.cwr().to_string()),
            ("tcp.checksum", tcp.checksum().to_string()),
            ("tcp.header_length", tcp.header_slice().len().to_string()),
        ]),
        Some(TransportSlice::Udp(udp)) => fields.extend([
            ("udp.sport", udp.source_port().to_string()),
            ("udp.dport", udp.destination_port().to_string()),
            ("udp.length", udp.length().to_string()),
            ("udp.checksum", udp.checksum().to_string()),
        ]),
        // etherparse takes either ICMP under either version of IP.
        Some(TransportSlice::Icmpv4(icmp)) if matches!(packet.net, Some(LaxNetSlice::Ipv4(_))) => fields
            .extend([("icmp.type", icmp.type_u8().to_string()), ("icmp.code", icmp.code_u8().to_string())]),
        Some(TransportSlice::Icmpv6(icmp)) if matches!(packet.net, Some(LaxNetSlice::Ipv6(_))) => fields
            .extend([("icmp.type", icmp.type_u8().to_string()), ("icmp.code", icmp.code_u8().to_string())]),
        _ => {}
    }
    for (path, value) in &fields {
        assert_eq!(&field(frame, path), value, "{path} of {frame:02x?}");
    }
    fields.len()
}

fn has_three_tags(frame: &[u8]) -> bool {
    [12, 16, 20]
        .iter()
        .all(|at| matches!(frame.get(*at..at + 2), Some([0x81, 0x00] | [0x88, 0xa8] | [0x91, 0x00])))
}

/// Random bytes behind each plausible start: no panic anywhere.
#[test]
fn random_bytes_are_survived() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let starts = frames::all();
    for round in 0..20_000 {
        let (_, start) = &starts[round % starts.len()];
        let mut frame = start[..random() as usize % (start.len() + 1)].to_vec();
        frame.extend((0..random() % 80).map(|_| random() as u8));
        for _ in 0..random() % 4 {
            let at = random() as usize % frame.len().max(1);
            if let Some(byte) = frame.get_mut(at) {
                *byte = random() as u8;
            }
        }
        paths().iter().for_each(|path| drop(field(&frame, path)));
    }
}
