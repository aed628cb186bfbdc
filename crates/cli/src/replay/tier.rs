//! The two places where handlers can run, seen alike.

use crate::hook::Program;
use crate::{CliError, clock, report};
use moonhook_control::FlowsOfState;
use moonhook_engine::Kernel;
use moonhook_engine::{Choice, Compiled, Settings};
use moonhook_hook::{Hook, Point};
use moonhook_install::{Events, InstallError, LogDetail, frame_max, frame_max_linear};
use moonhook_ir::Module;
use moonhook_ir::maps::{self, sections};
use moonhook_load::Loaded;
use moonhook_load::Moment;
use moonhook_records::{Failure, Message, RecordError, Text};
use moonhook_user::UserTier;
use nix::errno::Errno;
use std::sync::mpsc::{Receiver, channel};

/// Something that decides about frames, one after the other.
pub trait Tier {
    fn decide(&mut self, frame: &[u8], time: Moment) -> Result<Outcome, CliError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Decided(Decision),
    /// The tier cannot take this frame.
    NotRun {
        why: String,
        unfit: Unfit,
    },
}

/// What is the matter with a frame that is not run, as totals tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It has no packet of the kind that the hook gets.
    NoPacket,
    /// The kernel takes no frame of that length.
    Length,
    /// It needs several buffers, and what the script calls in C looks at frames in one.
    Buffers,
    /// Nothing is there to run it.
    NoProgram,
}

/// What handlers did with a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// By whose names the verdict is shown.
    pub hook: &'static Hook,
    pub verdict: i32,
    /// The frame afterwards.
    pub data: Vec<u8>,
    pub prints: Vec<Text>,
    pub error: Option<Failure>,
}

/// The handlers for a hook, in real Lua.
pub struct RealLua {
    pub tier: UserTier,
    pub point: Point,
}

impl Tier for RealLua {
    fn decide(&mut self, frame: &[u8], time: Moment) -> Result<Outcome, CliError> {
        moonhook_load::set_time(Some(time));
        let outcome = self.tier.run_at(&self.point, frame);
        Ok(Outcome::Decided(Decision {
            hook: self.point.hook,
            verdict: outcome.verdict,
            data: outcome.data,
            prints: outcome.output.into_iter().map(Text::whole).collect(),
            error: outcome
                .error
                .map(|error| Failure { message: Text::whole(error.message), traceback: error.traceback }),
        }))
    }
}

/// The compiled handlers in the kernel: a program for frames in one buffer, one for frames in several, or both.
pub struct KernelTier {
    one_buffer: Option<Runner>,
    several_buffers: Option<Runner>,
    /// There is no program for frames in several buffers, though there are such frames.
    is_only_one: bool,
    /// The form of the program that most frames run through.
    pub choice: Choice,
}

impl KernelTier {
    /// `long_frames`: there will be frames in several buffers. Two programs share no state, so handlers that keep some
    /// have one program for all frames.
    pub fn new(
        loaded: &Loaded,
        settings: &Settings,
        program: &Program,
        long_frames: bool,
    ) -> Result<KernelTier, CliError> {
        let snapshot = &loaded.snapshot;
        let install = |frags: bool| -> Result<(Compiled, Runner), CliError> {
            let settings = Settings { frags, ..settings.clone() };
            let (compiled, kernel) =
                Kernel::install(snapshot, &settings, LogDetail::Nothing, |_| Vec::new())?;
            let running = (&kernel.program, &kernel.decoder);
            let flows = moonhook_engine::set_flows(loaded, &compiled.module, running, &settings)?;
            Ok((compiled, Runner::new(kernel, program.clone(), flows)?))
        };
        let of_several = if long_frames { Some(install(true)) } else { None };
        // What is in C looks at frames where they are. Nobody has asked for a program for such frames: they are not run, and the others are.
        let is_refused = matches!(&of_several, Some(Err(error)) if is_of_c(error));
        let of_several = if is_refused { None } else { of_several.transpose()? };
        let Some((compiled, runner)) = of_several else {
            let (compiled, runner) = install(false)?;
            report::warn(&compiled.module.warnings);
            return Ok(KernelTier {
                one_buffer: Some(runner),
                several_buffers: None,
                is_only_one: is_refused,
                choice: compiled.choice,
            });
        };
        report::warn(&compiled.module.warnings);
        let several_buffers = Some(runner);
        // So do C objects, in their maps and variables.
        if !snapshot.objects.is_empty() || keeps_state(&compiled.module) {
            let choice = compiled.choice;
            return Ok(KernelTier { one_buffer: None, several_buffers, is_only_one: false, choice });
        }
        let (compiled, runner) = install(false)?;
        let (one_buffer, choice) = (Some(runner), compiled.choice);
        Ok(KernelTier { one_buffer, several_buffers, is_only_one: false, choice })
    }
}

/// Whether a function or a program of a C object cannot be called as it is wanted.
fn is_of_c(error: &CliError) -> bool {
    error.diagnostic().code == "MH0222"
}

/// Whether handlers have variables or tables that outlive a frame. The specialiser puts the variables into a section of this name, or,
/// in general code, into the arena.
fn keeps_state(module: &Module) -> bool {
    module.maps.iter().any(|map| map.name == maps::STATE)
        || !module.tables.is_empty()
        || !module.flows.is_empty()
        || module.arena().is_some()
}

impl Tier for KernelTier {
    fn decide(&mut self, frame: &[u8], time: Moment) -> Result<Outcome, CliError> {
        let KernelTier { one_buffer, several_buffers, is_only_one, .. } = self;
        let (most, length) = (frame_max_linear(), frame.len());
        if *is_only_one && (most + 1..=frame_max()).contains(&length) {
            let why =
                format!("what the script calls in C looks at frames in one buffer, of at most {most} bytes");
            return Ok(Outcome::NotRun { why, unfit: Unfit::Buffers });
        }
        let (first, second) = match length > most {
            true => (several_buffers, one_buffer),
            false => (one_buffer, several_buffers),
        };
        match first.as_mut().or(second.as_mut()) {
            Some(runner) => runner.decide(frame, time),
            None => Ok(Outcome::NotRun { why: "no program".to_string(), unfit: Unfit::NoProgram }),
        }
    }
}

/// A loaded program with its events.
struct Runner {
    /// The functions of flows, which go with it.
    _flows: Option<FlowsOfState>,
    kernel: Kernel,
    program: Program,
    events: Option<Events>,
    messages: Receiver<Result<Message, RecordError>>,
}

impl Runner {
    fn new(kernel: Kernel, program: Program, flows: Option<FlowsOfState>) -> Result<Runner, CliError> {
        let (sender, messages) = channel();
        let decoder = kernel.decoder.clone();
        // The receiver lives as long as the events do.
        let events = kernel.events(move |record| drop(sender.send(decoder.decode(record))))?;
        Ok(Runner { _flows: flows, kernel, program, events, messages })
    }

    fn decide(&mut self, frame: &[u8], time: Moment) -> Result<Outcome, CliError> {
        // Programs that ask for the time have the section.
        if self.kernel.has_map(sections::CLOCK) {
            clock::tell(&self.kernel.program, time)?;
        }
        let name = &self.kernel.entry(self.program.number)?.name;
        let run = match self.kernel.program.test_run(name, frame, 1) {
            Ok(run) => run,
            Err(error) if is_about_length(&error, frame) => {
                return Ok(Outcome::NotRun { why: error.to_string(), unfit: Unfit::Length });
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(events) = &mut self.events {
            events.consume()?;
        }
        let (hook, verdict, data) = (self.program.point.hook, run.verdict, run.data);
        let mut decision = Decision { hook, verdict, data, prints: Vec::new(), error: None };
        for message in self.messages.try_iter() {
            match message? {
                Message::Print(text) => decision.prints.push(text),
                Message::Event(notice) => decision.prints.push(notice.line),
                // Nothing is kept where no socket is.
                Message::Frame(_) => {}
                Message::Error(failure) => decision.error = Some(failure),
            }
        }
        Ok(Outcome::Decided(decision))
    }
}

/// Whether the kernel cannot run a frame of this length, on its own or with a program that wants it in one buffer, or, at hooks of the
/// network stack, with headers as short as these.
fn is_about_length(error: &InstallError, frame: &[u8]) -> bool {
    match error {
        InstallError::FrameLength { .. } => true,
        InstallError::TestRunRefused { errno, .. } => {
            frame.len() > frame_max_linear() || *errno == Errno::EINVAL
        }
        _ => false,
    }
}
