//! Handlers by Lunatik's interfaces beside the interpreter that Lunatik has in the kernel, called per packet in the same way.

use super::{Case, Home, Implementation, Peer, Role, Work, case, peer};
use crate::contestant::{DROP, PASS};
use crate::frames;

/// How many times faster than the interpreter they must be.
const FASTER: f64 = 5.0;

/// Verdicts of netfilter (`NF_DROP`, `NF_ACCEPT`).
pub const NF_DROP: i32 = 0;
pub const NF_ACCEPT: i32 = 1;

const DNS: Peer = peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "lunatik_dns");
const DOCTOR: Peer = peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "lunatik_doctor");
const REJECT: Peer = peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "lunatik_reject");
const SNI: Peer = peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "lunatik_sni");

pub fn all() -> Vec<Work> {
    vec![
        work(
            "Lunatik, DNS names at netfilter",
            "lunatik_dns",
            vec![
                case("listed", network(frames::dns_question("malware.example.net")), NF_DROP),
                case("unlisted", network(frames::dns_question("www.open.example.net")), NF_ACCEPT),
                case("other port", network(frames::udp(5060, 128)), NF_ACCEPT),
            ],
            const { &[DNS] },
        ),
        Work {
            home: Home::LunatikAtTc,
            ..work(
                "Lunatik, DNS answers rewritten at tc",
                "lunatik_doctor",
                vec![
                    case("rewritten", network(frames::dns_answer("www.doctored.example", 2)), NF_ACCEPT),
                    case("other name", network(frames::dns_answer("www.open.example.net", 2)), NF_ACCEPT),
                    case("other port", network(frames::udp(5060, 128)), NF_ACCEPT),
                ],
                const { &[DOCTOR] },
            )
        },
        work(
            "Lunatik, RST of a copy at netfilter",
            "lunatik_reject",
            vec![
                case("refused", network(frames::tcp(7001)), NF_DROP),
                case("other port", network(frames::tcp(443)), NF_ACCEPT),
                case("UDP", network(frames::udp(7001, 128)), NF_ACCEPT),
            ],
            const { &[REJECT] },
        ),
        Work {
            home: Home::LunatikAtXdp,
            ..work(
                "Lunatik, SNI by offsets at XDP",
                "lunatik_sni",
                vec![
                    case("listed", frames::client_hello("blocked.example.org"), DROP),
                    case("unlisted", frames::client_hello("www.open.example.org"), PASS),
                ],
                const { &[SNI] },
            )
        },
    ]
}

/// A frame from its network header on, as netfilter has it and a test run takes it (`bpf_prog_test_run_nf`, net/bpf/test_run.c).
fn network(frame: Vec<u8>) -> Vec<u8> {
    frame[14..].to_vec()
}

fn work(title: &'static str, script: &'static str, cases: Vec<Case>, peers: &'static [Peer]) -> Work {
    Work {
        title,
        at_most: None,
        whole: false,
        faster: FASTER,
        script,
        home: Home::LunatikAtNetfilter,
        list_file: None,
        list: Vec::new(),
        table: None,
        chain: None,
        cases,
        peers,
    }
}
