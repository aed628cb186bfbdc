//! The works that are measured, and who takes part in each: one row per work.

pub mod composed;
mod expanded;
mod general;
mod lunatik;
mod shared;
pub mod table;

pub use lunatik::{NF_ACCEPT, NF_DROP};

use std::path::{Path, PathBuf};

use crate::contestant::{Contestant, DROP, PASS};
use crate::error::Error;
use crate::frames;
use crate::hike;
use crate::kernel::KernelProgram;
use crate::lists::{self, ONE_NAME, UNLISTED_NAME};
use crate::luajit::LuaJit;
use crate::puc::PucLua;

/// A job, the frames it is measured with and the programs that do it.
pub struct Work {
    pub title: &'static str,
    /// What Moonhook may cost, as a multiple of what the contestant [`Role::Reference`] costs; None where that is shown only.
    pub at_most: Option<f64>,
    /// It is about throughput: costs are compared with what a frame takes that travels.
    pub whole: bool,
    /// How many times faster than [`Role::Interpreter`] Moonhook must be, where there is one.
    pub faster: f64,
    /// The script, without extension.
    pub script: &'static str,
    pub home: Home,
    /// The file next to the script from which it reads its list.
    pub list_file: Option<&'static str>,
    pub list: Vec<String>,
    /// The script's shared table that has the list's items as keys, in every contestant; none if the list is in the code.
    pub table: Option<&'static str>,
    /// For a script of eCLAT: what its programs need.
    pub chain: Option<Chain>,
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
    /// bench/scripts/general/: the same, and the script becomes general code although it could be expanded.
    General,
    /// bench/lunatik/: the same, and the text is one for Lunatik. It has a handler at XDP,
    LunatikAtXdp,
    /// at netfilter,
    LunatikAtNetfilter,
    /// or one at netfilter that writes: it is tried where the kernel lets it, at tc.
    LunatikAtTc,
}

/// Of a chain of programs in C.
pub struct Chain {
    /// Entries of the programs' maps, in every contestant.
    pub entries: Vec<MapEntry>,
    /// What HIKe's virtual machine was seen to take for the same, in ns per packet with a floor of [`crate::results::RECORDED_FLOOR`]; one for each of
    /// the first cases.
    pub recorded: &'static [f64],
    /// The same for that machine.
    pub hike: hike::Chain,
}

pub struct MapEntry {
    pub map: &'static str,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

/// A frame and what is right about it.
pub struct Case {
    pub title: &'static str,
    pub frame: Vec<u8>,
    pub verdict: i32,
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
    /// HIKe's, which runs a chain.
    VirtualMachine,
    /// Other C, shown for comparison.
    Other,
    /// Other Lua, shown for comparison.
    UserSpace,
}

/// A peer and how to start it.
pub struct Peer {
    pub title: &'static str,
    pub role: Role,
    kind: Implementation,
    /// File name without extension, in bench/c, bench/puc or bench/luajit.
    source: &'static str,
}

#[derive(Clone, Copy)]
enum Implementation {
    C(Fill),
    /// The programs of a chain in one C program: bench/c, with what packages are compiled with.
    Unit,
    Puc,
    LuaJit,
}

/// A C source by its name without extension.
pub enum Source {
    Alone(&'static str),
    /// It includes programs of packages.
    Unit(&'static str),
}

/// How the list gets into a C program's map.
#[derive(Clone, Copy)]
enum Fill {
    Nothing,
    PaddedNames,
    HashedNames,
    HashedAgents,
    /// As the shared table of that name ([`Work::table`]).
    SharedTable,
}

/// The [`Peer::source`] of Lua peers that run the work's script itself.
pub const SAME_TEXT: &str = "same";

const fn peer(title: &'static str, role: Role, kind: Implementation, source: &'static str) -> Peer {
    Peer { title, role, kind, source }
}

impl Work {
    /// Of its chain.
    pub fn entries(&self) -> &[MapEntry] {
        self.chain.as_ref().map_or(&[], |chain| &chain.entries)
    }

    /// The script's file.
    pub fn file_name(&self) -> String {
        let extension = if self.chain.is_some() { "eclat" } else { "lua" };
        format!("{}.{extension}", self.script)
    }

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

fn case(title: &'static str, frame: Vec<u8>, verdict: i32) -> Case {
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
    /// The work's script.
    pub script: &'a Path,
    /// The work's list, one item per line.
    pub list: &'a Path,
    /// One file per case.
    pub frames: &'a [PathBuf],
}

impl Peer {
    /// The C source in bench/c, for a peer that has one.
    pub fn c_source(&self) -> Option<Source> {
        match self.kind {
            Implementation::C(_) => Some(Source::Alone(self.source)),
            Implementation::Unit => Some(Source::Unit(self.source)),
            Implementation::Puc | Implementation::LuaJit => None,
        }
    }

    pub fn start(&self, work: &Work, places: &Places) -> Result<Box<dyn Contestant>, Error> {
        let frames: Vec<_> = work.cases.iter().map(|case| case.frame.clone()).collect();
        Ok(match self.kind {
            Implementation::C(fill) => {
                let path = places.objects.join(format!("{}.bpf.o", self.source));
                let program = KernelProgram::load(&path, &frames)?;
                fill.apply(&program, work)?;
                Box::new(program)
            }
            Implementation::Unit => {
                let path = places.objects.join(format!("{}.bpf.o", self.source));
                let program = KernelProgram::load(&path, &frames)?;
                for MapEntry { map, key, value } in work.entries() {
                    program.fill(map, &[(key, value)])?;
                }
                Box::new(program)
            }
            Implementation::Puc => {
                let script = places.sources.join(format!("puc/{}.lua", self.source));
                Box::new(PucLua::open(&script, self.argument(places), &frames)?)
            }
            Implementation::LuaJit => {
                let script = places.sources.join(format!("luajit/{}.lua", self.source));
                Box::new(LuaJit::start(&script, self.argument(places), places.frames)?)
            }
        })
    }
}

impl Peer {
    /// What a Lua peer's script is given.
    fn argument<'a>(&self, places: &'a Places) -> &'a Path {
        if self.source == SAME_TEXT { places.script } else { places.list }
    }
}

impl Fill {
    fn apply(self, program: &KernelProgram, work: &Work) -> Result<(), Error> {
        let list = &work.list;
        match self {
            Fill::Nothing => Ok(()),
            Fill::PaddedNames => {
                let key = |name: &String| Some((lists::padded_key(name)?, [1]));
                program.fill("names", &list.iter().filter_map(key).collect::<Vec<_>>())
            }
            Fill::HashedNames => program.fill("names", &hashed_entries::<64>(list)),
            Fill::HashedAgents => program.fill("agents", &hashed_entries::<256>(list)),
            Fill::SharedTable => program.fill(work.table.unwrap_or_default(), &lists::shared_entries(list)),
        }
    }
}

fn hashed_entries<const BYTES: usize>(list: &[String]) -> Vec<([u8; 8], Vec<u8>)> {
    list.iter().filter_map(|text| lists::hashed_entry::<BYTES>(text)).collect()
}
