//! A compiled script inside the kernel: the program with what is needed to understand its events and counters.

use crate::{Compiled, EngineError, Entry, Maps, Settings, entries, object_name};
use moonhook_hook::{Place, Point};
use moonhook_install::{Events, LoadOptions, LogDetail, Program};
use moonhook_ir::{Module, maps};
use moonhook_records::Counters;
use moonhook_records::Decoder;
use moonhook_snapshot::Snapshot;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

pub struct Kernel {
    pub program: Program,
    /// The programs in the object, in the order of [`Snapshot::points`]; one at least.
    pub entries: Vec<Entry>,
    /// What programs are to be attached to, with their numbers; nothing where the script has no handlers for the kernel.
    places: Vec<(usize, Point)>,
    pub(crate) receivers: Vec<u32>,
    pub decoder: Decoder,
    elf: Arc<[u8]>,
}

/// All it takes to load a program once more, on any thread.
pub struct Again {
    elf: Arc<[u8]>,
    entries: Vec<Entry>,
    places: Vec<(usize, Point)>,
    receivers: Vec<u32>,
    decoder: Decoder,
    /// Maps in the place of the object's own, by name.
    maps: Vec<(String, OwnedFd)>,
}

impl Again {
    /// # Errors
    /// What the kernel refuses.
    pub fn load(self) -> Result<Kernel, EngineError> {
        let Again { elf, entries, places, receivers, decoder, maps } = self;
        let maps: Vec<_> = maps.iter().map(|(name, map)| (name.clone(), map.as_fd())).collect();
        let name = entries.first().ok_or(EngineError::NoProgram)?.name.clone();
        let options = LoadOptions { name, log: LogDetail::Nothing, ..LoadOptions::default() };
        let program = moonhook_install::load_with_maps(&elf, &options, &maps)?;
        Ok(Kernel { program, entries, places, receivers, decoder, elf })
    }
}

/// A descriptor of its own for the same map.
///
/// # Errors
/// `Resource`.
pub fn duplicate(map: BorrowedFd<'_>) -> Result<OwnedFd, EngineError> {
    map.try_clone_to_owned().map_err(|source| EngineError::Resource { what: "file descriptor", source })
}

impl Kernel {
    /// Makes a program of a snapshot and loads it, with the maps that `maps` has for a module in the place of its own of those names.
    ///
    /// # Errors
    /// What a stage refuses, in every form that the script may have.
    pub fn install<'a>(
        snapshot: &Snapshot,
        settings: &Settings,
        log: LogDetail,
        maps: impl Fn(&Module) -> Maps<'a>,
    ) -> Result<(Compiled, Kernel), EngineError> {
        let (compiled, program) = crate::install(snapshot, settings, log, &maps)?;
        let kept: Vec<_> = maps(&compiled.module).into_iter().map(|(name, _)| name).collect();
        let mut kernel = Kernel::new(&compiled, program, &|map| kept.iter().any(|kept| kept == map))?;
        if snapshot.handlers.is_empty() {
            // Its program is there for the tables that it has.
            kernel.places.clear();
        }
        Ok((compiled, kernel))
    }

    /// Loads a program that was compiled.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn load(compiled: &Compiled) -> Result<Kernel, EngineError> {
        let options = LoadOptions { name: object_name(&compiled.object)?, ..Default::default() };
        let program = moonhook_install::load(&compiled.object.elf, &options)?;
        Kernel::new(compiled, program, &|_| false)
    }

    /// Puts what load time left in the tables into their maps, but for those that were filled before (`kept`).
    fn new(
        compiled: &Compiled,
        program: Program,
        kept: &dyn Fn(&str) -> bool,
    ) -> Result<Kernel, EngineError> {
        let Compiled { module, object, .. } = compiled;
        crate::tables::fill(&program, module, kept)?;
        crate::tables::fill_objects(&program, module)?;
        Ok(Kernel {
            program,
            entries: entries(object)?,
            places: compiled.points.iter().cloned().enumerate().collect(),
            receivers: compiled.receivers.clone(),
            decoder: Decoder::new(module),
            elf: object.elf.as_slice().into(),
        })
    }

    /// The same program, with `map` in the place of its map `name`. All other maps that are not constant belong to both.
    ///
    /// # Errors
    /// `Resource` where there are no descriptors left.
    pub fn again(&self, name: &str, map: BorrowedFd<'_>) -> Result<Again, EngineError> {
        let common = |other: &String| other != name && !other.contains(".rodata");
        let mut maps = vec![(name.to_string(), duplicate(map)?)];
        for other in self.program.map_names().filter(common) {
            let map = duplicate(self.program.map_fd(&other)?)?;
            maps.push((other, map));
        }
        let (elf, entries, places) = (Arc::clone(&self.elf), self.entries.clone(), self.places.clone());
        let (receivers, decoder) = (self.receivers.clone(), self.decoder.clone());
        Ok(Again { elf, entries, places, receivers, decoder, maps })
    }

    /// The programs, with what each is to be attached to, as often as it is to be.
    pub fn programs(&self) -> impl Iterator<Item = (&Entry, &Point)> {
        self.places.iter().filter_map(|(program, point)| Some((self.entries.get(*program)?, point)))
    }

    /// What the programs are to be attached to.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.places.iter().map(|(_, point)| point)
    }

    /// Programs of interfaces are to be attached to each of these, if there are several.
    pub fn spread_over(&mut self, interfaces: &[String]) {
        if interfaces.len() < 2 {
            return;
        }
        let places = std::mem::take(&mut self.places);
        for (program, point) in places {
            match point.place {
                Place::Interface => self.places.extend(
                    interfaces
                        .iter()
                        .map(|name| (program, point.moved_to(Place::Named(name.as_str().into())))),
                ),
                _ => self.places.push((program, point)),
            }
        }
    }

    /// The program with that number among those of the script.
    ///
    /// # Errors
    /// `NoProgram`.
    pub fn entry(&self, program: usize) -> Result<&Entry, EngineError> {
        self.entries.get(program).ok_or(EngineError::NoProgram)
    }

    /// The consumer of the script's events; `None` if its handlers have none.
    pub fn events(&self, receive: impl FnMut(&[u8]) + Send + 'static) -> Result<Option<Events>, EngineError> {
        if !self.has_map(maps::EVENTS) {
            return Ok(None);
        }
        Ok(Some(self.program.events(maps::EVENTS, receive)?))
    }

    pub fn counters(&self) -> Result<Counters, EngineError> {
        Ok(Counters::new(
            &self.words(maps::sections::VERDICTS)?,
            &self.words(maps::sections::COUNTERS)?,
            &self.decoder,
        ))
    }

    /// The words of a data section; none if the program has no such section.
    fn words(&self, section: &str) -> Result<Vec<u64>, EngineError> {
        if !self.has_map(section) {
            return Ok(Vec::new());
        }
        let bytes = self.program.data_section(section)?.bytes();
        Ok(bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect())
    }

    pub fn has_map(&self, name: &str) -> bool {
        self.program.has_map(name)
    }
}
