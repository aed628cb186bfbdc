//! A compiled script inside the kernel: the program with what is needed to understand its events and counters.

use crate::CliError;
use crate::counters::Counters;
use crate::driver::{Compiled, timed};
use crate::records::Decoder;
use moonhook_emit::{FunctionReport, Object};
use moonhook_install::{Events, InstallError, LoadOptions, LogDetail, Program};
use moonhook_ir::Module;
use std::os::fd::BorrowedFd;

/// Names of maps that the lower stage makes where a script needs them.
const EVENTS: &str = "events";
const COUNTERS: &str = ".data.counters";
pub const VERDICTS: &str = ".data.verdicts";

pub struct Kernel {
    pub program: Program,
    /// The name of the program in the object.
    pub name: String,
    pub decoder: Decoder,
}

impl Kernel {
    /// Loads the compiled script and notes how long that took.
    pub fn load(compiled: &mut Compiled, log: LogDetail) -> Result<Kernel, CliError> {
        loop {
            if let Some(kernel) = Kernel::load_or_generalise(compiled, log, &[])? {
                return Ok(kernel);
            }
        }
    }

    /// Loads the compiled script, with `maps` in the place of its own of those names. `None` if the verifier found expanded code
    /// too complicated: `compiled` is general code then, and can be loaded.
    pub fn load_or_generalise(
        compiled: &mut Compiled,
        log: LogDetail,
        maps: &[(String, BorrowedFd<'_>)],
    ) -> Result<Option<Kernel>, CliError> {
        let mut microseconds = 0;
        let load = || Kernel::load_with_maps(&compiled.module, &compiled.object, log, maps);
        let loaded = timed(&mut microseconds, load);
        let rejected = matches!(&loaded, Err(CliError::Install(InstallError::Rejected(_))));
        if rejected && compiled.generalise()? {
            return Ok(None);
        }
        compiled.timings.kernel_load = Some(microseconds);
        compiled.timings.total += microseconds;
        loaded.map(Some)
    }

    pub fn load_object(module: &Module, object: &Object, log: LogDetail) -> Result<Kernel, CliError> {
        Kernel::load_with_maps(module, object, log, &[])
    }

    fn load_with_maps(
        module: &Module,
        object: &Object,
        log: LogDetail,
        maps: &[(String, BorrowedFd<'_>)],
    ) -> Result<Kernel, CliError> {
        let name = xdp_program(object)?.name.clone();
        let options = LoadOptions { name: name.clone(), log };
        let program = moonhook_install::load_with_maps(&object.elf, &options, maps)?;
        crate::tables::fill(&program, module, &|map| maps.iter().any(|(kept, _)| kept == map))?;
        Ok(Kernel { program, name, decoder: Decoder::new(module) })
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

    pub fn has_map(&self, name: &str) -> bool {
        self.program.maps().iter().any(|map| map.name == name)
    }
}

/// Sections of XDP programs, as libbpf knows them: the second is for those that take frames in several buffers.
const SECTIONS: [&str; 2] = ["xdp", "xdp.frags"];

/// The object's XDP program.
pub fn xdp_program(object: &Object) -> Result<&FunctionReport, CliError> {
    let is_program = |function: &&FunctionReport| SECTIONS.contains(&function.section.as_str());
    object.functions.iter().find(is_program).ok_or(CliError::NoProgram)
}
