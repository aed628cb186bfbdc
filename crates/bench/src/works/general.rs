//! Handlers in ordinary Lua: patterns, tables, strings and closures at packet time.

use super::{Case, Fill, Home, Implementation, Peer, Role, Work, case, peer};
use crate::contestant::{DROP, PASS};
use crate::frames;

/// How many times faster than the interpreter these works must be.
const GENERAL_FASTER: f64 = 5.0;

pub fn all() -> Vec<Work> {
    vec![
        same_text(
            "Pattern set",
            "patterns",
            vec![
                case("Linux", frames::http_get(Some("Mozilla/5.0 (X11; Linux x86_64) Gecko/128.0")), DROP),
                case("other", frames::http_get(Some("Mozilla/5.0 (Macintosh; Mac OS X) Gecko/128.0")), PASS),
            ],
            const { &[PATTERNS_JIT, PATTERNS_PUC] },
        ),
        same_text(
            "Word counts",
            "words",
            vec![
                case("offer", frames::udp_text(5060, &words("offer")), DROP),
                case("other", frames::udp_text(5060, &words("order")), PASS),
            ],
            const { &[WORDS_C, WORDS_JIT, WORDS_PUC] },
        ),
        same_text(
            "Flow name",
            "flow_name",
            vec![case("named", frames::udp(5060, 128), DROP), case("other", frames::udp(5061, 128), PASS)],
            const { &[FLOW_JIT, FLOW_PUC] },
        ),
        same_text(
            "Closures",
            "closures",
            vec![case("even", frames::udp(5061, 128), DROP), case("odd", frames::udp(5060, 128), PASS)],
            const { &[CLOSURES_C, CLOSURES_JIT, CLOSURES_PUC] },
        ),
    ]
}

const WORDS_C: Peer = peer("C, table of 64", Role::Reference, Implementation::C(Fill::Nothing), "words");
const CLOSURES_C: Peer = peer("C, inlined", Role::Reference, Implementation::C(Fill::Nothing), "closures");
const PATTERNS_PUC: Peer = peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "patterns");
const WORDS_PUC: Peer = peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "words");
const FLOW_PUC: Peer = peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "flow_name");
const CLOSURES_PUC: Peer = peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, "closures");
const PATTERNS_JIT: Peer = peer("LuaJIT", Role::UserSpace, Implementation::LuaJit, "patterns");
const WORDS_JIT: Peer = peer("LuaJIT", Role::UserSpace, Implementation::LuaJit, "words");
const FLOW_JIT: Peer = peer("LuaJIT", Role::UserSpace, Implementation::LuaJit, "flow_name");
const CLOSURES_JIT: Peer = peer("LuaJIT", Role::UserSpace, Implementation::LuaJit, "closures");

/// A work of bench/scripts: the Lua peers run the text that Moonhook compiles.
fn same_text(title: &'static str, script: &'static str, cases: Vec<Case>, peers: &'static [Peer]) -> Work {
    Work {
        title,
        at_most: None,
        whole: false,
        faster: GENERAL_FASTER,
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

/// A text of 30 words, 10 of them `frequent`; all others are less frequent.
fn words(frequent: &str) -> String {
    const OTHERS: [&str; 10] =
        ["the", "report", "of", "Monday", "says", "that", "delivery", "is", "due", "2026"];
    let groups =
        OTHERS.chunks(2).cycle().zip(0..10).map(|(pair, _)| format!("{} {}, {frequent}; ", pair[0], pair[1]));
    groups.collect()
}
