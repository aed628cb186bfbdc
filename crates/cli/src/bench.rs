//! `moonhook bench`: what a script costs per packet, next to an empty program in the same run.
//!
//! Rounds are interleaved, so that what disturbs the machine for a while hits both alike. Each program is loaded several
//! times, because where the kernel puts the machine code changes its cost a little.

mod contestant;

use crate::clock::Clock;
use crate::hook::ProgramChoice;
use crate::options::ProgramOptions;
use crate::{CliError, Exit, cpu, frames, loading};
use contestant::{Contestant, Packet, Turn};
use moonhook_engine::Settings;
use moonhook_hook::Layer;
use moonhook_install::{FRAME_MIN, frame_max, frame_max_linear};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Measure what a script costs per packet, next to an empty program
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a capture, four generated frames are measured: a TLS ClientHello, an HTTP request, a UDP datagram, an ICMP echo.
The kernel repeats the program on the frame (BPF_PROG_TEST_RUN); nothing is attached. Times contain what a repetition costs
without any program; the last column has it subtracted. A program that changes a frame gets it as it was for each run (\"frame
restored for each run\"): many single runs, which contain the kernel's two looks at the clock,
as those of the empty program do then; the mean of a round's middle half counts. Shared tables and variables go on from run to run.

Examples:
  moonhook bench filter.lua
  moonhook bench filter.lua trace.pcap --rounds 31
  moonhook bench limit.lua trace.pcap --capture-time
  moonhook bench filter.lua --json | jq '.works[].difference_ns'

Exit codes: 0 measured, 1 script refused, 2 usage, 3 privilege, kernel or file, 4 bug in Moonhook")]
pub struct Arguments {
    #[arg(value_name = "SCRIPT")]
    script: PathBuf,
    /// Measure the frames of this capture
    #[arg(value_name = "PCAP")]
    capture: Option<PathBuf>,
    /// Rounds, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Runs of each frame in a round [default: as many as take some 10 ms; 1000 for all frames where they are restored]
    // What the kernel takes (`BPF_PROG_TEST_RUN`) is a signed number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    repeat: Option<u32>,
    /// Frames of the capture to measure, from its start
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Time is that of the frames in the capture, as in `replay` [default: the kernel's clock, and reading it costs what it costs]
    #[arg(long, requires = "capture")]
    capture_time: bool,
    /// Answer as a JSON document
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    choice: ProgramChoice,
    #[command(flatten)]
    program: ProgramOptions,
}

/// What is measured as one: a generated frame, or all frames of a capture.
struct Work {
    title: String,
    packets: Vec<Packet>,
}

#[derive(Debug, Serialize)]
struct Report {
    script: PathBuf,
    rounds: u32,
    works: Vec<Measured>,
}

#[derive(Debug, Serialize)]
struct Measured {
    title: String,
    frames: usize,
    /// Of all frames.
    bytes: usize,
    /// What the program decided on the first run, by verdict.
    verdicts: BTreeMap<String, u64>,
    /// The program changes a frame: each run got it as it was.
    restored: bool,
    program_ns: Cost,
    empty_ns: Cost,
    /// Between the medians.
    difference_ns: f64,
}

/// Nanoseconds per packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Cost {
    median: f64,
    min: f64,
    max: f64,
}

impl Cost {
    /// All zero without samples.
    fn of(mut samples: Vec<f64>) -> Cost {
        samples.sort_by(f64::total_cmp);
        let at = |index: usize| samples.get(index).copied().unwrap_or(0.0);
        let count = samples.len();
        let median = (at(count / 2) + at(count.saturating_sub(1) / 2)) / 2.0;
        Cost { median, min: at(0), max: at(count.saturating_sub(1)) }
    }
}

pub fn bench(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let given_time = arguments.capture_time;
    let mut settings = Settings { any_interface: true, given_time, ..arguments.program.settings() };
    settings.load.at = arguments.choice.place(&settings.load);
    let mut clock = match &arguments.capture {
        Some(path) if given_time => {
            let clock = Clock::new(moonhook_capture::open(path)?);
            moonhook_load::set_time(Some(clock.now()));
            Some(clock)
        }
        _ => None,
    };
    let (script, json) = (std::slice::from_ref(&arguments.script), arguments.json);
    let loaded = loading::load(script, &settings.load, json, json)?;
    let chosen = arguments.choice.program(&loaded.snapshot, &settings.load, json)?;
    let layer = chosen.point.hook.layer;
    let empty = Contestant::empty(chosen.point.hook, settings.frags)?;
    let works = match &arguments.capture {
        Some(path) => vec![captured(path, layer, arguments, clock.as_mut(), &empty)?],
        None => generated(layer),
    };
    let program = Contestant::script(&loaded, &settings, &chosen)?;
    cpu::stay_on_this_cpu();
    let works: Result<_, _> = works.iter().map(|work| measure(arguments, work, &program, &empty)).collect();
    let report = Report { script: arguments.script.clone(), rounds: arguments.rounds, works: works? };
    if arguments.json {
        writeln!(out, "{:#}", serde_json::to_value(&report).map_err(std::io::Error::from)?)?;
    } else {
        show(&report, out)?;
    }
    Ok(Exit::Success)
}

/// Samples of what hooks of that layer get.
fn generated(layer: Layer) -> Vec<Work> {
    let work = |sample: frames::Sample| {
        let packet = layer.of_frame(&sample.frame)?.to_vec();
        Some(Work { title: sample.title.to_string(), packets: vec![Packet { bytes: packet, time: None }] })
    };
    frames::samples().into_iter().filter_map(work).collect()
}

/// The first frames of a capture that a program of this kind takes; with the time that the clock has for each, if there is one.
fn captured(
    path: &Path,
    layer: Layer,
    arguments: &Arguments,
    mut clock: Option<&mut Clock>,
    empty: &Contestant,
) -> Result<Work, CliError> {
    let longest = if arguments.program.frags { frame_max() } else { frame_max_linear() };
    let mut packets = Vec::new();
    for frame in moonhook_capture::open(path)? {
        match frame {
            Ok(frame) if (FRAME_MIN..=longest).contains(&frame.data.len()) => {
                let time = clock.as_mut().map(|clock| clock.at(frame.timestamp_ns));
                let packet = layer.of_frame(&frame.data).map(|bytes| Packet { bytes: bytes.to_vec(), time });
                if let Some(packet) = packet
                    && empty.takes(&packet)?
                {
                    packets.push(packet);
                }
            }
            Ok(_) => {}
            Err(error) if error.ends_reading() => return Err(error.into()),
            Err(_) => {}
        }
        if packets.len() == arguments.limit as usize {
            break;
        }
    }
    if packets.is_empty() {
        return Err(CliError::NothingToMeasure { path: path.to_path_buf() });
    }
    Ok(Work { title: path.display().to_string(), packets })
}

/// How long one measurement shall take, in nanoseconds.
const MEASUREMENT: f64 = 10e6;
/// Fewer runs of a frame would measure the system call rather than the program.
const FEWEST: u32 = 2_000;

/// Single runs of all frames in a round together, and the fewest of each.
const SINGLE: u32 = 1_000;
const FEWEST_SINGLE: u32 = 5;

fn measure(
    arguments: &Arguments,
    work: &Work,
    program: &Contestant,
    empty: &Contestant,
) -> Result<Measured, CliError> {
    let verdicts = program.verdicts(&work.packets)?;
    let restored = program.changes(&work.packets)?;
    let turn = |contestant| turn(arguments, work, restored, contestant);
    let (program_turn, empty_turn) = (turn(program)?, turn(empty)?);
    let (mut program_ns, mut empty_ns) = (Vec::new(), Vec::new());
    for round in 0..arguments.rounds as usize {
        program_ns.push(program.run(round, &work.packets, program_turn)?);
        empty_ns.push(empty.run(round, &work.packets, empty_turn)?);
    }
    let (program_ns, empty_ns) = (Cost::of(program_ns), Cost::of(empty_ns));
    Ok(Measured {
        title: work.title.clone(),
        frames: work.packets.len(),
        bytes: work.packets.iter().map(|packet| packet.bytes.len()).sum(),
        verdicts,
        restored,
        program_ns,
        empty_ns,
        difference_ns: program_ns.median - empty_ns.median,
    })
}

/// What a contestant does in each round.
fn turn(
    arguments: &Arguments,
    work: &Work,
    restored: bool,
    contestant: &Contestant,
) -> Result<Turn, CliError> {
    let frames = u32::try_from(work.packets.len()).unwrap_or(u32::MAX);
    Ok(match (restored, arguments.repeat) {
        (true, repeat) => Turn::Restored(repeat.unwrap_or_else(|| (SINGLE / frames).max(FEWEST_SINGLE))),
        (false, Some(repeat)) => Turn::Repeated(repeat),
        (false, None) => {
            let ns = contestant.run(0, &work.packets, Turn::Repeated(FEWEST))?;
            let wanted = (MEASUREMENT / ns.max(1.0)) as u32 / frames;
            Turn::Repeated(wanted.max(FEWEST))
        }
    })
}

fn show(report: &Report, out: &mut dyn Write) -> Result<(), CliError> {
    writeln!(
        out,
        "{}: ns per packet, median (min to max) of {} rounds",
        report.script.display(),
        report.rounds
    )?;
    writeln!(
        out,
        "{:18} {:>7} {:>24} {:>24} {:>11}  verdict",
        "frame", "bytes", "program", "empty program", "difference"
    )?;
    let shown = |cost: &Cost| format!("{:.1} ({:.1} to {:.1})", cost.median, cost.min, cost.max);
    for work in &report.works {
        let (program, empty) = (shown(&work.program_ns), shown(&work.empty_ns));
        let verdicts: Vec<_> = match (work.frames, work.verdicts.keys().next()) {
            (1, Some(verdict)) => vec![verdict.clone()],
            _ => work.verdicts.iter().map(|(verdict, count)| format!("{verdict} {count}")).collect(),
        };
        let Measured { title, bytes, difference_ns, .. } = work;
        let restored = if work.restored { "; frame restored for each run" } else { "" };
        writeln!(
            out,
            "{title:18} {bytes:>7} {program:>24} {empty:>24} {difference_ns:>11.1}  {}{restored}",
            verdicts.join(", ")
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_median_and_extremes() {
        assert_eq!(Cost::of(vec![5.0, 1.0, 9.0]), Cost { median: 5.0, min: 1.0, max: 9.0 });
        assert_eq!(Cost::of(vec![4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Cost::of(vec![]).median, 0.0);
    }
}
