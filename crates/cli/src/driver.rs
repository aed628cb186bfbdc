//! The pipeline, strung together: how a script becomes a program.

use crate::{CliError, Verdict};
use moonhook_emit::{EmitError, Object};
use moonhook_ir::Module;
use moonhook_load::{Content, Loaded};
use moonhook_lower::Form;
use moonhook_snapshot::Snapshot;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// What a person can choose about a program.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The verdict after a run-time error.
    pub on_error: Verdict,
    /// Steps that the handlers may use for one frame.
    pub budget: u32,
    /// CPUs that the program has memory for; `None`: all that this machine can have.
    pub cpus: Option<u32>,
    /// The program counts its verdicts, which costs some nanoseconds a frame.
    pub count_verdicts: bool,
    /// The program also takes frames in several buffers.
    pub frags: bool,
    /// What handlers are compiled to.
    pub form: Form,
    /// Bytes of packet memory for each CPU.
    pub memory: u32,
    /// What scripts may use while they are loaded.
    pub load: moonhook_load::Options,
}

/// The budget that a person gets who asks for none, in steps.
pub const BUDGET: u32 = 100_000;

/// Packet memory for a person who asks for none, in bytes.
pub const MEMORY: u32 = 256 << 10;

impl Default for Settings {
    fn default() -> Self {
        Settings {
            on_error: Verdict::Pass,
            budget: BUDGET,
            cpus: None,
            count_verdicts: false,
            frags: false,
            form: Form::Auto,
            memory: MEMORY,
            load: moonhook_load::Options::default(),
        }
    }
}

/// A script after every stage but the last.
pub struct Compiled {
    pub loaded: Loaded,
    pub module: Module,
    pub object: Object,
    pub timings: Timings,
    pub settings: Settings,
}

/// How long the stages took, in microseconds.
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

/// Takes scripts through all stages that need no kernel. Several scripts become one program.
pub fn compile(scripts: &[PathBuf], settings: &Settings) -> Result<Compiled, CliError> {
    let mut timings = Timings::default();
    let loaded = timed(&mut timings.load, || load(scripts, &settings.load))?;
    let (module, object) = translate(&loaded.snapshot, settings, &mut timings)?;
    timings.sum();
    Ok(Compiled { loaded, module, object, timings, settings: settings.clone() })
}

/// What the stages between `load` and `install` make of a snapshot. They know no Lua state: any thread can do it.
pub struct Translated {
    pub snapshot: Snapshot,
    pub module: Module,
    pub object: Object,
    pub timings: Timings,
    pub settings: Settings,
}

impl Translated {
    /// # Errors
    /// What a stage refuses.
    pub fn make(
        snapshot: Snapshot,
        settings: Settings,
        mut timings: Timings,
    ) -> Result<Translated, CliError> {
        let (module, object) = translate(&snapshot, &settings, &mut timings)?;
        timings.sum();
        Ok(Translated { snapshot, module, object, timings, settings })
    }

    /// As [`Compiled::generalise`].
    pub fn generalise(&mut self) -> Result<bool, CliError> {
        if self.settings.form != Form::Auto || !may_generalise(&self.module) {
            return Ok(false);
        }
        self.settings.form = Form::General;
        (self.module, self.object) = translate(&self.snapshot, &self.settings, &mut self.timings)?;
        self.timings.sum();
        Ok(true)
    }
}

impl Timings {
    fn sum(&mut self) {
        self.total = self.load + self.lower + self.passes + self.emit;
    }
}

impl Compiled {
    /// Makes general code of handlers that came out too large or too complicated as expanded code. `false` if that was not the form.
    ///
    /// # Errors
    /// What a stage refuses.
    pub fn generalise(&mut self) -> Result<bool, CliError> {
        if self.settings.form != Form::Auto || !may_generalise(&self.module) {
            return Ok(false);
        }
        self.settings.form = Form::General;
        (self.module, self.object) = translate(&self.loaded.snapshot, &self.settings, &mut self.timings)?;
        Ok(true)
    }
}

/// Whether general code is another form of the program, and has one for all of it: not for tables that are maps.
fn may_generalise(module: &Module) -> bool {
    module.arena().is_none() && module.tables.is_empty()
}

/// Makes a program of a snapshot.
pub fn translate(
    snapshot: &Snapshot,
    settings: &Settings,
    timings: &mut Timings,
) -> Result<(Module, Object), CliError> {
    let (module, outcome) = attempt(snapshot, settings, true, timings)?;
    let (module, outcome) = match outcome {
        // A function that the program calls has a stack frame of its own.
        Err(CliError::Emit(EmitError::ChainTooLarge { .. })) if module.arena().is_none() => {
            attempt(snapshot, settings, false, timings)?
        }
        outcome => (module, outcome),
    };
    match outcome {
        Ok(object) => Ok((module, object)),
        // Expanded code can outgrow what a program may be.
        Err(_) if settings.form == Form::Auto && may_generalise(&module) => {
            let settings = Settings { form: Form::General, ..settings.clone() };
            translate(snapshot, &settings, timings)
        }
        Err(error) => Err(error),
    }
}

/// All stages after load once; `subprograms` is [`moonhook_lower::Options::subprograms`].
fn attempt(
    snapshot: &Snapshot,
    settings: &Settings,
    subprograms: bool,
    timings: &mut Timings,
) -> Result<(Module, Result<Object, CliError>), CliError> {
    let mut module = timed(&mut timings.lower, || lower(snapshot, settings, subprograms))?;
    timed(&mut timings.passes, || moonhook_passes::optimise(&mut module));
    let outcome = timed(&mut timings.emit, || emit(&module));
    Ok((module, outcome))
}

/// Runs the scripts and snapshots what their handlers reach.
pub fn load(scripts: &[PathBuf], limits: &moonhook_load::Options) -> Result<Loaded, CliError> {
    Ok(moonhook_load::load(scripts, limits)?)
}

/// As [`load`], with other contents of tables than the scripts have left there.
pub fn load_with_contents(
    scripts: &[PathBuf],
    limits: &moonhook_load::Options,
    contents: &[Content],
) -> Result<Loaded, CliError> {
    Ok(moonhook_load::load_with_contents(scripts, limits, contents)?)
}

/// Makes IR of a snapshot; `subprograms` is [`moonhook_lower::Options::subprograms`].
pub fn lower(snapshot: &Snapshot, settings: &Settings, subprograms: bool) -> Result<Module, CliError> {
    let options = moonhook_lower::Options {
        on_error: settings.on_error as u32,
        budget: settings.budget,
        cpus: settings.cpus.unwrap_or_else(possible_cpus),
        count_verdicts: settings.count_verdicts,
        frags: settings.frags,
        form: settings.form,
        memory: settings.memory,
        subprograms,
        ..moonhook_lower::Options::default()
    };
    Ok(moonhook_lower::lower(snapshot, &options)?)
}

/// Makes the object file of a module. The listings of its functions have no texts.
pub fn emit(module: &Module) -> Result<Object, CliError> {
    let options = moonhook_emit::Options { texts: false, ..moonhook_emit::Options::default() };
    Ok(moonhook_emit::emit(module, &options)?)
}

/// Runs `work` and stores how many microseconds it took.
pub fn timed<T>(microseconds: &mut u64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *microseconds = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    result
}

/// The number of CPUs that this machine can ever have: the kernel numbers them from 0 to this.
pub fn possible_cpus() -> u32 {
    let listed = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    highest(&listed).map_or(1, |highest| highest + 1)
}

/// The last number in a list such as `0-3,8-11` (Documentation/admin-guide/cputopology.rst).
fn highest(list: &str) -> Option<u32> {
    list.trim().rsplit([',', '-']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_cpu_of_a_list() {
        for (list, expected) in [("0\n", Some(0)), ("0-3\n", Some(3)), ("0-1,4-7", Some(7)), ("", None)] {
            assert_eq!(highest(list), expected, "{list:?}");
        }
    }
}
