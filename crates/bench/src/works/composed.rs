//! Chains of eCLAT over programs in C, next to the same programs in one C program, all calls inlined.

use super::{Case, Chain, Home, Implementation, MapEntry, Peer, Role, Work, case, peer};
use crate::contestant::{DROP, PASS};
use crate::frames;
use crate::hike;

const NULLS: Peer = peer("C, one program", Role::Reference, Implementation::Unit, "null_programs");
const ONE_LEVEL: Peer = peer("C, one program", Role::Reference, Implementation::Unit, "ddos_one_level");
const TWO_LEVELS: Peer = peer("C, one program", Role::Reference, Implementation::Unit, "ddos_two_levels");

/// `BOTH` of packages/frame.h.
const BOTH: u32 = 3;

pub fn all() -> Vec<Work> {
    let cases = || vec![case("blacklisted", ip6(), DROP), other()];
    // Chains are numbered as they stand in the script: `main` is the second one there.
    let blacklist = || vec![begins(2), blacklisted()];
    vec![
        Work {
            home: Home::Bench,
            chain: Some(Chain { entries: vec![begins(1)], recorded: &[391.0], hike: hike::Chain::Nulls(8) }),
            cases: vec![case("IPv6", ip6(), DROP)],
            peers: const { &[NULLS] },
            ..work("Eight null programs", "null_programs")
        },
        Work {
            home: Home::Bench,
            chain: Some(Chain { entries: blacklist(), recorded: &[360.0], hike: hike::Chain::Levels(1) }),
            cases: cases(),
            peers: const { &[ONE_LEVEL] },
            ..work("DDoS, one level", "ddos_one_level")
        },
        Work {
            chain: Some(Chain { entries: blacklist(), recorded: &[455.0], hike: hike::Chain::Levels(2) }),
            cases: cases(),
            peers: const { &[TWO_LEVELS] },
            ..work("DDoS, two levels", "ddos_two_levels")
        },
    ]
}

fn work(title: &'static str, script: &'static str) -> Work {
    Work {
        title,
        at_most: Some(1.05),
        whole: false,
        faster: 1.0,
        script,
        home: Home::Examples,
        list_file: None,
        list: Vec::new(),
        table: None,
        chain: None,
        cases: Vec::new(),
        peers: &[],
    }
}

fn ip6() -> Vec<u8> {
    frames::udp6(5060, 128)
}

/// What the loader gives to no chain.
fn other() -> Case {
    case("IPv4", frames::udp(5060, 128), PASS)
}

/// The loader starts the script's chain of that number, from 1.
pub fn begins(chain: u32) -> MapEntry {
    MapEntry { map: "chains", key: 0u32.to_ne_bytes().into(), value: chain.to_ne_bytes().into() }
}

/// The addresses of [`ip6`] as a pair, for ever: `struct addresses` of packages/frame.h, and `NEVER` of packages/limits/expiring_set.bpf.c.
fn blacklisted() -> MapEntry {
    let key = [&BOTH.to_ne_bytes()[..], &frames::UDP6_ADDRESSES.concat()].concat();
    MapEntry { map: "members", key, value: 0u64.to_ne_bytes().into() }
}
