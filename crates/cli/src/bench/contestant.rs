//! A program whose cost is measured: the script's, or one that only passes every frame.

use crate::CliError;
use crate::{clock, verdict};
use moonhook_control::FlowsOfState;
use moonhook_emit::Object;
use moonhook_engine::Settings;
use moonhook_engine::{EngineError, Kernel};
use moonhook_hook::Hook;
use moonhook_install::{Events, InstallError, LoadOptions, LogDetail, Program, TestRun};
use moonhook_ir::maps::sections;
use moonhook_ir::{Block, Function, FunctionKind, Loc, Module, Operand, Terminator};
use moonhook_load::Loaded;
use moonhook_load::Moment;
use nix::errno::Errno;
use nix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How often each program is loaded.
const INSTANCES: usize = 5;
/// Runs in a row that show whether a program changes a frame: a VLAN tag that the kernel keeps beside the packet is seen only behind the
/// next one.
const LOOK: [u32; 2] = [1, 64];

/// What a program is run on.
pub struct Packet {
    pub bytes: Vec<u8>,
    /// What programs are told, if they are to be told the time.
    pub time: Option<Moment>,
}

/// How frames are run in a round: so many times each.
#[derive(Clone, Copy, Debug)]
pub enum Turn {
    /// By the kernel, which gives each run the frame as the one before has left it.
    Repeated(u32),
    /// One by one.
    Restored(u32),
}

pub struct Contestant {
    hook: &'static Hook,
    instances: Vec<Instance>,
}

struct Instance {
    program: Program,
    name: String,
    /// Emptied after each measurement: a full ring would be cheaper to write to.
    events: Option<RefCell<Events>>,
    /// It reads the time where it is told.
    is_told: bool,
    /// The functions of flows, which go with it.
    _flows: Option<FlowsOfState>,
}

impl Instance {
    fn tell(&self, time: Option<Moment>) -> Result<(), CliError> {
        match time {
            Some(time) if self.is_told => Ok(clock::tell(&self.program, time)?),
            _ => Ok(()),
        }
    }

    fn consume(&self) -> Result<(), CliError> {
        if let Some(events) = &self.events {
            events.borrow_mut().consume()?;
        }
        Ok(())
    }
}

impl Contestant {
    pub fn script(
        loaded: &Loaded,
        settings: &Settings,
        chosen: &crate::hook::Program,
    ) -> Result<Contestant, CliError> {
        let snapshot = &loaded.snapshot;
        let (compiled, first) = Kernel::install(snapshot, settings, LogDetail::Nothing, |_| Vec::new())?;
        let more = (1..INSTANCES).map(|_| Kernel::load(&compiled));
        let instance = |kernel: Result<Kernel, EngineError>| {
            let kernel = kernel?;
            let events = kernel.events(|_| ())?.map(RefCell::new);
            let name = kernel.entry(chosen.number)?.name.clone();
            let is_told = kernel.has_map(sections::CLOCK);
            let running = (&kernel.program, &kernel.decoder);
            let flows = moonhook_engine::set_flows(loaded, &compiled.module, running, settings)?;
            Ok(Instance { _flows: flows, program: kernel.program, name, events, is_told })
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
            Ok(Instance { program, name: EMPTY.to_string(), events: None, is_told: false, _flows: None })
        };
        Ok(Contestant { hook, instances: (0..INSTANCES).map(instance).collect::<Result<_, CliError>>()? })
    }

    /// Whether the kernel runs the program on the packet: test runs have limits of their own, such as a whole IP header at tc.
    pub fn takes(&self, packet: &Packet) -> Result<bool, CliError> {
        let instance = &self.instances[0];
        match instance.program.test_run(&instance.name, &packet.bytes, 1) {
            Ok(_) => Ok(true),
            Err(InstallError::TestRunRefused { errno: Errno::EINVAL, .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// How many frames get which verdict.
    pub fn verdicts(&self, packets: &[Packet]) -> Result<BTreeMap<String, u64>, CliError> {
        let mut verdicts = BTreeMap::new();
        for packet in packets {
            let run = self.first(packet, 1)?;
            *verdicts.entry(verdict::name(self.hook, run.verdict).into_owned()).or_default() += 1;
        }
        Ok(verdicts)
    }

    /// Whether some frame is another one afterwards, so that repetitions would measure something else.
    pub fn changes(&self, packets: &[Packet]) -> Result<bool, CliError> {
        for packet in packets {
            for repeat in LOOK {
                if self.first(packet, repeat)?.data != packet.bytes {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn first(&self, packet: &Packet, repeat: u32) -> Result<TestRun, CliError> {
        let instance = &self.instances[0];
        instance.tell(packet.time)?;
        let run = instance.program.test_run(&instance.name, &packet.bytes, repeat)?;
        instance.consume()?;
        Ok(run)
    }

    /// Nanoseconds per packet; which instance runs them depends on `round`.
    pub fn run(&self, round: usize, packets: &[Packet], turn: Turn) -> Result<f64, CliError> {
        let instance = &self.instances[round % INSTANCES];
        let mut nanoseconds = 0.0;
        for packet in packets {
            instance.tell(packet.time)?;
            nanoseconds += match turn {
                Turn::Repeated(repeat) => instance.repeated(&packet.bytes, repeat)?,
                Turn::Restored(runs) => instance.restored(&packet.bytes, runs)?,
            };
        }
        Ok(nanoseconds / packets.len() as f64)
    }
}

impl Instance {
    /// Nanoseconds of a run, of so many in a row.
    fn repeated(&self, frame: &[u8], repeat: u32) -> Result<f64, CliError> {
        let start = thread_time()?;
        self.program.test_run(&self.name, frame, repeat)?;
        let time = thread_time()? - start;
        self.consume()?;
        Ok(time / f64::from(repeat))
    }

    /// The mean of single runs without the shortest and the longest quarter, as the kernel measures them: between two looks at its clock,
    /// whose steps may be some nanoseconds.
    fn restored(&self, frame: &[u8], runs: u32) -> Result<f64, CliError> {
        let mut times = Vec::with_capacity(runs as usize);
        for _ in 0..runs {
            times.push(f64::from(self.program.test_run(&self.name, frame, 1)?.duration_ns));
            self.consume()?;
        }
        Ok(middle(&mut times))
    }
}

/// Nanoseconds that this thread has run for. A test run with repetitions waits for a grace period of RCU at both ends
/// (`bpf_prog_change_xdp`, net/core/filter.c), many milliseconds that are not the program's.
fn thread_time() -> Result<f64, CliError> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_err(std::io::Error::from)?;
    Ok(time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64)
}

/// The mean of the middle half; 0 of none.
fn middle(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    let quarter = samples.len() / 4;
    let half = &samples[quarter..samples.len() - quarter];
    half.iter().sum::<f64>() / half.len().max(1) as f64
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_off_does_not_count() {
        assert_eq!(middle(&mut [900.0, 2.0, 4.0, 0.0]), 3.0);
        assert_eq!((middle(&mut [5.0]), middle(&mut [])), (5.0, 0.0));
    }
}
