//! What handlers change: tables that they share with all processors and user space, next to C that uses a map of the same kind and sizes, and
//! the frame.

use super::{Case, Fill, Home, Implementation, Peer, Role, Work, case, peer, sni_cases};
use crate::contestant::{DROP, REDIRECT, TX};
use crate::frames;
use crate::lists;

pub fn all() -> Vec<Work> {
    vec![
        work("Counter update", "count_sources", sources(), const { &[COUNT] }),
        work("Record update", "flow_records", sources(), const { &[RECORDS] }),
        work("Field rewrite", "rewrite", vec![case("UDP", frames::udp(5060, 128), TX)], const { &[REWRITE] }),
        work("Routed", "forward", routed(), const { &[FORWARD] }),
        Work {
            list_file: Some("names.txt"),
            list: lists::names(10_000),
            table: Some("blocked"),
            ..work("Shared table, 10,000 names", "shared_names", sni_cases(), const { &[NAMES] })
        },
    ]
}

const COUNT: Peer = peer("C", Role::Reference, Implementation::C(Fill::Nothing), "count_sources");
const RECORDS: Peer = peer("C", Role::Reference, Implementation::C(Fill::Nothing), "flow_records");
const REWRITE: Peer = peer("C", Role::Reference, Implementation::C(Fill::Nothing), "rewrite");
const FORWARD: Peer = peer("C", Role::Reference, Implementation::C(Fill::Nothing), "forward");
const NAMES: Peer = peer("C", Role::Reference, Implementation::C(Fill::SharedTable), "shared_names");

fn work(title: &'static str, script: &'static str, cases: Vec<Case>, peers: &'static [Peer]) -> Work {
    Work {
        title,
        at_most: Some(1.1),
        whole: false,
        faster: 1.0,
        script,
        home: Home::Bench,
        list_file: None,
        list: Vec::new(),
        table: None,
        chain: None,
        cases,
        peers,
    }
}

/// The kernel has a way for all of them.
fn routed() -> Vec<Case> {
    vec![case("IPv4", frames::udp(5060, 128), REDIRECT), case("IPv6", frames::udp6(5060, 128), REDIRECT)]
}

/// After the first run of many the source has an entry.
fn sources() -> Vec<Case> {
    vec![case("IPv4", frames::udp(5060, 128), DROP), case("IPv6", frames::udp6(5060, 128), DROP)]
}
