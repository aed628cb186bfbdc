//! A compiled script inside the kernel: the program with what is needed to understand its events and counters.

use crate::CliError;
use crate::counters::Counters;
use crate::driver::{Compiled, timed};
use crate::records::Decoder;
use moonhook_emit::Object;
use moonhook_install::{Events, LoadOptions, LogDetail, Program};

/// Names of maps that the lower stage makes where a script needs them.
const EVENTS: &str = "events";
const COUNTERS: &str = ".data.counters";
const VERDICTS: &str = ".data.verdicts";

pub struct Kernel {
    pub program: Program,
    /// The name of the program in the object.
    pub name: String,
    pub decoder: Decoder,
}

impl Kernel {
    /// Loads the compiled script and notes how long that took.
    pub fn load(compiled: &mut Compiled, log: LogDetail) -> Result<Kernel, CliError> {
        let name = program_name(&compiled.object)?.to_string();
        let options = LoadOptions { name: name.clone(), log };
        let mut microseconds = 0;
        let loaded = timed(&mut microseconds, || moonhook_install::load(&compiled.object.elf, &options));
        compiled.timings.kernel_load = Some(microseconds);
        compiled.timings.total += microseconds;
        Ok(Kernel { program: loaded?, name, decoder: Decoder::new(&compiled.module) })
    }

    /// The consumer of the script's events; `None` if its handlers have none.
    pub fn events(&self, receive: impl FnMut(&[u8]) + Send + 'static) -> Result<Option<Events>, CliError> {
        if !self.has_map(EVENTS) {
            return Ok(None);
        }
        Ok(Some(self.program.events(EVENTS, receive)?))
    }

    pub fn counters(&self) -> Result<Counters, CliError> {
        Ok(Counters::new(self.words(VERDICTS)?, &self.words(COUNTERS)?, &self.decoder))
    }

    /// The words of a data section; none if the program has no such section.
    fn words(&self, section: &str) -> Result<Vec<u64>, CliError> {
        if !self.has_map(section) {
            return Ok(Vec::new());
        }
        let bytes = self.program.data_section(section)?.bytes();
        Ok(bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect())
    }

    fn has_map(&self, name: &str) -> bool {
        self.program.maps().iter().any(|map| map.name == name)
    }
}

/// The name of the object's XDP program.
pub fn program_name(object: &Object) -> Result<&str, CliError> {
    let program = object.functions.iter().find(|function| function.section == "xdp");
    program.map(|function| function.name.as_str()).ok_or(CliError::NoProgram)
}
