//! Contestants in the kernel: an XDP program of an ELF object, run by BPF_PROG_TEST_RUN.
//!
//! The kernel repeats the run by itself; what one repetition costs without a program is the floor, measured by an empty one.

use std::path::Path;

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput, ProgramType};

use crate::contestant::{Contestant, Run, timed};
use crate::error::Error;

pub struct KernelProgram {
    name: String,
    frames: Vec<Vec<u8>>,
    object: Object,
}

impl KernelProgram {
    /// Loads `path`, which must hold an XDP program, and puts `entries` (keys and values) into its map `map`.
    pub fn load(path: &Path, frames: &[Vec<u8>]) -> Result<Self, Error> {
        let failed = |error| Error::Kernel { path: path.into(), error };
        let object = ObjectBuilder::default()
            .open_file(path)
            .map_err(failed)?
            .load()
            .map_err(|error| Error::Kernel { path: path.into(), error })?;
        if !object.progs().any(|program| program.prog_type() == ProgramType::Xdp) {
            return Err(Error::NoProgram { path: path.into() });
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(KernelProgram { name, frames: frames.to_vec(), object })
    }

    /// Puts entries into the map `map`.
    pub fn fill<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        map: &str,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(), Error> {
        let failed = |message: String| Error::Peer { contestant: self.name.clone(), message };
        let map = self
            .object
            .maps()
            .find(|candidate| candidate.name() == map)
            .ok_or_else(|| failed(format!("has no map '{map}'")))?;
        for (key, value) in entries {
            map.update(key.as_ref(), value.as_ref(), MapFlags::NO_EXIST)
                .map_err(|error| failed(format!("cannot fill its map: {error}")))?;
        }
        Ok(())
    }
}

impl Contestant for KernelProgram {
    fn run(&mut self, frame: usize, repeat: u32) -> Result<Run, Error> {
        let program = self
            .object
            .progs_mut()
            .find(|program| program.prog_type() == ProgramType::Xdp)
            .ok_or_else(|| Error::NoProgram { path: self.name.clone().into() })?;
        let (ns_per_packet, output) = timed(repeat, || {
            let input =
                ProgramInput { data_in: Some(&self.frames[frame]), repeat, ..ProgramInput::default() };
            program
                .test_run(input)
                .map(|output| output.return_value)
                .map_err(|error| Error::TestRun { contestant: self.name.clone(), error })
        })?;
        Ok(Run { ns_per_packet, verdict: output })
    }
}
