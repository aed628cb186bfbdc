//! Fields that are assigned: checksums are those that an independent implementation computes.

mod common;

use common::run;
use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use std::net::IpAddr;

/// Assignments by the headers that they are for.
const ASSIGNMENTS: &[(&str, &[&str])] = &[
    (
        "ip",
        &[
            "ip.ttl = 1",
            "ip.ttl = ip.ttl ~ 255",
            "ip.tos = 0xb9",
            "ip.dscp = 63",
            "ip.ecn = 3",
            "ip.src, ip.dst = ip.dst, ip.src",
        ],
    ),
    (
        "v4",
        &[
            "ip.id = 0x1234",
            "ip.dont_fragment = not ip.dont_fragment",
            "ip.dst = '255.255.255.255'",
            "ip.src = '0.0.0.0'",
        ],
    ),
    ("v6", &["ip.flow = 0x12345", "ip.dst = 'ff02::1:ffff:ffff'", "ip.src = '::'"]),
    (
        "tcp",
        &[
            "tcp.sport = 1",
            "tcp.dport = 65535",
            "tcp.seq = 0xffffffff",
            "tcp.ack = 0x80000001",
            "tcp.flags = 0xff",
            "tcp.window = 0",
            "tcp.urgent = 77",
            "tcp.fin = true",
            "tcp.cwr = not tcp.cwr",
        ],
    ),
    ("udp", &["udp.sport = 53", "udp.dport = 0", "udp.dport = 65535"]),
    ("icmp", &["icmp.type = 0", "icmp.code = 9", "icmp.id = 65535", "icmp.seq = 0"]),
    ("eth", &["eth.src = '02:00:00:00:00:01'", "eth.dst = eth.src"]),
];

/// Frames with the headers that they have, and checksums by `etherparse`.
fn frames() -> Vec<(Vec<&'static str>, Vec<u8>)> {
    let mut frames = Vec::new();
    for length in [0, 1, 2, 99] {
        let payload: Vec<u8> = (0..length).map(|byte| byte as u8 ^ 0x5a).collect();
        let four = || PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([192, 0, 2, 1], [198, 51, 100, 2], 64);
        let six = || PacketBuilder::ethernet2([2; 6], [4; 6]).ipv6([0x20; 16], [0x31; 16], 64);
        let mut add = |version, transport, write: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = Vec::new();
            write(&mut frame);
            frames.push((vec!["eth", "ip", version, transport], frame));
        };
        add("v4", "tcp", &|frame| four().tcp(1000, 2000, 3, 4).write(frame, &payload).unwrap());
        add("v6", "tcp", &|frame| six().tcp(1000, 2000, 3, 4).write(frame, &payload).unwrap());
        add("v4", "udp", &|frame| four().udp(1000, 2000).write(frame, &payload).unwrap());
        add("v6", "udp", &|frame| six().udp(1000, 2000).write(frame, &payload).unwrap());
        add("v4", "icmp", &|frame| four().icmpv4_echo_request(5, 6).write(frame, &payload).unwrap());
        add("v6", "icmp", &|frame| six().icmpv6_echo_request(5, 6).write(frame, &payload).unwrap());
    }
    frames
}

/// With bytes of the payload, addresses and ports written by offset, all checksums are wrong, and computed anew they are right.
#[test]
fn checksums_are_computed_anew() {
    for (headers, frame) in frames() {
        let last = frame.len() - 1;
        let write = format!(
            "pkt:setuint8({last}, 0x81) pkt:setuint16(30, 0x1234) pkt:setuint32(34, -2) if pkt.tcp then pkt.tcp.checksum = 7 end"
        );
        let wrong = run(&write, &frame).data;
        assert!(!checksums_are_right(&wrong), "{headers:?}");
        let outcome = run(&format!("{write} pkt:fix_checksums()"), &frame);
        assert_eq!(outcome.error, None, "{headers:?}");
        assert!(checksums_are_right(&outcome.data), "{headers:?}: {:02x?}", outcome.data);
    }
}

/// An independent parser finds the same packet inside, and nothing wrong with the outer header.
#[test]
fn packets_are_put_inside_others() {
    for (headers, frame) in frames() {
        for (source, target) in [("192.0.2.1", "198.51.100.7"), ("2001:db8::1", "fe80::7")] {
            let outcome = run(&format!("pkt:encap('{source}', '{target}', 33)"), &frame);
            assert_eq!(outcome.error, None, "{headers:?}");
            let packet = SlicedPacket::from_ethernet(&outcome.data).unwrap();
            let net = packet.net.unwrap();
            let (addresses, ttl, inner) = match (net.ipv4_ref(), net.ipv6_ref()) {
                (Some(ip), _) => {
                    let header = ip.header().to_header();
                    assert_eq!(header.calc_header_checksum(), header.header_checksum);
                    let addresses = [ip.header().source_addr(), ip.header().destination_addr()];
                    (addresses.map(IpAddr::from), header.time_to_live, ip.payload())
                }
                (_, Some(ip)) => {
                    let addresses = [ip.header().source_addr(), ip.header().destination_addr()];
                    (addresses.map(IpAddr::from), ip.header().hop_limit(), ip.payload())
                }
                _ => panic!("no IP header"),
            };
            assert_eq!(addresses.map(|address| address.to_string()), [source, target]);
            assert_eq!((ttl, inner.payload), (33, &frame[14..]), "{headers:?}");
            assert_eq!(inner.ip_number.0, if headers.contains(&"v4") { 4 } else { 41 });
            let back = run(&format!("pkt:encap('{source}', '{target}') pkt:decap()"), &frame);
            assert_eq!((back.error, back.data), (None, frame.clone()));
        }
    }
}

/// Whether all checksums of a frame are right. 0 and 0xffff are the same number to them.
fn checksums_are_right(frame: &[u8]) -> bool {
    let same = |a: u16, b: u16| a == b || (a.is_multiple_of(0xffff) && b.is_multiple_of(0xffff));
    let packet = SlicedPacket::from_ethernet(frame).unwrap();
    let net = packet.net.clone().unwrap();
    let (four, six) = (net.ipv4_ref(), net.ipv6_ref());
    let header = four.is_none_or(|ip| {
        let header = ip.header().to_header();
        same(header.calc_header_checksum(), header.header_checksum)
    });
    let transport = match packet.transport.clone().unwrap() {
        TransportSlice::Tcp(tcp) => {
            let sum = match (four, six) {
                (Some(ip), _) => tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination()),
                (_, Some(ip)) => tcp.calc_checksum_ipv6(ip.header().source(), ip.header().destination()),
                _ => panic!("no IP header"),
            };
            same(sum.unwrap(), tcp.checksum())
        }
        TransportSlice::Udp(udp) => {
            let header = udp.to_header();
            let sum = match (four, six) {
                (Some(ip), _) => header.calc_checksum_ipv4_raw(
                    ip.header().source(),
                    ip.header().destination(),
                    udp.payload(),
                ),
                (_, Some(ip)) => header.calc_checksum_ipv6_raw(
                    ip.header().source(),
                    ip.header().destination(),
                    udp.payload(),
                ),
                _ => panic!("no IP header"),
            };
            same(sum.unwrap(), udp.checksum())
        }
        TransportSlice::Icmpv4(icmp) => {
            same(icmp.header().icmp_type.calc_checksum(icmp.payload()), icmp.checksum())
        }
        TransportSlice::Igmp(_) => panic!("no such frame"),
        TransportSlice::Icmpv6(icmp) => {
            let ip = six.unwrap().header();
            icmp.is_checksum_valid(ip.source(), ip.destination())
        }
    };
    header && transport
}

#[test]
fn checksums_follow() {
    let mut tried = 0;
    for (headers, frame) in frames() {
        assert!(checksums_are_right(&frame), "{headers:?}");
        let assignments = ASSIGNMENTS.iter().filter(|(header, _)| headers.contains(header));
        for assignment in assignments.flat_map(|(_, all)| *all) {
            let names = "local eth, ip, tcp, udp, icmp = pkt.eth, pkt.ip, pkt.tcp, pkt.udp, pkt.icmp";
            let outcome = run(&format!("{names} {assignment}"), &frame);
            assert_eq!(outcome.error, None, "{headers:?} {assignment}");
            assert!(checksums_are_right(&outcome.data), "{headers:?} {assignment}: {:02x?}", outcome.data);
            tried += 1;
        }
    }
    assert!(tried > 250, "{tried}");
}
