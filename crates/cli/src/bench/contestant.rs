//! A program whose cost is measured: the script's, or one that only passes every frame.

use crate::CliError;
use crate::verdict;
use moonhook_emit::Object;
use moonhook_engine::Settings;
use moonhook_engine::{EngineError, Kernel};
use moonhook_hook::Hook;
use moonhook_install::{Events, LoadOptions, LogDetail, Program};
use moonhook_ir::{Block, Function, FunctionKind, Loc, Module, Operand, Terminator};
use moonhook_snapshot::Snapshot;
use nix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How often each program is loaded.
const INSTANCES: usize = 5;

pub struct Contestant {
    hook: &'static Hook,
    instances: Vec<Instance>,
}

struct Instance {
    program: Program,
    name: String,
    /// Emptied after each measurement: a full ring would be cheaper to write to.
    events: Option<RefCell<Events>>,
}

impl Contestant {
    pub fn script(
        snapshot: &Snapshot,
        settings: &Settings,
        chosen: &crate::hook::Program,
    ) -> Result<Contestant, CliError> {
        let (compiled, first) = Kernel::install(snapshot, settings, LogDetail::Nothing, |_| Vec::new())?;
        let more = (1..INSTANCES).map(|_| Kernel::load(&compiled));
        let instance = |kernel: Result<Kernel, EngineError>| {
            let kernel = kernel?;
            let events = kernel.events(|_| ())?.map(RefCell::new);
            let name = kernel.entry(chosen.number)?.name.clone();
            Ok(Instance { program: kernel.program, name, events })
        };
        let instances = std::iter::once(Ok(first)).chain(more).map(instance);
        let hook = chosen.point.hook;
        Ok(Contestant { hook, instances: instances.collect::<Result<_, CliError>>()? })
    }

    /// `frags`: it takes frames in several buffers, too.
    pub fn empty(hook: &'static Hook, frags: bool) -> Result<Contestant, CliError> {
        let object = empty_object(hook, frags)?;
        let instance = |_| {
            let options = LoadOptions { name: EMPTY.to_string(), ..LoadOptions::default() };
            let program = moonhook_install::load(&object.elf, &options)?;
            Ok(Instance { program, name: EMPTY.to_string(), events: None })
        };
        Ok(Contestant { hook, instances: (0..INSTANCES).map(instance).collect::<Result<_, CliError>>()? })
    }

    /// How many frames get which verdict.
    pub fn verdicts(&self, frames: &[Vec<u8>]) -> Result<BTreeMap<String, u64>, CliError> {
        let mut verdicts = BTreeMap::new();
        for frame in frames {
            let run = self.instances[0].program.test_run(&self.instances[0].name, frame, 1)?;
            *verdicts.entry(verdict::name(self.hook, run.verdict).into_owned()).or_default() += 1;
        }
        Ok(verdicts)
    }

    /// Nanoseconds per packet of `repeat` runs of each frame; which instance runs them depends on `round`.
    pub fn run(&self, round: usize, frames: &[Vec<u8>], repeat: u32) -> Result<f64, CliError> {
        let instance = &self.instances[round % INSTANCES];
        let mut nanoseconds = 0.0;
        for frame in frames {
            let start = thread_time()?;
            instance.program.test_run(&instance.name, frame, repeat)?;
            nanoseconds += thread_time()? - start;
            if let Some(events) = &instance.events {
                events.borrow_mut().consume()?;
            }
        }
        Ok(nanoseconds / (frames.len() as f64 * f64::from(repeat)))
    }
}

/// Nanoseconds that this thread has run for. A test run with repetitions waits for a grace period of RCU at both ends
/// (`bpf_prog_change_xdp`, net/core/filter.c), many milliseconds that are not the program's.
fn thread_time() -> Result<f64, CliError> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_err(std::io::Error::from)?;
    Ok(time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64)
}

const EMPTY: &str = "empty";

/// A program that passes every frame: the floor.
fn empty_object(hook: &Hook, frags: bool) -> Result<Object, CliError> {
    let kind = FunctionKind::Program { section: hook.section(frags).to_string() };
    let mut function = Function::new(EMPTY, kind, 1);
    let pass = Terminator::Return(Operand::Imm(hook.default));
    function.block_mut(Block(0)).terminator = Some((pass, Loc::default()));
    Ok(moonhook_engine::emit(&Module { functions: vec![function], ..Module::default() })?)
}
