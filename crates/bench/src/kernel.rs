//! Contestants in the kernel: an XDP program of an ELF object, run by BPF_PROG_TEST_RUN.
//!
//! The kernel repeats the run by itself; what one repetition costs without a program is the floor, measured by an empty one.
//! Where the kernel puts a program's machine code changes its cost by some tenths of a ns, so each is loaded several times
//! and the runs take turns.

use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput, ProgramType};

use crate::contestant::{Contestant, Run, timed};
use crate::error::Error;

/// How often a program is loaded.
pub const INSTANCES: usize = 7;

pub struct KernelProgram {
    path: PathBuf,
    frames: Vec<Vec<u8>>,
    instances: Vec<Object>,
    /// Of all runs so far; tells whose turn it is.
    runs: usize,
}

impl KernelProgram {
    /// Loads `path`, which must hold an XDP program.
    pub fn load(path: &Path, frames: &[Vec<u8>]) -> Result<Self, Error> {
        let instances = (0..INSTANCES).map(|_| load(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(KernelProgram { path: path.into(), frames: frames.to_vec(), instances, runs: 0 })
    }

    /// Puts entries (keys and values) into the map `map`.
    pub fn fill<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, map: &str, entries: &[(K, V)]) -> Result<(), Error> {
        for object in &self.instances {
            let map = object
                .maps()
                .find(|candidate| candidate.name() == map)
                .ok_or_else(|| self.failed(format!("has no map '{map}'")))?;
            for (key, value) in entries {
                map.update(key.as_ref(), value.as_ref(), MapFlags::ANY)
                    .map_err(|error| self.failed(format!("cannot fill its map: {error}")))?;
            }
        }
        Ok(())
    }

    fn failed(&self, message: String) -> Error {
        Error::Peer { contestant: self.path.display().to_string(), message }
    }
}

fn load(path: &Path) -> Result<Object, Error> {
    let failed = |error| Error::Kernel { path: path.into(), error };
    let mut object = ObjectBuilder::default().open_file(path).map_err(failed)?;
    // libbpf does not know what the sections of packages' loaders are for.
    for mut program in object.progs_mut() {
        program.set_prog_type(ProgramType::Xdp);
    }
    let object = object.load().map_err(failed)?;
    let found = object.progs().any(|program| program.prog_type() == ProgramType::Xdp);
    match found {
        true => Ok(object),
        false => Err(Error::NoProgram { path: path.into() }),
    }
}

impl Contestant for KernelProgram {
    fn run(&mut self, frame: usize, repeat: u32) -> Result<Run, Error> {
        self.runs += 1;
        let program = self.instances[self.runs % INSTANCES]
            .progs_mut()
            .find(|program| program.prog_type() == ProgramType::Xdp)
            .ok_or_else(|| Error::NoProgram { path: self.path.clone() })?;
        let (ns_per_packet, verdict) = timed(repeat, || {
            let input =
                ProgramInput { data_in: Some(&self.frames[frame]), repeat, ..ProgramInput::default() };
            program
                .test_run(input)
                .map(|output| output.return_value.cast_signed())
                .map_err(|error| Error::TestRun { contestant: self.path.display().to_string(), error })
        })?;
        Ok(Run { ns_per_packet, verdict })
    }
}
