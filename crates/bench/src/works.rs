//! The works that are measured, and who takes part in each: one row per work.

use std::path::{Path, PathBuf};

use crate::contestant::{Contestant, DROP, PASS};
use crate::error::Error;
use crate::frames;
use crate::kernel::KernelProgram;
use crate::lists::{self, LISTED_AGENT, ONE_NAME, UNLISTED_AGENT, UNLISTED_NAME};
use crate::luajit::LuaJit;
use crate::puc::PucLua;

/// `PORT` of bench/c/length_check.c and its Lua counterparts.
const LENGTH_CHECK_PORT: u16 = 5060;

/// A job, the frames it is measured with and the programs that do it.
pub struct Work {
    pub title: &'static str,
    /// What Moonhook may cost, as a multiple of what the contestant [`Role::Reference`] costs; None where that is shown only.
    pub at_most: Option<f64>,
    /// How many times faster than [`Role::Interpreter`] Moonhook must be.
    pub faster: f64,
    /// The script, without extension.
    pub script: &'static str,
    pub home: Home,
    /// The file next to the script from which it reads its list.
    pub list_file: Option<&'static str>,
    pub list: Vec<String>,
    pub cases: Vec<Case>,
    pub peers: &'static [Peer],
}

/// Where a work's script is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// examples/
    Examples,
    /// bench/scripts/: the Lua peers run the same text.
    Bench,
}

/// A frame and what is right about it.
pub struct Case {
    pub title: &'static str,
    pub frame: Vec<u8>,
    pub verdict: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The empty program: what a repetition costs by itself.
    Floor,
    Moonhook,
    /// The C program that the target is about.
    Reference,
    /// The interpreter that Moonhook must be faster than, by [`Work::faster`].
    Interpreter,
    /// Other C, shown for comparison.
    Other,
    /// Other Lua, shown for comparison.
    UserSpace,
}

/// A peer and how to start it.
pub struct Peer {
    pub title: &'static str,
    pub role: Role,
    kind: Kind,
    /// File name without extension, in bench/c, bench/puc or bench/luajit.
    source: &'static str,
}

#[derive(Clone, Copy)]
enum Kind {
    C(Fill),
    Puc,
    LuaJit,
}

/// How the list gets into a C program's map.
#[derive(Clone, Copy)]
enum Fill {
    Nothing,
    PaddedNames,
    HashedNames,
    HashedAgents,
}

const fn peer(title: &'static str, role: Role, kind: Kind, source: &'static str) -> Peer {
    Peer { title, role, kind, source }
}

/// All works, in the order of the table.
pub fn all() -> Vec<Work> {
    let mut works = expanded();
    works.extend(general());
    works
}

/// Filters that become straight code.
fn expanded() -> Vec<Work> {
    vec![
        Work {
            title: "SNI, one name",
            at_most: Some(1.25),
            faster: 10.0,
            script: "sni_filter",
            home: Home::Examples,
            list_file: Some("blocklist.txt"),
            list: lists::names(1),
            cases: sni_cases(),
            peers: const {
                &[
                    peer("C, inline compare", Role::Reference, Kind::C(Fill::Nothing), "sni_one"),
                    peer("LuaJIT", Role::UserSpace, Kind::LuaJit, "sni"),
                    peer("PUC Lua 5.5", Role::Interpreter, Kind::Puc, "sni"),
                ]
            },
        },
        Work {
            title: "SNI, 10,000 names",
            at_most: Some(1.0),
            faster: 10.0,
            script: "sni_filter",
            home: Home::Examples,
            list_file: Some("blocklist.txt"),
            list: lists::names(10_000),
            cases: sni_cases(),
            peers: const {
                &[
                    peer("C, 64-byte key", Role::Reference, Kind::C(Fill::PaddedNames), "sni_hash"),
                    peer("C, hash as key", Role::Other, Kind::C(Fill::HashedNames), "sni_hash_u64"),
                    peer("LuaJIT", Role::UserSpace, Kind::LuaJit, "sni"),
                    peer("PUC Lua 5.5", Role::Interpreter, Kind::Puc, "sni"),
                ]
            },
        },
        Work {
            title: "User-Agent pattern",
            at_most: Some(1.25),
            faster: 10.0,
            script: "user_agent",
            home: Home::Examples,
            list_file: Some("agents.txt"),
            list: lists::agents(),
            cases: vec![
                case("listed", frames::http_get(Some(LISTED_AGENT)), DROP),
                case("unlisted", frames::http_get(Some(UNLISTED_AGENT)), PASS),
                case("no such header", frames::http_get(None), PASS),
            ],
            peers: const {
                &[
                    peer("C, 8 bytes a step", Role::Reference, Kind::C(Fill::HashedAgents), "user_agent"),
                    peer("C, in a copy", Role::Other, Kind::C(Fill::HashedAgents), "user_agent_copy"),
                    peer("LuaJIT, by hand", Role::UserSpace, Kind::LuaJit, "user_agent_by_hand"),
                    peer("LuaJIT, string.match", Role::UserSpace, Kind::LuaJit, "user_agent_match"),
                    peer("PUC Lua 5.5", Role::Interpreter, Kind::Puc, "user_agent"),
                ]
            },
        },
        Work {
            title: "UDP length check",
            at_most: Some(1.1),
            faster: 10.0,
            script: "length_check",
            home: Home::Examples,
            list_file: None,
            list: Vec::new(),
            cases: vec![
                case("long", frames::udp(LENGTH_CHECK_PORT, 300), DROP),
                case("short", frames::udp(LENGTH_CHECK_PORT, 100), PASS),
            ],
            peers: const {
                &[
                    peer("C", Role::Reference, Kind::C(Fill::Nothing), "length_check"),
                    peer("LuaJIT", Role::UserSpace, Kind::LuaJit, "length_check"),
                    peer("PUC Lua 5.5", Role::Interpreter, Kind::Puc, "length_check"),
                ]
            },
        },
    ]
}

/// How many times faster than the interpreter works of [`general`] must be.
const GENERAL_FASTER: f64 = 5.0;

/// Handlers in ordinary Lua: patterns, tables, strings and closures at packet time.
fn general() -> Vec<Work> {
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

const WORDS_C: Peer = peer("C, table of 64", Role::Reference, Kind::C(Fill::Nothing), "words");
const CLOSURES_C: Peer = peer("C, inlined", Role::Reference, Kind::C(Fill::Nothing), "closures");
const PATTERNS_PUC: Peer = peer("PUC Lua 5.5", Role::Interpreter, Kind::Puc, "patterns");
const WORDS_PUC: Peer = peer("PUC Lua 5.5", Role::Interpreter, Kind::Puc, "words");
const FLOW_PUC: Peer = peer("PUC Lua 5.5", Role::Interpreter, Kind::Puc, "flow_name");
const CLOSURES_PUC: Peer = peer("PUC Lua 5.5", Role::Interpreter, Kind::Puc, "closures");
const PATTERNS_JIT: Peer = peer("LuaJIT", Role::UserSpace, Kind::LuaJit, "patterns");
const WORDS_JIT: Peer = peer("LuaJIT", Role::UserSpace, Kind::LuaJit, "words");
const FLOW_JIT: Peer = peer("LuaJIT", Role::UserSpace, Kind::LuaJit, "flow_name");
const CLOSURES_JIT: Peer = peer("LuaJIT", Role::UserSpace, Kind::LuaJit, "closures");

/// A work of bench/scripts: the Lua peers run the text that Moonhook compiles.
fn same_text(title: &'static str, script: &'static str, cases: Vec<Case>, peers: &'static [Peer]) -> Work {
    Work {
        title,
        at_most: None,
        faster: GENERAL_FASTER,
        script,
        home: Home::Bench,
        list_file: None,
        list: Vec::new(),
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

impl Work {
    /// The file name of the compiled script: `sni_filter-10000.bpf.o`, with the length of the list if there is one.
    pub fn object_name(&self) -> String {
        match self.list_file {
            Some(_) => format!("{}-{}.bpf.o", self.script, self.list.len()),
            None => format!("{}.bpf.o", self.script),
        }
    }
}

impl Role {
    pub fn in_kernel(self) -> bool {
        self != Role::Interpreter && self != Role::UserSpace
    }
}

fn case(title: &'static str, frame: Vec<u8>, verdict: u32) -> Case {
    Case { title, frame, verdict }
}

fn sni_cases() -> Vec<Case> {
    vec![
        case("listed", frames::client_hello(ONE_NAME), DROP),
        case("unlisted", frames::client_hello(UNLISTED_NAME), PASS),
    ]
}

/// Where a work's peers find what they need.
pub struct Places<'a> {
    /// bench/
    pub sources: &'a Path,
    /// Compiled C programs, `NAME.bpf.o`.
    pub objects: &'a Path,
    /// The work's list, one item per line.
    pub list: &'a Path,
    /// One file per case.
    pub frames: &'a [PathBuf],
}

impl Peer {
    /// The name of the C source in bench/c, for a peer that has one.
    pub fn c_source(&self) -> Option<&'static str> {
        matches!(self.kind, Kind::C(_)).then_some(self.source)
    }

    pub fn start(&self, work: &Work, places: &Places) -> Result<Box<dyn Contestant>, Error> {
        let frames: Vec<_> = work.cases.iter().map(|case| case.frame.clone()).collect();
        Ok(match self.kind {
            Kind::C(fill) => {
                let path = places.objects.join(format!("{}.bpf.o", self.source));
                let program = KernelProgram::load(&path, &frames)?;
                fill.apply(&program, &work.list)?;
                Box::new(program)
            }
            Kind::Puc => {
                let script = places.sources.join(format!("puc/{}.lua", self.source));
                Box::new(PucLua::open(&script, places.list, &frames)?)
            }
            Kind::LuaJit => {
                let script = places.sources.join(format!("luajit/{}.lua", self.source));
                Box::new(LuaJit::start(&script, places.list, places.frames)?)
            }
        })
    }
}

impl Fill {
    fn apply(self, program: &KernelProgram, list: &[String]) -> Result<(), Error> {
        match self {
            Fill::Nothing => Ok(()),
            Fill::PaddedNames => {
                let key = |name: &String| Some((lists::padded_key(name)?, [1]));
                program.fill("names", &list.iter().filter_map(key).collect::<Vec<_>>())
            }
            Fill::HashedNames => program.fill("names", &hashed_entries::<64>(list)),
            Fill::HashedAgents => program.fill("agents", &hashed_entries::<256>(list)),
        }
    }
}

fn hashed_entries<const BYTES: usize>(list: &[String]) -> Vec<([u8; 8], Vec<u8>)> {
    list.iter().filter_map(|text| lists::hashed_entry::<BYTES>(text)).collect()
}
