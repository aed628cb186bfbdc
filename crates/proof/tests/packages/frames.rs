//! The frames of these tests: those that are damaged in some way, and those of IPv6 with segments.

use moonhook_proof::corpus::{self, Named};
use moonhook_proof::layers::{eth, ipv4, ipv6, tag, tcp, udp};
use moonhook_proof::random::Random;

/// The number of IPv6 in IPv6, of IPv4 in it, and of a routing header.
const IPV6: u8 = 41;
const IPV4: u8 = 4;
const ROUTING: u8 = 43;

/// Bytes of an Ethernet header, and of what is in front of the segments.
const LINK: usize = 14;
const BEFORE_SEGMENTS: usize = LINK + 40 + 8;

/// A header with these segments, the last one of the way first (RFC 8754 § 2): what follows it, how many are left, the last entry.
fn segments(next: u8, left: u8, last: u8, count: u8) -> Vec<u8> {
    let mut header = vec![next, 2 * count, 4, left, last, 0, 0, 0];
    for number in 0..count {
        header.extend([0xfc, 0, 0, number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
    header
}

/// A packet with such a header, and what is behind it.
fn routed(header: &[u8], inner: &[u8]) -> Vec<u8> {
    eth(0x86dd, &ipv6(ROUTING, &[], &[header, inner].concat()))
}

fn whole() -> Vec<Named> {
    let inner = ipv6(17, &[], &udp(b"inside"));
    let inner4 = ipv4(6, &[], &tcp(&[], b"inside"));
    let mut all = vec![
        ("plain".into(), eth(0x86dd, &inner)),
        ("plain4".into(), eth(0x0800, &inner4)),
        ("tagged".into(), eth(0x8100, &tag(42, 0x86dd, &inner))),
        ("double".into(), eth(0x88a8, &tag(7, 0x8100, &tag(300, 0x86dd, &inner)))),
        ("triple".into(), eth(0x8100, &tag(7, 0x8100, &tag(300, 0x8100, &tag(1, 0x86dd, &inner))))),
        ("within".into(), eth(0x86dd, &ipv6(IPV6, &[], &inner))),
        ("within4".into(), eth(0x86dd, &ipv6(IPV4, &[], &inner4))),
        ("wrong version within".into(), eth(0x86dd, &ipv6(IPV6, &[], &inner4))),
        ("tcp".into(), eth(0x86dd, &ipv6(6, &[], &tcp(&[], b"hello")))),
    ];
    for count in 0..4u8 {
        for left in 0..=count + 1 {
            for last in [count.saturating_sub(1), count] {
                let name = |next| format!("{next} behind {count} segments, {left} left, last {last}");
                all.push((name("ip6"), routed(&segments(IPV6, left, last, count), &inner)));
                all.push((name("ip4"), routed(&segments(IPV4, left, last, count), &inner4)));
                all.push((name("udp"), routed(&segments(17, left, last, count), &udp(b"here"))));
            }
        }
    }
    all
}

/// The same with another hop limit, type of routing header, or length of it.
fn changed(random: &mut Random) -> Vec<Named> {
    let mut all = Vec::new();
    for (name, frame) in whole() {
        for (place, value) in
            [(LINK + 7, 0), (LINK + 7, 1), (LINK + 42, 0), (LINK + 41, 255), (LINK + 41, 1), (LINK, 0x4f)]
        {
            let mut frame = frame.clone();
            if let Some(byte) = frame.get_mut(place) {
                *byte = value;
                all.push((format!("{name}, byte {place} is {value}"), frame));
            }
        }
        let length = LINK + random.below(frame.len() - LINK);
        all.push((format!("{name}/{length}"), frame[..length].to_vec()));
    }
    all
}

/// Every prefix of some of them.
fn truncated() -> Vec<Named> {
    let inner = ipv6(17, &[], &udp(b"inside"));
    let frame = routed(&segments(IPV6, 0, 1, 2), &inner);
    assert_eq!(frame.len(), BEFORE_SEGMENTS + 32 + inner.len());
    let of = |frame: &[u8], name: &str| -> Vec<Named> {
        (LINK..frame.len()).map(|length| (format!("{name}/{length}"), frame[..length].to_vec())).collect()
    };
    let tagged = eth(0x88a8, &tag(7, 0x8100, &tag(300, 0x86dd, &inner)));
    [of(&frame, "segments"), of(&tagged, "tags")].concat()
}

/// All of them, some of which come more than once.
pub fn all() -> Vec<Named> {
    let mut random = Random::new(86);
    let mut all = whole();
    all.extend(whole());
    all.extend(changed(&mut random));
    all.extend(truncated());
    all.extend(corpus::damaged(&mut random, 300));
    all.extend(corpus::noise(&mut random, 60));
    all
}

/// A packet, what it becomes where its way begins (RFC 8986 § 5.1), at the first segment (§ 4.1), and at the last one, where it comes out.
pub fn way() -> Vec<Vec<u8>> {
    const SOURCE: [u8; 16] = [0xfc, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    const FIRST: [u8; 16] = [0xfc, 0, 0, 0xa, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    const LAST: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6];
    let inner = ipv6(17, &[], &udp(b"inside"));
    let on_its_way = |hops: u8, left: u8, destination: [u8; 16]| {
        let length = (inner.len() + 40) as u16;
        // The version, the traffic class and the flow label of the packet within.
        let mut outer = inner[..4].to_vec();
        outer.extend(length.to_be_bytes());
        outer.extend([ROUTING, hops]);
        outer.extend([SOURCE, destination].concat());
        outer.extend([IPV6, 4, 4, left, 1, 0, 0, 0]);
        outer.extend([LAST, FIRST].concat());
        eth(0x86dd, &[outer, inner.clone()].concat())
    };
    let plain = eth(0x86dd, &inner);
    vec![plain.clone(), on_its_way(64, 1, FIRST), on_its_way(63, 0, LAST), plain]
}
