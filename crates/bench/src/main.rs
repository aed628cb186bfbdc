//! `moonhook-bench`: what compiled scripts cost, next to the same jobs in C, PUC Lua and LuaJIT.
//!
//! Builds the peers of bench/, checks that every contestant decides rightly about every frame, measures them in interleaved
//! rounds, measures compiling and memory, and writes a table, a plot and the numbers to bench/results/. What cannot be
//! built, loaded or judged ends the run: a table with gaps would look like a result.

mod capture;
mod composition;
mod contest;
mod contestant;
mod error;
mod frames;
mod hike;
mod kernel;
mod lists;
mod luajit;
mod machine;
mod moonhook;
mod numbers;
mod plot;
mod process;
mod puc;
mod report;
mod results;
mod rounds;
mod routes;
mod running;
mod script;
mod update;
mod wire;
mod works;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use crate::contest::Builder;
use crate::error::Error;
use crate::results::Results;

/// The command's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Moonhook against hand-written C eBPF, PUC Lua 5.5 and LuaJIT.
#[derive(Parser)]
#[command(args_override_self = true)]
#[command(after_help = "Needs root, clang-19 and luajit.

Exit status: 0 all targets met, 1 some missed, 2 could not measure.")]
struct Arguments {
    /// The moonhook command to measure
    #[arg(long, default_value = "target/release/moonhook")]
    moonhook: PathBuf,
    /// Take objects built before from this folder, instead of building the scripts
    #[arg(long, conflicts_with = "peers_only")]
    objects: Option<PathBuf>,
    /// Measure the peers alone, without Moonhook, and print the table only
    #[arg(long)]
    peers_only: bool,
    /// Measure only works, or cases of frames that travel, whose title contains this, and print the table only
    #[arg(long)]
    only: Option<String>,
    /// Write the frames to this pcap file, and measure nothing
    #[arg(long)]
    frames: Option<PathBuf>,
    /// Measure frames that travel through the three uses of the XDP paper, next to C, nft and the kernel, and nothing else
    #[arg(long, conflicts_with_all = ["objects", "peers_only", "frames"])]
    wire: bool,
    /// Measure how functions of flows change while packets flow, and nothing else
    #[arg(long, conflicts_with_all = ["objects", "peers_only", "frames", "wire"])]
    update: bool,
    /// Rounds; the median of an odd number is one of them
    #[arg(long, default_value_t = 63, value_parser = clap::value_parser!(u16).range(3..))]
    rounds: u16,
    /// Where the peers' sources and the results are
    #[arg(long, default_value = "bench")]
    bench: PathBuf,
    /// Where the packages are that scripts of eCLAT call
    #[arg(long, default_value = "packages")]
    packages: PathBuf,
    /// Where the headers are that packages are compiled with
    #[arg(long, default_value = "crates/packages/include")]
    headers: PathBuf,
    /// Where the scripts are
    #[arg(long, default_value = "examples")]
    examples: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.frames {
        Some(path) => capture::write(path, &works::table::all()).map(|()| true),
        None if arguments.wire => run_wire(&arguments),
        None if arguments.update => run_update(&arguments),
        None => run(&arguments).map(|results| arguments.peers_only || results.met()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("moonhook-bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<Results, Error> {
    let works: Vec<_> = works::table::all().into_iter().filter(|work| arguments.wants(work.title)).collect();
    routes::enter()?;
    let builds = !arguments.peers_only && arguments.objects.is_none();
    let folds = builds && arguments.wants(composition::TITLE);
    let rounds = usize::from(arguments.rounds);
    let progress = progress_bar(((works.len() + usize::from(folds)) * rounds) as u64);
    let builder = Builder::new(arguments)?;
    let machine = machine::describe()?;
    let mut results = Results { machine, works: Vec::new(), composition: None, tool: None };
    for work in works {
        progress.set_message(work.title);
        results.works.push(builder.measure(&work, rounds, || progress.inc(1))?);
    }
    if folds {
        progress.set_message(composition::TITLE);
        results.composition = Some(composition::measure(&builder, rounds, || progress.inc(1))?);
    }
    if builds && arguments.wants(moonhook::TITLE) {
        progress.set_message(moonhook::TITLE);
        results.tool = Some(moonhook::measure(arguments, &builder)?);
    }
    progress.finish_and_clear();
    let table = report::markdown(&results);
    print!("{table}");
    if !arguments.peers_only && arguments.only.is_none() {
        write_results(arguments, &results, &table)?;
    }
    Ok(results)
}

fn run_wire(arguments: &Arguments) -> Result<bool, Error> {
    let progress = progress_bar(0);
    let results = wire::run(arguments, &progress);
    progress.finish_and_clear();
    results.map(|results| results.met())
}

fn run_update(arguments: &Arguments) -> Result<bool, Error> {
    let progress = progress_bar(update::PARTS);
    let results = update::run(arguments, &progress);
    progress.finish_and_clear();
    results.map(|results| results.met())
}

impl Arguments {
    /// Whether a work of that title is measured.
    fn wants(&self, title: &str) -> bool {
        self.only.as_ref().is_none_or(|only| title.contains(only.as_str()))
    }

    fn write_result(&self, name: &str, text: String) -> Result<(), Error> {
        let folder = self.bench.join("results");
        std::fs::create_dir_all(&folder).map_err(Error::system(format!("make {}", folder.display())))?;
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(Error::system(format!("write {}", path.display())))
    }
}

fn write_results(arguments: &Arguments, results: &Results, table: &str) -> Result<(), Error> {
    let numbers = serde_json::to_string_pretty(results)
        .map_err(|error| Error::System { what: "write the numbers as JSON".into(), error: error.into() })?;
    arguments.write_result("latest.json", numbers + "\n")?;
    arguments.write_result("latest.svg", plot::draw(results)?)?;
    arguments.write_result("latest.md", table.to_string())
}

fn progress_bar(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} rounds, {eta} left: {msg}");
    let bar = ProgressBar::new(steps);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
