//! Moonhook as a contestant: a compiled script, loaded as `moonhook` loads it, because an arena has to be given its pages.

use std::path::Path;

use moonhook_install::{LoadOptions, Program};

use crate::contestant::{Contestant, Run, timed};
use crate::error::Error;
use crate::kernel::INSTANCES;
use crate::works::{NF_ACCEPT, NF_DROP};

/// What the link has in front of a packet of IPv4: its type stands last.
const LINK_HEADER: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];

/// Verdicts of tc (`TCX_NEXT`, `TC_ACT_OK`, `TC_ACT_SHOT`).
const TCX_NEXT: i32 = -1;
const TC_OK: i32 = 0;
const TC_SHOT: i32 = 2;

pub struct ScriptProgram {
    path: String,
    /// The program's name in each instance.
    name: String,
    frames: Vec<Vec<u8>>,
    instances: Vec<Program>,
    /// Of all runs so far; tells whose turn it is.
    runs: usize,
    /// The handler's verdict by the program's.
    verdict: fn(i32) -> i32,
}

/// The verdict of netfilter that the program at tc has given as one of tc's; others stay what they are, and are wrong.
fn of_netfilter(verdict: i32) -> i32 {
    match verdict {
        TCX_NEXT | TC_OK => NF_ACCEPT,
        TC_SHOT => NF_DROP,
        // Not to be taken for one of netfilter's.
        other => i32::MIN | other,
    }
}

impl ScriptProgram {
    /// The same of a handler of netfilter that runs at tc. The frames begin with their network header, as netfilter has them.
    pub fn for_netfilter_at_tc(path: &Path, frames: &[Vec<u8>]) -> Result<Self, Error> {
        let whole: Vec<Vec<u8>> = frames.iter().map(|frame| [&LINK_HEADER[..], frame].concat()).collect();
        Ok(ScriptProgram { verdict: of_netfilter, ..Self::load(path, &whole)? })
    }

    /// Loads the object `path`, [`INSTANCES`] times.
    pub fn load(path: &Path, frames: &[Vec<u8>]) -> Result<Self, Error> {
        let elf = std::fs::read(path).map_err(Error::system(format!("read {}", path.display())))?;
        let failed = |error: moonhook_install::InstallError| Error::Peer {
            contestant: path.display().to_string(),
            message: error.to_string(),
        };
        let instance = |_| moonhook_install::load(&elf, &LoadOptions::default()).map_err(failed);
        let instances = (0..INSTANCES).map(instance).collect::<Result<Vec<_>, _>>()?;
        let name = instances[0].programs().into_iter().next();
        let name = name.ok_or_else(|| Error::NoProgram { path: path.into() })?;
        Ok(ScriptProgram {
            path: path.display().to_string(),
            name,
            frames: frames.to_vec(),
            instances,
            runs: 0,
            verdict: |verdict| verdict,
        })
    }

    /// Puts entries (keys and values) into a map that packets do not fill: an object only describes it.
    pub fn fill<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, map: &str, entries: &[(K, V)]) -> Result<(), Error> {
        for (program, (key, value)) in
            self.instances.iter().flat_map(|program| entries.iter().map(move |entry| (program, entry)))
        {
            program
                .map_update(map, key.as_ref(), value.as_ref())
                .map_err(|error| Error::Peer { contestant: self.path.clone(), message: error.to_string() })?;
        }
        Ok(())
    }
}

impl Contestant for ScriptProgram {
    fn run(&mut self, frame: usize, repeat: u32) -> Result<Run, Error> {
        self.runs += 1;
        let program = &self.instances[self.runs % INSTANCES];
        let (ns_per_packet, verdict) = timed(repeat, || {
            let run = program.test_run(&self.name, &self.frames[frame], repeat);
            run.map(|run| (self.verdict)(run.verdict))
                .map_err(|error| Error::Peer { contestant: self.path.clone(), message: error.to_string() })
        })?;
        Ok(Run { ns_per_packet, verdict })
    }
}
