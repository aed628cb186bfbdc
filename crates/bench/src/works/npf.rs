//! What NPF's experiments with Lua are about: fields by layouts, headers behind headers, and texts in what packets carry. There Lua took 10 to 15 % of
//! the throughput; here it may take 1 %.

use super::{Case, Fill, Home, Implementation, Peer, Role, Work, case, peer};
use crate::contestant::{DROP, PASS};
use crate::frames;

/// `PORT` of bench/c/layouts.c, and of the script.
const PORT: u16 = 5060;

/// What bench/c/npf_payload.c and the script search.
const TEXT: &str = "MALICIOUS VALUE";

/// What a frame may take of what it takes with C: one hundredth more.
const AT_MOST: f64 = 1.01;

pub fn all() -> Vec<Work> {
    let listed = frames::http_get(Some(&format!("Mozilla/5.0 (X11; {TEXT}) MORE")));
    let unlisted = frames::http_get(Some("Mozilla/5.0 (X11; MALICIOUS VALVE) MORE"));
    vec![
        work(
            "NPF, access by layout",
            "npf_access",
            vec![case("passed", frames::udp(PORT, 100), PASS)],
            const { &[peer("C", Role::Reference, Implementation::C(Fill::Nothing), "npf_access")] },
        ),
        Work {
            home: Home::Examples,
            ..work(
                "NPF, layouts of headers",
                "layouts",
                vec![case("long", frames::udp(PORT, 300), DROP), case("short", frames::udp(PORT, 100), PASS)],
                const { &[peer("C", Role::Reference, Implementation::C(Fill::Nothing), "layouts")] },
            )
        },
        work(
            "NPF, text in a segment",
            "npf_payload",
            vec![case("found", listed, DROP), case("not found", unlisted, PASS)],
            const { &[peer("C", Role::Reference, Implementation::C(Fill::Nothing), "npf_payload")] },
        ),
    ]
}

fn work(title: &'static str, script: &'static str, cases: Vec<Case>, peers: &'static [Peer]) -> Work {
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
