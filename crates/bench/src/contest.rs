//! One work at a time: builds what takes part, checks its verdicts, measures.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::Arguments;
use crate::error::Error;
use crate::hike::{self, VirtualMachine};
use crate::kernel::KernelProgram;
use crate::results::{ContestantResult, WorkResult};
use crate::rounds::{self, Entry};
use crate::script::ScriptProgram;
use crate::works::{Home, MapEntry, Places, Role, Source, Work};
use crate::{lists, process};

const CLANG: [&str; 7] = ["clang-19", "-O2", "-g", "-target", "bpf", "-mcpu=v4", "-Wall"];

/// Builds contestants, in a folder that goes away with it.
pub struct Builder<'a> {
    arguments: &'a Arguments,
    folder: TempDir,
}

impl<'a> Builder<'a> {
    pub fn new(arguments: &'a Arguments) -> Result<Self, Error> {
        let folder = TempDir::new().map_err(Error::system("make a temporary folder"))?;
        Ok(Builder { arguments, folder })
    }

    /// The cost of every contestant of the work. `progress` is called after each round.
    pub fn measure(&self, work: &Work, rounds: usize, progress: impl FnMut()) -> Result<WorkResult, Error> {
        let mut entries = self.entries(work)?;
        rounds::check(&mut entries, &work.cases)?;
        let costs = rounds::measure(&mut entries, &work.cases, rounds, progress)?;
        let contestants = entries
            .into_iter()
            .zip(costs)
            .map(|(entry, costs)| ContestantResult { title: entry.title, role: entry.role, costs })
            .collect();
        let cases = work.cases.iter().map(|case| case.title.to_string()).collect();
        Ok(WorkResult {
            title: work.title.into(),
            at_most: work.at_most,
            whole: work.whole,
            faster: work.faster,
            recorded: work.chain.as_ref().map_or(Vec::new(), |chain| chain.recorded.to_vec()),
            cases,
            contestants,
        })
    }

    fn entries(&self, work: &Work) -> Result<Vec<Entry>, Error> {
        let frames: Vec<_> = work.cases.iter().map(|case| case.frame.clone()).collect();
        let script = self.source(work);
        let list = self.write("list.txt", lists::text(&work.list).as_bytes())?;
        let mut files = Vec::new();
        for (index, frame) in frames.iter().enumerate() {
            files.push(self.write(&format!("frame{index}"), frame)?);
        }

        let mut entries = vec![self.floor_of(work, &frames)?];
        if !self.arguments.peers_only {
            let object = self.compiled_script(work)?;
            let program = match work.home {
                Home::LunatikAtTc => ScriptProgram::for_netfilter_at_tc(&object, &frames)?,
                _ => ScriptProgram::load(&object, &frames)?,
            };
            if let Some(table) = work.table {
                program.fill(table, &lists::shared_entries(&work.list))?;
            }
            for MapEntry { map, key, value } in work.entries() {
                program.fill(map, &[(key, value)])?;
            }
            entries.push(Entry {
                title: "Moonhook".into(),
                role: Role::Moonhook,
                contestant: Box::new(program),
            });
        }
        for peer in work.peers {
            match peer.c_source() {
                Some(Source::Alone(name)) => self.compile_c(name).map(drop)?,
                Some(Source::Unit(name)) => self.compile_unit(name, name, &[]).map(drop)?,
                None => {}
            }
            let places = Places {
                sources: &self.arguments.bench,
                objects: self.folder.path(),
                script: &script,
                list: &list,
                frames: &files,
            };
            let contestant = peer.start(work, &places)?;
            entries.push(Entry { title: peer.title.into(), role: peer.role, contestant });
        }
        if let (Some(chain), Some(checkouts)) = (&work.chain, hike::folder()) {
            let contestant = Box::new(self.virtual_machine(chain.hike, &checkouts, &frames)?);
            entries.push(Entry { title: hike::TITLE.into(), role: Role::VirtualMachine, contestant });
        }
        Ok(entries)
    }

    /// The empty program of the hook at which the work's script has its handler: what a test run takes by itself differs by hook.
    fn floor_of(&self, work: &Work, frames: &[Vec<u8>]) -> Result<Entry, Error> {
        let (title, program) = match work.home {
            Home::LunatikAtNetfilter => {
                let object = self.compile_c("empty_netfilter")?;
                ("empty netfilter program", ScriptProgram::load(&object, frames)?)
            }
            Home::LunatikAtTc => {
                let object = self.compile_c("empty_tc")?;
                ("empty tc program", ScriptProgram::for_netfilter_at_tc(&object, frames)?)
            }
            _ => return self.floor(frames),
        };
        Ok(Entry { title: title.into(), role: Role::Floor, contestant: Box::new(program) })
    }

    /// The empty program at XDP.
    pub fn floor(&self, frames: &[Vec<u8>]) -> Result<Entry, Error> {
        let contestant = Box::new(KernelProgram::load(&self.compile_c("empty")?, frames)?);
        Ok(Entry { title: "empty XDP program".into(), role: Role::Floor, contestant })
    }

    /// Compiles `bench/c/NAME.c`.
    pub fn compile_c(&self, name: &str) -> Result<PathBuf, Error> {
        self.compile(name, name, &[])
    }

    /// Compiles `bench/c/NAME.c`, which includes programs of packages, to `OBJECT.bpf.o`.
    pub fn compile_unit(&self, name: &str, object: &str, options: &[String]) -> Result<PathBuf, Error> {
        let headers = self.arguments.headers.display();
        let words = [format!("-isystem{headers}"), format!("-include{headers}/hike.h")];
        self.compile(name, object, &[&words, options].concat())
    }

    fn compile(&self, name: &str, object: &str, more: &[String]) -> Result<PathBuf, Error> {
        let object = self.folder.path().join(format!("{object}.bpf.o"));
        let [clang, options @ ..] = CLANG;
        // Debian keeps <asm/types.h> there; clang does not look for it when the target is bpf.
        let headers = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
        let mut command = Command::new(clang);
        command.args(options).args(more).arg("-I").arg(headers).arg("-c");
        command.arg(self.arguments.bench.join(format!("c/{name}.c"))).arg("-o").arg(&object);
        process::run(&mut command)?;
        Ok(object)
    }

    fn virtual_machine(
        &self,
        chain: hike::Chain,
        checkouts: &Path,
        frames: &[Vec<u8>],
    ) -> Result<VirtualMachine, Error> {
        let object = self.folder.path().join("hike_vm.bpf.o");
        hike::compile(&self.arguments.bench.join("c/hike_vm.c"), checkouts, &object)?;
        VirtualMachine::load(&object, chain, frames)
    }

    /// The object of the work's script: of `--objects`, or built now.
    fn compiled_script(&self, work: &Work) -> Result<PathBuf, Error> {
        let name = work.object_name();
        if let Some(folder) = &self.arguments.objects {
            return Ok(folder.join(name));
        }
        let object = self.folder.path().join(name);
        let options: &[&str] = match work.home {
            Home::LunatikAtXdp | Home::LunatikAtNetfilter => &["--root", "."],
            Home::LunatikAtTc => &["--root", ".", "--at", "tcx"],
            Home::General => &["--form", "general"],
            Home::Examples | Home::Bench => &[],
        };
        self.build_with(&self.script(work)?, &object, options)?;
        Ok(object)
    }

    /// Compiles a script to an object.
    pub fn build(&self, script: &Path, object: &Path) -> Result<(), Error> {
        self.build_with(script, object, &[])
    }

    fn build_with(&self, script: &Path, object: &Path, options: &[&str]) -> Result<(), Error> {
        let mut command = self.moonhook("build");
        command.args(options).arg(script).arg("-o").arg(object);
        process::run(&mut command).map(drop)
    }

    /// A command of moonhook's that takes a script, with what those of eCLAT need. What clang makes of packages is kept for this run only.
    pub fn moonhook(&self, command: &str) -> Command {
        let Arguments { moonhook, packages, bench, .. } = self.arguments;
        let mut moonhook = Command::new(moonhook);
        moonhook.env("XDG_CACHE_HOME", self.folder.path().join("cache")).arg(command);
        moonhook.arg("--packages").arg(packages).arg("--packages").arg(bench.join("packages"));
        moonhook.args(["-D", "DEVNAME", "lo"]);
        moonhook
    }

    /// A copy of the work's script, with the work's list in place of the example's.
    pub fn script(&self, work: &Work) -> Result<PathBuf, Error> {
        let (file, source) = (work.file_name(), self.source(work));
        let text = std::fs::read(&source).map_err(Error::system(format!("read {}", source.display())))?;
        if let Some(name) = work.list_file {
            self.write(name, lists::text(&work.list).as_bytes())?;
        }
        self.write(&file, &text)
    }

    /// Where the work's script is.
    fn source(&self, work: &Work) -> PathBuf {
        let Arguments { bench, examples, .. } = self.arguments;
        let folder = match work.home {
            Home::Examples => examples.clone(),
            Home::Bench => bench.join("scripts"),
            Home::General => bench.join("scripts/general"),
            Home::LunatikAtXdp | Home::LunatikAtNetfilter | Home::LunatikAtTc => bench.join("lunatik"),
        };
        folder.join(work.file_name())
    }

    /// The script `examples/NAME.lua`.
    pub fn example(&self, name: &str) -> PathBuf {
        self.arguments.examples.join(format!("{name}.lua"))
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).map_err(Error::system(format!("write {}", path.display())))?;
        Ok(path)
    }
}
