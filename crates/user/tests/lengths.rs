//! Lengths of IP packets whose header has 0 in its place: jumbograms (RFC 2675), and what the kernel has put together (BIG TCP).

mod common;

use common::frames::{eth, extension, fragment, ipv4, ipv6, jumbo_payload, tcp, udp, unstated};
use common::tier_at;
use moonhook_hook::{Hook, TC_INGRESS, XDP};
use moonhook_user::Options;

/// The length of the packet, and that of its payload.
fn lengths(frame: &[u8]) -> String {
    lengths_at(&TC_INGRESS, frame)
}

fn lengths_at(hook: &'static Hook, frame: &[u8]) -> String {
    let handler =
        "return function(pkt) error(pkt.ip.length .. ' ' .. (pkt.payload and #pkt.payload or 'none'), 0) end";
    let error = tier_at(hook, handler, Options::default()).run(frame).error;
    error.map_or_else(|| "no error".into(), |error| error.lossy())
}

fn v4(packet: Vec<u8>) -> Vec<u8> {
    eth(0x0800, &unstated(packet))
}

fn v6(packet: Vec<u8>) -> Vec<u8> {
    eth(0x86dd, &unstated(packet))
}

#[test]
fn a_frame_that_is_longer_than_the_field_can_say_is_the_packet() {
    // What is behind the fixed header of IPv6, and the header of TCP.
    let of = |behind: usize| tcp(&[], &vec![7; behind - 20]);
    assert_eq!(lengths(&v6(ipv6(6, &[], &of(65_535)))), "40 0");
    assert_eq!(lengths(&v6(ipv6(6, &[], &of(65_536)))), "65576 65516");
    assert_eq!(lengths(&v6(ipv6(6, &[extension(60, 1)], &of(70_000)))), "70048 69980");
    assert_eq!(lengths(&v4(ipv4(6, &[], &of(65_515)))), "0 0");
    assert_eq!(lengths(&v4(ipv4(6, &[], &of(65_516)))), "65536 65496");
    assert_eq!(lengths(&v4(ipv4(6, &[1; 4], &of(100_000)))), "100024 99980");
    // A field that says something is right.
    assert_eq!(lengths(&[&eth(0x0800, &ipv4(17, &[], &udp(b"ab")))[..], &[0; 70_000]].concat()), "30 2");
}

#[test]
fn the_jumbo_payload_option_counts_where_the_field_is_0() {
    let with = |extensions: &[(u8, Vec<u8>)], length| v6(ipv6(6, extensions, &tcp(&[], &vec![7; length])));
    let option = |length| jumbo_payload(length);
    assert_eq!(lengths(&with(&[option(65_536)], 10)), "65576 10");
    assert_eq!(lengths(&with(&[option(70_028)], 70_010)), "70068 70000");
    assert_eq!(lengths(&with(&[option(u32::MAX)], 10)), "4294967335 10");
    assert_eq!(lengths(&with(&[option(70_000), extension(60, 2)], 10)), "70040 10");
    // What is no such option.
    assert_eq!(lengths(&with(&[option(65_535)], 10)), "40 0");
    assert_eq!(lengths(&with(&[option(65_535)], 70_000)), "70068 70000");
    assert_eq!(lengths(&with(&[(60, option(70_000).1)], 10)), "40 0");
    assert_eq!(lengths(&with(&[extension(0, 1), option(70_000)], 10)), "40 0");
    assert_eq!(lengths(&with(&[fragment(0, false)], 10)), "40 0");
    let stated = eth(0x86dd, &ipv6(6, &[option(70_000)], &tcp(&[], b"ten bytes.")));
    assert_eq!(lengths(&stated), "78 10");
    // On the wire there is none, nor are there frames of that length.
    assert_eq!(lengths_at(&XDP, &with(&[option(70_000)], 10)), "40 0");
    assert_eq!(lengths_at(&XDP, &v4(ipv4(6, &[], &tcp(&[], &[7; 70_000])))), "0 0");
    // One that is cut off.
    let whole = with(&[option(70_000)], 0);
    assert_eq!(lengths(&whole[..14 + 47]), "40 none");
    assert_eq!(lengths(&whole[..14 + 48]), "70040 none");
}
