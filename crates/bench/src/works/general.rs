//! Handlers in ordinary Lua: patterns, tables, strings and closures at packet time.

use super::{Case, Fill, Home, Implementation, Peer, Role, SAME_TEXT, Work, case, peer};
use crate::contestant::{DROP, PASS};
use crate::frames;

/// How many times faster than the interpreter these works must be.
const FASTER: f64 = 5.0;
/// The same for those that nothing but general code takes, and for single constructs.
const WHOLE_FASTER: f64 = 2.0;

pub fn all() -> Vec<Work> {
    let mut all = patterns_and_tables();
    all.extend(whole());
    all.extend(single());
    all
}

fn patterns_and_tables() -> Vec<Work> {
    vec![
        same_text(
            "Pattern set",
            "patterns",
            vec![
                case("Linux", frames::http_get(Some("Mozilla/5.0 (X11; Linux x86_64) Gecko/128.0")), DROP),
                case("other", frames::http_get(Some("Mozilla/5.0 (Macintosh; Mac OS X) Gecko/128.0")), PASS),
            ],
            LUA,
        ),
        same_text(
            "Word counts",
            "words",
            vec![
                case("offer", frames::udp_text(5060, &words("offer")), DROP),
                case("other", frames::udp_text(5060, &words("order")), PASS),
            ],
            const { &[WORDS_C, JIT, PUC] },
        ),
        same_text(
            "Flow name",
            "flow_name",
            vec![case("named", frames::udp(5060, 128), DROP), case("other", frames::udp(5061, 128), PASS)],
            LUA,
        ),
        same_text(
            "Closures",
            "closures",
            vec![case("even", frames::udp(5061, 128), DROP), case("odd", frames::udp(5060, 128), PASS)],
            const { &[CLOSURES_C, JIT, PUC] },
        ),
    ]
}

/// Programs of Lua as people write them, in general code.
fn whole() -> Vec<Work> {
    let names = frames::dns_question;
    let text = |text: &str| frames::udp_text(5060, text);
    let both = |drop: (&'static str, Vec<u8>), pass: (&'static str, Vec<u8>)| {
        vec![case(drop.0, drop.1, DROP), case(pass.0, pass.1, PASS)]
    };
    let json = |alarm| {
        text(&format!(
            r#"{{"sensor": "boiler \"2\"", "alarm": {alarm}, "readings": [17, 23, 39, 41, 8], "place": {{"floor": 3, "room": "b"}}}}"#
        ))
    };
    let ports = [frames::udp(5060, 158), frames::udp(5061, 158)];
    let works = [
        ("JSON parse", "json", both(("alarm", json(true)), ("none", json(false)))),
        ("Objects", "objects", both(("sip", ports[0].clone()), ("other", ports[1].clone()))),
        (
            "DNS names",
            "dns_names",
            both(("below", names("www.tracker.example.org")), ("unlisted", names("www.open.example.org"))),
        ),
        ("Template", "template", both(("sip", ports[0].clone()), ("other", ports[1].clone()))),
        ("LRU cache", "lru", both(("few words", text(&words("offer"))), ("many words", text(MANY_WORDS)))),
    ];
    let sha = both(("even", text("0123456789")), ("odd", text("x")));
    let mut all: Vec<Work> =
        works.into_iter().map(|(title, script, cases)| in_general(title, script, cases, LUA)).collect();
    all.push(in_general("SHA-256", "sha256", sha, const { &[SHA_JIT, PUC] }));
    all
}

/// One construct, over and over.
fn single() -> Vec<Work> {
    const CONSTRUCTS: [(&str, &str); 14] = [
        ("Lua: field", "field"),
        ("Lua: method", "method"),
        ("Lua: inherited method", "inherited"),
        ("Lua: string method", "string_method"),
        ("Lua: array get", "array_get"),
        ("Lua: array set", "array_set"),
        ("Lua: %", "modulo"),
        ("Lua: call", "call"),
        ("Lua: closure", "closure"),
        ("Lua: s:byte", "byte"),
        ("Lua: s:sub", "sub"),
        ("Lua: loop", "loop"),
        ("Lua: concatenation", "concat"),
        ("Lua: new table", "new_table"),
    ];
    let frame = || vec![case("udp", frames::udp(5061, 128), DROP)];
    CONSTRUCTS.iter().map(|(title, script)| in_general(title, script, frame(), LUA)).collect()
}

const MANY_WORDS: &str =
    "a quick brown fox jumps over the lazy dog while seven other animals look on and wonder what comes next";

/// The Lua peers run the text that Moonhook compiles.
const LUA: &[Peer] = &[JIT, PUC];
const JIT: Peer = peer("LuaJIT", Role::UserSpace, Implementation::LuaJit, SAME_TEXT);
const PUC: Peer = peer("PUC Lua 5.5", Role::Interpreter, Implementation::Puc, SAME_TEXT);
const WORDS_C: Peer = peer("C, table of 64", Role::Reference, Implementation::C(Fill::Nothing), "words");
const CLOSURES_C: Peer = peer("C, inlined", Role::Reference, Implementation::C(Fill::Nothing), "closures");
/// LuaJIT has no operators for bits: the text with its functions for them.
const SHA_JIT: Peer = peer("LuaJIT", Role::UserSpace, Implementation::LuaJit, "sha256");

/// A work of bench/scripts: the Lua peers run the text that Moonhook compiles.
fn same_text(title: &'static str, script: &'static str, cases: Vec<Case>, peers: &'static [Peer]) -> Work {
    Work {
        title,
        at_most: None,
        whole: false,
        faster: FASTER,
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

/// The same with a script of bench/scripts/general, in general code.
fn in_general(title: &'static str, script: &'static str, cases: Vec<Case>, peers: &'static [Peer]) -> Work {
    Work { faster: WHOLE_FASTER, home: Home::General, ..same_text(title, script, cases, peers) }
}

/// A text of 30 words, 10 of them `frequent`; all others are less frequent.
fn words(frequent: &str) -> String {
    const OTHERS: [&str; 10] =
        ["the", "report", "of", "Monday", "says", "that", "delivery", "is", "due", "2026"];
    let groups =
        OTHERS.chunks(2).cycle().zip(0..10).map(|(pair, _)| format!("{} {}, {frequent}; ", pair[0], pair[1]));
    groups.collect()
}
