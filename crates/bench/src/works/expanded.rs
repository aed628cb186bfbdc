//! Filters that become straight code.

use super::{Case, Fill, Home, Implementation, Peer, Role, Work, case, peer, sni_cases};
use crate::contestant::{DROP, PASS};
use crate::frames;
use crate::lists::{self, LISTED_AGENT, UNLISTED_AGENT};

/// `PORT` of bench/c/length_check.c and its Lua counterparts.
const LENGTH_CHECK_PORT: u16 = 5060;

pub fn all() -> Vec<Work> {
    let mut all = vec![
        Work {
            title: "SNI, one name",
            at_most: Some(1.25),
            whole: false,
            faster: 10.0,
            script: "sni_filter",
            home: Home::Examples,
            list_file: Some("blocklist.txt"),
            list: lists::names(1),
            table: None,
            chain: None,
            cases: sni_cases(),
            peers: const {
                &[
                    peer("C, inline compare", Role::Reference, Implementation::C(Fill::Nothing), "sni_one"),
                    peer("LuaJIT", Role::UserSpace, Implementation::LuaJit, "sni"),
                    peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "sni"),
                ]
            },
        },
        Work {
            title: "SNI, 10,000 names",
            at_most: Some(1.0),
            whole: false,
            faster: 10.0,
            script: "sni_filter",
            home: Home::Examples,
            list_file: Some("blocklist.txt"),
            list: lists::names(10_000),
            table: None,
            chain: None,
            cases: sni_cases(),
            peers: const {
                &[
                    peer("C, 64-byte key", Role::Reference, Implementation::C(Fill::PaddedNames), "sni_hash"),
                    peer("C, hash as key", Role::Other, Implementation::C(Fill::HashedNames), "sni_hash_u64"),
                    peer("LuaJIT", Role::UserSpace, Implementation::LuaJit, "sni"),
                    peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "sni"),
                ]
            },
        },
        Work {
            title: "User-Agent pattern",
            at_most: Some(1.25),
            whole: false,
            faster: 10.0,
            script: "user_agent",
            home: Home::Examples,
            list_file: Some("agents.txt"),
            list: lists::agents(),
            table: None,
            chain: None,
            cases: vec![
                case("listed", frames::http_get(Some(LISTED_AGENT)), DROP),
                case("unlisted", frames::http_get(Some(UNLISTED_AGENT)), PASS),
                case("no such header", frames::http_get(None), PASS),
            ],
            peers: const {
                &[
                    peer(
                        "C, 8 bytes a step",
                        Role::Reference,
                        Implementation::C(Fill::HashedAgents),
                        "user_agent",
                    ),
                    peer(
                        "C, in a copy",
                        Role::Other,
                        Implementation::C(Fill::HashedAgents),
                        "user_agent_copy",
                    ),
                    peer("LuaJIT, by hand", Role::UserSpace, Implementation::LuaJit, "user_agent_by_hand"),
                    peer("LuaJIT, string.match", Role::UserSpace, Implementation::LuaJit, "user_agent_match"),
                    peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "user_agent"),
                ]
            },
        },
        Work {
            title: "UDP length check",
            at_most: Some(1.1),
            whole: false,
            faster: 10.0,
            script: "length_check",
            home: Home::Examples,
            list_file: None,
            list: Vec::new(),
            table: None,
            chain: None,
            cases: vec![
                case("long", frames::udp(LENGTH_CHECK_PORT, 300), DROP),
                case("short", frames::udp(LENGTH_CHECK_PORT, 100), PASS),
            ],
            peers: const {
                &[
                    peer("C", Role::Reference, Implementation::C(Fill::Nothing), "length_check"),
                    peer("LuaJIT", Role::UserSpace, Implementation::LuaJit, "length_check"),
                    peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "length_check"),
                ]
            },
        },
    ];
    all.extend(npf());
    all
}

/// `PORT` of bench/c/layouts.c, and of the script.
const LAYOUTS_PORT: u16 = 5060;

/// What bench/c/npf_payload.c and the script search.
const TEXT: &str = "MALICIOUS VALUE";

/// What a frame may take of what it takes with C: one hundredth more.
const AT_MOST: f64 = 1.01;

/// What NPF's experiments with Lua are about: fields by layouts, headers behind headers, and texts in what packets carry. There Lua took 10 to 15 % of
/// the throughput; here it may take 1 %.
fn npf() -> Vec<Work> {
    let listed = frames::http_get(Some(&format!("Mozilla/5.0 (X11; {TEXT}) MORE")));
    let unlisted = frames::http_get(Some("Mozilla/5.0 (X11; MALICIOUS VALVE) MORE"));
    vec![
        of_npf(
            "NPF, access by layout",
            "npf_access",
            vec![case("passed", frames::udp(LAYOUTS_PORT, 100), PASS)],
            const { &[peer("C", Role::Reference, Implementation::C(Fill::Nothing), "npf_access")] },
        ),
        Work {
            home: Home::Examples,
            ..of_npf(
                "NPF, layouts of headers",
                "layouts",
                vec![
                    case("long", frames::udp(LAYOUTS_PORT, 300), DROP),
                    case("short", frames::udp(LAYOUTS_PORT, 100), PASS),
                ],
                const { &[peer("C", Role::Reference, Implementation::C(Fill::Nothing), "layouts")] },
            )
        },
        of_npf(
            "NPF, text in a segment",
            "npf_payload",
            vec![case("found", listed, DROP), case("not found", unlisted, PASS)],
            const { &[peer("C", Role::Reference, Implementation::C(Fill::Nothing), "npf_payload")] },
        ),
    ]
}

fn of_npf(title: &'static str, script: &'static str, cases: Vec<Case>, peers: &'static [Peer]) -> Work {
    Work {
        title,
        at_most: Some(AT_MOST),
        whole: true,
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
