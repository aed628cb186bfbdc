//! A compiled script inside the kernel: the program with what is needed to understand its events and counters.

use crate::CliError;
use crate::counters::Counters;
use crate::driver::{Compiled, Timings, Translated, timed};
use crate::records::Decoder;
use moonhook_emit::{FunctionReport, Object};
use moonhook_install::{Events, InstallError, LoadOptions, LogDetail, Program};
use moonhook_ir::Module;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Names of maps that the lower stage makes where a script needs them.
const EVENTS: &str = "events";
const COUNTERS: &str = ".data.counters";
pub const VERDICTS: &str = ".data.verdicts";

pub struct Kernel {
    pub program: Program,
    /// The name of the program in the object.
    pub name: String,
    pub decoder: Decoder,
    elf: Arc<[u8]>,
}

/// All it takes to load a program once more, on any thread.
pub struct Again {
    elf: Arc<[u8]>,
    name: String,
    decoder: Decoder,
    /// Maps in the place of the object's own, by name.
    maps: Vec<(String, OwnedFd)>,
}

impl Again {
    /// # Errors
    /// What the kernel refuses.
    pub fn load(self) -> Result<Kernel, CliError> {
        let Again { elf, name, decoder, maps } = self;
        let maps: Vec<_> = maps.iter().map(|(name, map)| (name.clone(), map.as_fd())).collect();
        let options = LoadOptions { name: name.clone(), log: LogDetail::Nothing };
        let program = moonhook_install::load_with_maps(&elf, &options, &maps)?;
        Ok(Kernel { program, name, decoder, elf })
    }
}

impl Kernel {
    /// Loads the compiled script and notes how long that took.
    pub fn load(compiled: &mut Compiled, log: LogDetail) -> Result<Kernel, CliError> {
        loop {
            let Compiled { module, object, timings, .. } = compiled;
            let loaded = Kernel::load_timed(module, object, log, &[], timings);
            if !is_rejected(&loaded) || !compiled.generalise()? {
                return loaded;
            }
        }
    }

    /// Loads a program, with `maps` in the place of its own of those names. `None` if the verifier found expanded code too
    /// complicated: `translated` is general code then, and can be loaded.
    pub fn load_or_generalise(
        translated: &mut Translated,
        maps: &[(String, BorrowedFd<'_>)],
    ) -> Result<Option<Kernel>, CliError> {
        let Translated { module, object, timings, .. } = translated;
        let loaded = Kernel::load_timed(module, object, LogDetail::Nothing, maps, timings);
        if is_rejected(&loaded) && translated.generalise()? {
            return Ok(None);
        }
        loaded.map(Some)
    }

    /// Loads, and notes how long that took.
    fn load_timed(
        module: &Module,
        object: &Object,
        log: LogDetail,
        maps: &[(String, BorrowedFd<'_>)],
        timings: &mut Timings,
    ) -> Result<Kernel, CliError> {
        let mut microseconds = 0;
        let loaded = timed(&mut microseconds, || Kernel::load_with_maps(module, object, log, maps));
        if loaded.is_ok() {
            timings.kernel_load = Some(microseconds);
            timings.total += microseconds;
        }
        loaded
    }

    /// The same program, with `map` in the place of its map `name`. All other maps that are not constant belong to both.
    ///
    /// # Errors
    /// `Install` where there are no descriptors left.
    pub fn again(&self, name: &str, map: BorrowedFd<'_>) -> Result<Again, CliError> {
        let common = |other: &String| other != name && !other.contains(".rodata");
        let mut maps = vec![(name.to_string(), map.try_clone_to_owned()?)];
        for other in self.program.maps().into_iter().map(|map| map.name).filter(common) {
            let map = self.program.map_fd(&other)?.try_clone_to_owned()?;
            maps.push((other, map));
        }
        let (elf, name, decoder) = (Arc::clone(&self.elf), self.name.clone(), self.decoder.clone());
        Ok(Again { elf, name, decoder, maps })
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
        Ok(Kernel { program, name, decoder: Decoder::new(module), elf: object.elf.as_slice().into() })
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

fn is_rejected(loaded: &Result<Kernel, CliError>) -> bool {
    matches!(loaded, Err(CliError::Install(InstallError::Rejected(_))))
}

/// Sections of XDP programs, as libbpf knows them: the second is for those that take frames in several buffers.
const SECTIONS: [&str; 2] = ["xdp", "xdp.frags"];

/// The object's XDP program.
pub fn xdp_program(object: &Object) -> Result<&FunctionReport, CliError> {
    let is_program = |function: &&FunctionReport| SECTIONS.contains(&function.section.as_str());
    object.functions.iter().find(is_program).ok_or(CliError::NoProgram)
}
