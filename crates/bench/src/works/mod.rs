//! The works that are measured, and who takes part in each: one row per work.

mod expanded;
mod general;
mod shared;

use std::path::{Path, PathBuf};

use crate::contestant::{Contestant, DROP, PASS};
use crate::error::Error;
use crate::frames;
use crate::kernel::KernelProgram;
use crate::lists::{self, ONE_NAME, UNLISTED_NAME};
use crate::luajit::LuaJit;
use crate::puc::PucLua;

/// A job, the frames it is measured with and the programs that do it.
pub struct Work {
    pub title: &'static str,
    /// What Moonhook may cost, as a multiple of what the contestant [`Role::Reference`] costs; None where that is shown only.
    pub at_most: Option<f64>,
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
    /// As the shared table of that name ([`Work::table`]).
    SharedTable,
}

const fn peer(title: &'static str, role: Role, kind: Implementation, source: &'static str) -> Peer {
    Peer { title, role, kind, source }
}

/// All works, in the order of the table.
pub fn all() -> Vec<Work> {
    [expanded::all(), shared::all(), general::all()].into_iter().flatten().collect()
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
    /// The work's list, one item per line.
    pub list: &'a Path,
    /// One file per case.
    pub frames: &'a [PathBuf],
}

impl Peer {
    /// The name of the C source in bench/c, for a peer that has one.
    pub fn c_source(&self) -> Option<&'static str> {
        matches!(self.kind, Implementation::C(_)).then_some(self.source)
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
            Implementation::Puc => {
                let script = places.sources.join(format!("puc/{}.lua", self.source));
                Box::new(PucLua::open(&script, places.list, &frames)?)
            }
            Implementation::LuaJit => {
                let script = places.sources.join(format!("luajit/{}.lua", self.source));
                Box::new(LuaJit::start(&script, places.list, places.frames)?)
            }
        })
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
