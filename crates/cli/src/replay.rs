//! `moonhook replay`: every frame of a capture through the handlers.
//!
//! The kernel tier runs the compiled program (`BPF_PROG_TEST_RUN`), the user tier the same handlers in real Lua; state that
//! handlers keep carries over from frame to frame in both. With both, each frame's outcomes are compared.

mod compare;
mod lengths;
mod listing;
mod tier;

use crate::build::refuse_overwriting;
use crate::clock::Clock;
use crate::hook::ProgramChoice;
use crate::options::ScriptOptions;
use crate::{CliError, Exit, cpu, loading, report, terminal};
use compare::Difference;
use listing::{Line, Listing};
use moonhook_capture::{Capture, CaptureError, Frame, Writer};
use moonhook_engine::{Choice, Settings};
use moonhook_hook::Layer;
use moonhook_load::Moment;
use moonhook_user::UserTier;
use std::io::Write;
use std::path::PathBuf;
use tier::{KernelTier, Outcome, RealLua, Tier, Unfit};

/// Run the handlers on every frame of a capture
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The kernel tier takes frames of 14 bytes to some 70 kB, at tc those with whole IP headers to some 3,700 bytes; others are counted as not run. Frames that need several buffers (more
than some 3,500 bytes) run through the program that `--frags` makes; so do all other frames of such a capture if the handlers
keep state. Where the script calls functions in C, there is no such program, and frames that need it are not run. Time is that of the frames in the capture: for `linux.time`, for the `ttl` of tables, and for programs in C that ask for it; load time is at the first frame.
With `--tier both`, verdict, bytes, prints and errors of the two tiers are compared, frame by frame.

Examples:
  moonhook replay filter.lua trace.pcap
  moonhook replay filter.lua trace.pcapng --quiet --out passed.pcap
  moonhook replay filter.lua trace.pcap --tier user      # in real Lua: needs no privilege
  moonhook replay filter.lua trace.pcap --tier both
  moonhook replay guard.lua trace.pcap --at 'match second'  # of a script with several programs
  moonhook replay sample.lua trace.pcap --tier both --seed 7   # where handlers call math.random

Exit codes: 0 done, 1 script refused or tiers differ, 2 usage, 3 privilege, kernel or file, 4 bug in Moonhook")]
pub struct Arguments {
    #[arg(value_name = "SCRIPT")]
    script: PathBuf,
    /// A pcap or pcapng file of Ethernet frames
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Write the frames that are not dropped, or that match, changed bytes included, to this pcap file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where the handlers run
    #[arg(long, value_enum, default_value = "kernel")]
    tier: TierChoice,
    /// Show totals only, and the first frame with an error
    #[arg(long, short)]
    quiet: bool,
    /// Answer as a JSON document
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    program: ProgramChoice,
    #[command(flatten)]
    script_options: ScriptOptions,
    /// What `math.random` begins with in both tiers, as `math.randomseed(N)` takes it [default: another number each time in the kernel]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<i64>,
    /// Stop after that many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TierChoice {
    /// Real Lua
    User,
    /// The compiled program
    Kernel,
    /// One after the other, compared
    Both,
}

pub fn replay(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    if let Some(output) = &arguments.out {
        refuse_overwriting(&[arguments.script.clone(), arguments.trace.clone()], output)?;
    }
    let capture = moonhook_capture::open(&arguments.trace)?;
    let mut clock = Clock::new(moonhook_capture::open(&arguments.trace)?);
    // Load time and the user tier are on this thread.
    moonhook_load::set_time(Some(clock.now()));
    let (mut tiers, layer, form) = tiers(arguments)?;
    let mut passed = match &arguments.out {
        Some(path) => Some(Writer::create_with(path, capture.resolution())?),
        None => None,
    };
    let size = std::fs::metadata(&arguments.trace).map_or(0, |metadata| metadata.len());
    let mut listing = Listing::new(out, arguments.json, arguments.quiet, size)?;
    let ended = frames(arguments, capture, &mut clock, (&mut tiers, layer), passed.as_mut(), &mut listing);
    let ended = ended.and(passed.map_or(Ok(()), |writer| writer.finish().map_err(CliError::from)));
    let totals = listing.finish(form.as_ref(), ended.as_ref().err())?;
    match ended {
        Err(error) if arguments.json => Ok(error.exit()),
        Err(error) => Err(error),
        Ok(()) if totals.different > 0 => Ok(Exit::Refused),
        Ok(()) => Ok(Exit::Success),
    }
}

type Tiers = Vec<Box<dyn Tier>>;

/// The tiers that were asked for: one, or two that are compared; what packets begin with there; and the form of the compiled program, if
/// there is one.
fn tiers(arguments: &Arguments) -> Result<(Tiers, Layer, Option<Choice>), CliError> {
    let scripts = std::slice::from_ref(&arguments.script);
    let seed = arguments.seed;
    let mut settings =
        Settings { given_time: true, any_interface: true, seed, ..arguments.script_options.settings() };
    settings.load.at = arguments.program.place(&settings.load);
    let loaded = loading::load(scripts, &settings.load, arguments.json, arguments.json)?;
    let program = arguments.program.program(&loaded.snapshot, &settings.load, arguments.json)?;
    let layer = program.point.hook.layer;
    let user = |loaded| -> Result<Box<dyn Tier>, CliError> {
        let on_error = settings.on_error.clone();
        let (budget, seed) = (settings.budget.into(), settings.seed);
        let options = moonhook_user::Options { on_error, budget, seed };
        Ok(Box::new(RealLua { tier: UserTier::new(loaded, options)?, point: program.point.clone() }))
    };
    if arguments.tier == TierChoice::User {
        return Ok((vec![user(loaded)?], layer, None));
    }
    let long_frames =
        lengths::needs_several_buffers(moonhook_capture::open(&arguments.trace)?, arguments.limit);
    let kernel = KernelTier::new(&loaded, &settings, &program, long_frames)?;
    // Compiling was on all of them.
    cpu::stay_on_this_cpu();
    let form = Some(kernel.choice.clone());
    Ok(match arguments.tier {
        TierChoice::Both => (vec![Box::new(kernel), user(loaded)?], layer, form),
        _ => (vec![Box::new(kernel)], layer, form),
    })
}

/// Runs the frames. A packet of an interface that is not Ethernet is reported, and the others go on.
fn frames(
    arguments: &Arguments,
    capture: Capture,
    clock: &mut Clock,
    (tiers, layer): (&mut [Box<dyn Tier>], Layer),
    mut passed: Option<&mut Writer>,
    listing: &mut Listing<'_>,
) -> Result<(), CliError> {
    let mut capture = capture;
    for frame in capture.by_ref() {
        if arguments.limit.is_some_and(|limit| listing.totals.frames >= limit) {
            break;
        }
        let frame = match frame {
            Ok(frame) => frame,
            Err(error @ CaptureError::InterfaceLinkType { .. }) => {
                terminal::complain(report::shown(&error.into()));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let line = decide(&frame, clock.at(frame.timestamp_ns), (tiers, layer))?;
        if let (Some(writer), Outcome::Decided(decision)) = (passed.as_mut(), &line.outcome)
            && !decision.hook.refuses(decision.verdict)
        {
            writer.write(&changed(&frame, &decision.data))?;
        }
        listing.frame(&frame, &line)?;
    }
    if capture.passed_over() > 0 {
        let count = capture.passed_over();
        terminal::complain(format_args!(
            "note: {count} packets of the capture are no frames, and were passed over"
        ));
    }
    Ok(())
}

/// The frame as a handler has left it: what a capture has not kept of it is as long as it was.
fn changed(frame: &Frame, data: &[u8]) -> Frame {
    let missing = (frame.original_length as usize).saturating_sub(frame.data.len());
    let original_length = u32::try_from(data.len() + missing).unwrap_or(u32::MAX);
    Frame { data: data.to_vec(), original_length, ..frame.clone() }
}

/// The first tier's outcome, and how the second one's differs. A frame that the first cannot take is not given to the
/// second either, whose state would then be another.
fn decide(
    frame: &Frame,
    time: Moment,
    (tiers, layer): (&mut [Box<dyn Tier>], Layer),
) -> Result<Line, CliError> {
    let Some(packet) = layer.of_frame(&frame.data) else {
        let why = "no IP packet, which is all that the hook gets".to_string();
        let outcome = Outcome::NotRun { why, unfit: Unfit::NoPacket };
        return Ok(Line { outcome, differences: Vec::new() });
    };
    let before = &frame.data[..frame.data.len() - packet.len()];
    let mut differences: Vec<Difference> = Vec::new();
    let mut first: Option<Outcome> = None;
    for tier in tiers {
        let outcome = tier.decide(packet, time)?;
        match &first {
            None => {
                let decided = matches!(outcome, Outcome::Decided(_));
                first = Some(outcome);
                if !decided {
                    break;
                }
            }
            Some(first) => differences = compare::compare(first, &outcome),
        }
    }
    if let Some(Outcome::Decided(decision)) = &mut first {
        decision.data.splice(..0, before.iter().copied());
    }
    let outcome = first.unwrap_or(Outcome::NotRun { why: "no tier".to_string(), unfit: Unfit::NoProgram });
    Ok(Line { outcome, differences })
}
