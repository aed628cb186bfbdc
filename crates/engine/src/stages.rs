//! The stages one by one, with their times.

use crate::settings::{has_kernel_types, possible_cpus};
use crate::{EngineError, Form, Settings};
use moonhook_diagnostic::Place;
use moonhook_emit::{EmitError, FunctionReport, Object};
use moonhook_hook::Hook;
use moonhook_ir::{Function, MapKind, Module, PAGE, parallel};
use moonhook_snapshot::Snapshot;
use moonhook_specialise::Learned;
use serde::Serialize;
use std::time::Instant;

/// How long the stages took, in microseconds: all attempts together.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Timings {
    pub load: u64,
    pub lower: u64,
    pub passes: u64,
    pub emit: u64,
    /// `None` if the program was not loaded into the kernel.
    pub kernel_load: Option<u64>,
    pub total: u64,
}

impl Timings {
    /// With what load time took.
    pub fn after_load(mut self, load: u64) -> Timings {
        self.load = load;
        self.sum();
        self
    }

    pub(crate) fn sum(&mut self) {
        let Timings { load, lower, passes, emit, kernel_load, .. } = *self;
        self.total = load + lower + passes + emit + kernel_load.unwrap_or(0);
    }
}

/// One way to make a program of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub form: Form,
    /// [`moonhook_specialise::Options::subprograms`].
    pub subprograms: bool,
    /// See [`moonhook_baseline::lower`].
    pub compact: bool,
    /// It is given up where expanded code takes long to make or to verify, because another form may do.
    pub bounded: bool,
}

impl Attempt {
    pub const EXPANDED: Attempt =
        Attempt { form: Form::Expanded, subprograms: true, compact: false, bounded: true };
    pub const GENERAL: Attempt = Attempt { form: Form::General, ..Attempt::EXPANDED };
    /// General code whose size does not depend on the script's.
    pub const COMPACT: Attempt = Attempt { compact: true, ..Attempt::GENERAL };
}

/// Makes IR of a snapshot.
///
/// # Errors
/// `Lower`; `Emit` if it is malformed.
pub fn lower(
    snapshot: &Snapshot,
    settings: &Settings,
    attempt: Attempt,
    learned: &mut Learned,
) -> Result<Module, EngineError> {
    check_verdict(snapshot, settings)?;
    moonhook_baseline::check_objects(snapshot).map_err(Box::new)?;
    let options = moonhook_specialise::Options {
        on_error: settings.on_error.clone(),
        budget: settings.budget,
        cpus: settings.cpus.unwrap_or_else(possible_cpus),
        count_verdicts: settings.count_verdicts,
        given_time: settings.given_time,
        seed: settings.seed,
        any_interface: settings.any_interface,
        kernel_types: settings.kernel_types.unwrap_or_else(|| settings.arena && has_kernel_types()),
        clones: snapshot.clones(),
        frags: settings.frags,
        copies: settings.frags || snapshot.hooks().any(|hook| hook.copied().is_some()),
        memory: settings.memory,
        subprograms: attempt.subprograms,
        max_work: attempt.bounded.then(|| work_for(snapshot)),
        of_flow: settings.of_flow.clone(),
        ..moonhook_specialise::Options::default()
    };
    let module = match attempt.form {
        Form::Expanded => moonhook_specialise::lower(snapshot, &options, learned),
        Form::General => {
            let compact = attempt.compact || settings.compact;
            moonhook_baseline::lower(snapshot, &options, compact, learned)
        }
    };
    let mut module = module.map_err(Box::new)?;
    if snapshot.library.is_some() {
        moonhook_specialise::exported::keyed::add(&mut module, snapshot);
    }
    if let Some(script) = &settings.of_flow {
        moonhook_specialise::check_targets(&module, snapshot)?;
        if attempt.form == Form::General {
            moonhook_specialise::check_general(&module, snapshot, script)?;
        }
    }
    moonhook_specialise::compare_marks(&mut module, snapshot);
    warn_of_members(&mut module, snapshot);
    module.warnings.extend(snapshot.warnings.iter().cloned());
    // Passes take for granted that the rules hold.
    let checked =
        parallel::map(module.functions.iter(), || (), |_, function| moonhook_ir::verify::verify(function));
    let checked = checked.into_iter().collect::<Result<(), _>>();
    checked.map_err(|error| EmitError::Malformed { problem: error.to_string() })?;
    Ok(module)
}

/// Runs the passes over IR that [`lower`] has made.
///
/// # Errors
/// `TooMuchMemory`.
pub fn rewrite(snapshot: &Snapshot, settings: &Settings, module: &mut Module) -> Result<(), EngineError> {
    moonhook_passes::optimise(module);
    if !snapshot.flows.is_empty() && settings.arena {
        // Functions of flows read what handlers count, and are made later.
    } else if settings.arena {
        moonhook_passes::per_cpu::run(module, settings.cpus.unwrap_or_else(possible_cpus));
    } else {
        let moved = moonhook_passes::without_arena::run(module);
        let most = moonhook_passes::without_arena::MOST;
        moved.map_err(|bytes| EngineError::TooMuchMemory { bytes, most })?;
        moonhook_passes::without_arena::write_zeros(module);
    }
    if let Some(library) = &snapshot.library {
        moonhook_passes::library::run(module, library);
    }
    check_memory(module)
}

/// Adds warnings of fields that libraries do not have. Each stands for the error that is certain where the nil is called or computed with.
fn warn_of_members(module: &mut Module, snapshot: &Snapshot) {
    for missing in moonhook_baseline::missing_members(snapshot) {
        let warning = missing.diagnostic();
        let line = |place: &Option<Place>| place.as_ref().map(|place| (place.file.clone(), place.line));
        let name = warning.place.as_ref().and_then(|place| place.name.clone()).unwrap_or_default();
        let about = format!("a nil value (field '{name}')");
        let at = line(&warning.place);
        module.warnings.retain(|known| line(&known.place) != at || !known.message.contains(&about));
        module.warnings.push(warning);
    }
}

/// Refuses a verdict for errors that one of the script's hooks does not have.
fn check_verdict(snapshot: &Snapshot, settings: &Settings) -> Result<(), EngineError> {
    let name = settings.on_error.name().unwrap_or_default();
    match snapshot.hooks().find(|hook| !settings.on_error.is_of(hook)) {
        Some(hook) => Err(EngineError::NoSuchVerdict { name: name.to_string(), hook }),
        None => Ok(()),
    }
}

/// Steps of the compiler that are worth an attempt at expanded code, of which some tens of thousands take a second with all that follows:
/// equal ones for equal scripts. A script with a line for each of hundreds of searches takes more; its general code is a twentieth as
/// large and made at once.
fn work_for(snapshot: &Snapshot) -> usize {
    const BASE: usize = 60_000;
    const EACH: usize = 4;
    let size: usize = snapshot.prototypes.iter().map(|prototype| prototype.code.len()).sum();
    BASE + EACH * size
}

/// Instructions of expanded code that are worth to be verified where general code can take its place, at most: the verifier goes through each
/// at least once, most of them more often, and is not done with so many in the time that it is given.
const MOST: usize = 60_000;

/// Refuses expanded code that is too large to be tried where nobody asked for it.
///
/// # Errors
/// `Emit`.
pub fn check_size(module: &Module) -> Result<(), EngineError> {
    let size = |function: &Function| function.blocks.iter().map(|block| block.insts.len()).sum::<usize>();
    let instructions = module.functions.iter().map(size).sum();
    let function = module.functions.first().map(|function| function.name.clone()).unwrap_or_default();
    match instructions > MOST {
        true => Err(EmitError::ProgramTooLarge { function, instructions, limit: MOST }.into()),
        false => Ok(()),
    }
}

/// Refuses general code whose memory, for each CPU and each program, is more than an arena can be (`SZ_4G` in kernel/bpf/arena.c).
///
/// # Errors
/// `TooMuchMemory`.
fn check_memory(module: &Module) -> Result<(), EngineError> {
    let most = 1 << 32;
    let sizes = module.maps.iter().filter_map(|map| match map.kind {
        MapKind::Arena { pages, .. } => Some(pages as usize * PAGE),
        _ => None,
    });
    match sizes.max().filter(|bytes| *bytes > most) {
        Some(bytes) => Err(EngineError::TooMuchMemory { bytes, most }),
        None => Ok(()),
    }
}

/// Makes the object file of a module. The listings of its functions have no texts.
///
/// # Errors
/// `Emit`.
pub fn emit(module: &Module) -> Result<Object, EngineError> {
    let options = moonhook_emit::Options { texts: false, ..moonhook_emit::Options::default() };
    Ok(moonhook_emit::emit(module, &options)?)
}

/// A program of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name there.
    pub name: String,
    /// Where it is to be put.
    pub hook: &'static Hook,
    /// The section that it is in.
    pub section: String,
}

/// The object's programs; one at least.
///
/// # Errors
/// `NoProgram`.
pub fn entries(object: &Object) -> Result<Vec<Entry>, EngineError> {
    let entry = |function: &FunctionReport| {
        let (name, section) = (function.name.clone(), function.section.clone());
        function.hook.map(|hook| Entry { name, hook, section })
    };
    let entries: Vec<Entry> = object.functions.iter().filter_map(entry).collect();
    if entries.is_empty() { Err(EngineError::NoProgram) } else { Ok(entries) }
}

/// What a loader calls the object: as its first program is called.
///
/// # Errors
/// `NoProgram`.
pub fn object_name(object: &Object) -> Result<String, EngineError> {
    Ok(entries(object)?.swap_remove(0).name)
}

/// Runs `work` and adds how many microseconds it took.
pub fn timed<T>(microseconds: &mut u64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *microseconds += u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    result
}
