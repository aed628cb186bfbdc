//! `moonhook check`: compile, let the verifier judge, attach nothing.

mod costs;
mod tables;

use crate::options::{AtOptions, ProgramOptions};
use crate::{CliError, Exit, loading, report, terminal};
use costs::Cost;
use moonhook_control::FlowsOfState;
use moonhook_diagnostic::Diagnostic;
use moonhook_engine::Kernel;
use moonhook_engine::{Choice, Compiled, Timings, Trial, entries, timed};
use moonhook_hook::{Place, Point};
use moonhook_install::{LogDetail, MapInfo, ProgramStatistics};
use moonhook_ir::{Map, MapKind, PAGE};
use moonhook_load::{ForwardingPlace, Loaded, MovedPlace, QueuedPlace};
use moonhook_snapshot::Snapshot;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use tables::TableReport;

/// Compile scripts and let the kernel's verifier judge, without attaching anything
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moonhook check filter.lua                 # as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON
  moonhook check --no-kernel filter.lua     # without the verifier: needs no privilege
  moonhook check --costs filter.lua         # which of its functions cost the verifier most
  moonhook check --json filter.lua | jq .timings_us

Exit codes: 0 accepted, 1 script refused, 2 usage, 3 privilege, kernel or file, 4 bug in Moonhook (verifier rejection)")]
pub struct Arguments {
    /// Scripts; several become one program
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// Stop before the kernel: needs no privilege
    #[arg(long)]
    no_kernel: bool,
    /// Answer as a JSON document
    #[arg(long)]
    pub json: bool,
    /// Say how long each stage took
    #[arg(long)]
    timings: bool,
    /// Say of each part how much of the verifier's work it is, even if that takes more than half a second
    #[arg(long, conflicts_with = "no_kernel")]
    costs: bool,
    #[command(flatten)]
    place: AtOptions,
    #[command(flatten)]
    program: ProgramOptions,
}

/// What there is to say about a program.
#[derive(Debug, Serialize)]
struct Report {
    script: String,
    handlers: Vec<Handler>,
    /// Where packets are handed to the process that runs the script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queued: Vec<Queued>,
    /// Places of netfilter whose handlers run at tc.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moved: Vec<Moved>,
    /// Places of netfilter whose handlers forward copies of packets, which the process sends that runs the script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    forwarding: Vec<Forwarding>,
    /// One for each hook.
    programs: Vec<Entry>,
    program: Program,
    /// The tables that are maps.
    tables: Vec<TableReport>,
    maps: Vec<MapInfo>,
    /// Bytes of all maps: what the kernel has allocated, or, without it, keys and values.
    map_memory: u64,
    object_bytes: usize,
    timings_us: Timings,
    /// What is certain to be an error at packet time.
    warnings: Vec<Diagnostic>,
}

/// A function that the script registered.
#[derive(Debug, Serialize)]
struct Handler {
    hook: &'static str,
    /// Which of the places that have the hook, where the script says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// The file and line that it is defined at.
    place: String,
}

/// A place whose handlers run in a process.
#[derive(Debug, Serialize)]
struct Queued {
    at: String,
    /// What they need.
    why: String,
}

/// A place of netfilter whose handlers run at another hook.
#[derive(Debug, Serialize)]
struct Moved {
    at: String,
    hook: &'static str,
    #[serde(skip)]
    text: String,
}

/// A place of netfilter whose handlers forward copies of packets.
#[derive(Debug, Serialize)]
struct Forwarding {
    at: String,
    #[serde(skip)]
    text: String,
}

/// A program of the object.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    hook: &'static str,
    /// As of a handler.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    section: String,
    /// What the kernel made of it.
    kernel: Option<ProgramStatistics>,
}

/// What the programs are, all together.
#[derive(Debug, Serialize)]
struct Program {
    /// What the handlers were compiled to.
    #[serde(flatten)]
    choice: Choice,
    /// Slots of 8 bytes in the object, subprograms included.
    instructions: usize,
    /// Bytes of stack of the program and each subprogram.
    stack: Vec<u32>,
    /// Bytes of stack along the chain of calls that takes most; the kernel gives 512.
    stack_of_calls: u32,
    /// Where the instructions are, and the verifier's work.
    costs: Vec<Cost>,
}

pub fn check(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let mut settings = arguments.program.settings();
    settings.load.at = arguments.place.at();
    settings.load.handlers_optional = arguments.program.leaves_hook_open();
    settings.load.trial = Some(Trial::of(&settings, !arguments.no_kernel));
    let mut load_time = 0;
    let json = arguments.json;
    let loaded = timed(&mut load_time, || loading::load(&arguments.scripts, &settings.load, json, json))?;
    let snapshot = &loaded.snapshot;
    let (mut compiled, kernel) = match arguments.no_kernel || loaded.is_over {
        true => (moonhook_engine::compile(snapshot, &settings)?, None),
        false => {
            let made = Kernel::install(snapshot, &settings, LogDetail::Statistics, |_| Vec::new())?;
            let running = (&made.1.program, &made.1.decoder);
            let flows = moonhook_engine::set_flows(&loaded, &made.0.module, running, &settings)?;
            (with_warnings_of(made.0, flows.as_ref()), Some(made.1))
        }
    };
    let marks =
        (!arguments.no_kernel).then(|| moonhook_session::warning_of_marks(&QueuedPlace::of(&loaded.queued)));
    compiled.module.warnings.extend(marks.flatten());
    compiled.timings = compiled.timings.after_load(load_time);
    if loaded.is_over && !json {
        terminal::complain(report::over(&snapshot.script));
    }
    let mut answer = report(snapshot, &compiled, kernel.as_ref(), arguments.costs)?;
    (answer.queued, answer.moved, answer.forwarding) = (queued(&loaded), moved(&loaded), forwarding(&loaded));
    loading::end(loaded, &settings.load, json)?;
    if arguments.json {
        writeln!(out, "{:#}", serde_json::to_value(&answer).map_err(std::io::Error::from)?)?;
    } else {
        report::warn(&answer.warnings);
        show(&answer, arguments.timings, out)?;
    }
    Ok(Exit::Success)
}

/// With what is to be known of functions that load time sets for flows.
fn with_warnings_of(mut compiled: Compiled, flows: Option<&FlowsOfState>) -> Compiled {
    let of_flows = flows.map(|flows| flows.tables().warnings()).unwrap_or_default();
    compiled.module.warnings.extend(of_flows);
    compiled
}

fn report(
    snapshot: &Snapshot,
    compiled: &Compiled,
    kernel: Option<&Kernel>,
    costs: bool,
) -> Result<Report, CliError> {
    let maps = match kernel {
        Some(kernel) => kernel.program.maps(),
        None => compiled.module.maps.iter().map(planned).collect(),
    };
    Ok(Report {
        script: snapshot.script.clone(),
        handlers: handlers(snapshot),
        queued: Vec::new(),
        moved: Vec::new(),
        forwarding: Vec::new(),
        programs: programs(compiled, kernel)?,
        program: program(snapshot, compiled, kernel, costs)?,
        tables: tables::tables(&compiled.module, &maps),
        map_memory: maps.iter().map(|map| map.memory).sum(),
        maps,
        object_bytes: compiled.object.elf.len(),
        timings_us: compiled.timings,
        warnings: compiled.module.warnings.clone(),
    })
}

fn queued(loaded: &Loaded) -> Vec<Queued> {
    let places = QueuedPlace::of(&loaded.queued);
    places.iter().map(|place| Queued { at: place.point.to_string(), why: place.why() }).collect()
}

fn moved(loaded: &Loaded) -> Vec<Moved> {
    let moved =
        |place: &MovedPlace| Moved { at: place.point.to_string(), hook: place.hook.name, text: place.text() };
    loaded.moved.iter().map(moved).collect()
}

fn forwarding(loaded: &Loaded) -> Vec<Forwarding> {
    let forwarding = |place: &ForwardingPlace| Forwarding { at: place.point.to_string(), text: place.text() };
    loaded.forwarding.iter().map(forwarding).collect()
}

fn handlers(snapshot: &Snapshot) -> Vec<Handler> {
    let handler = |handler: &moonhook_snapshot::Handler| {
        let prototype = snapshot.prototype(snapshot.closure(handler.written).prototype);
        let place = match prototype.source {
            Some(source) => format!("{}:{}", snapshot.source(source).name, prototype.line_defined),
            // Handlers of Moonhook's own have no lines.
            None => "a flow table".to_string(),
        };
        Handler { hook: handler.point.hook.name, at: said(&handler.point), place }
    };
    snapshot.handlers.iter().map(handler).collect()
}

/// `costs` asks for the verifier's work on each part, however long that takes.
fn program(
    snapshot: &Snapshot,
    compiled: &Compiled,
    kernel: Option<&Kernel>,
    costs: bool,
) -> Result<Program, CliError> {
    let functions = &compiled.object.functions;
    let verified = kernel.map(|_| costs::verified(compiled, costs)).transpose()?.flatten();
    Ok(Program {
        choice: compiled.choice.clone(),
        instructions: functions.iter().map(|function| function.instructions).sum(),
        stack: functions.iter().map(|function| function.stack).collect(),
        stack_of_calls: compiled.object.stack,
        costs: costs::costs(snapshot, functions, verified.as_deref()),
    })
}

fn programs(compiled: &Compiled, kernel: Option<&Kernel>) -> Result<Vec<Entry>, CliError> {
    let statistics = kernel.map(|kernel| kernel.program.statistics()).unwrap_or_default();
    let entry = |(entry, point): (moonhook_engine::Entry, &Point)| Entry {
        at: said(point),
        kernel: statistics.iter().find(|statistics| statistics.name == entry.name).cloned(),
        name: entry.name,
        hook: entry.hook.name,
        section: entry.section,
    };
    Ok(entries(&compiled.object)?.into_iter().zip(&compiled.points).map(entry).collect())
}

/// A map as the object describes it.
fn planned(map: &Map) -> MapInfo {
    let data = |prefix: &str, size: u32| MapInfo {
        name: format!("{prefix}.{}", map.name),
        map_type: "array".to_string(),
        key_size: 4,
        value_size: size,
        max_entries: 1,
        memory: u64::from(size),
    };
    match &map.kind {
        MapKind::ReadOnlyData(bytes) => data(".rodata", bytes.len() as u32),
        MapKind::Data(bytes) => data(".data", bytes.len() as u32),
        MapKind::Zeros(size) => data(".bss", *size),
        MapKind::Arena { pages, .. } => MapInfo {
            name: map.name.clone(),
            map_type: "arena".to_string(),
            key_size: 0,
            value_size: 0,
            max_entries: *pages,
            memory: u64::from(*pages) * PAGE as u64,
        },
        MapKind::Map(definition) => MapInfo {
            name: map.name.clone(),
            map_type: format!("{:?}", definition.map_type).to_lowercase(),
            key_size: definition.key_size,
            value_size: definition.value_size,
            max_entries: definition.max_entries,
            // The entries of a ring buffer are bytes.
            memory: u64::from(definition.max_entries)
                * u64::from((definition.key_size + definition.value_size).max(1)),
        },
    }
}

fn show(report: &Report, timings: bool, out: &mut dyn Write) -> Result<(), CliError> {
    for Queued { at, why } in &report.queued {
        writeln!(out, "{}: {at} runs as NFQUEUE {why}", report.script)?;
    }
    let moved = report.moved.iter().map(|place| &place.text);
    for text in moved.chain(report.forwarding.iter().map(|place| &place.text)) {
        writeln!(out, "{}: {text}", report.script)?;
    }
    if report.handlers.is_empty() && report.tables.is_empty() {
        return Ok(writeln!(out, "nothing runs in the kernel")?);
    }
    let Program { choice, instructions, stack, stack_of_calls, costs } = &report.program;
    for entry in &report.programs {
        let Entry { name, section, at, .. } = entry;
        let at = at.as_ref().map(|at| format!(", for {at}")).unwrap_or_default();
        writeln!(out, "{}: program `{name}` in section {section}{at}", report.script)?;
        show_handlers(&report.handlers, entry, out)?;
    }
    writeln!(out, "  form                   {choice}")?;
    if let Some(help) = choice.reason.as_ref().and_then(|reason| reason.help.as_ref()) {
        writeln!(out, "                         for expanded code, {help}")?;
    }
    writeln!(out, "  instructions           {instructions}")?;
    let kernel: Vec<&ProgramStatistics> =
        report.programs.iter().filter_map(|entry| entry.kernel.as_ref()).collect();
    if !kernel.is_empty() {
        let verified: u64 = kernel.iter().map(|kernel| u64::from(kernel.verified_instructions)).sum();
        writeln!(out, "  verified instructions  {verified}")?;
        let bytes: u64 = kernel.iter().map(|kernel| u64::from(kernel.jited_bytes)).sum();
        writeln!(out, "  machine code           {bytes} bytes")?;
    }
    let verified = kernel.iter().filter_map(|kernel| kernel.stack.as_ref());
    let verified: Vec<u32> = verified.flatten().copied().collect();
    show_stack(if verified.is_empty() { stack } else { &verified }, *stack_of_calls, out)?;
    if costs.len() > 1 {
        costs::show(costs, !kernel.is_empty(), out)?;
    }
    tables::show(&report.tables, out)?;
    writeln!(out, "  maps                   {}, {} bytes", report.maps.len(), report.map_memory)?;
    let width = |text: fn(&MapInfo) -> &str| report.maps.iter().map(|map| text(map).len()).max().unwrap_or(0);
    let (names, types) = (width(|map| &map.name), width(|map| &map.map_type));
    for map in &report.maps {
        let MapInfo { name, map_type, key_size, value_size, max_entries, memory } = map;
        let schema = match key_size {
            0 if map_type == "arena" => format!("{max_entries} pages of {PAGE} bytes"),
            // A ring buffer, whose entries are bytes.
            0 => format!("{max_entries} bytes"),
            _ => format!("{max_entries} x ({key_size} + {value_size}) bytes"),
        };
        writeln!(out, "    {name:names$}  {map_type:types$}  {schema}, {memory} bytes of memory")?;
    }
    if timings {
        show_timings(&report.timings_us, out)?;
    }
    let judged = match kernel.is_empty() {
        false => "accepted by the kernel's verifier",
        true => "compiled; the kernel was not asked",
    };
    Ok(writeln!(out, "{judged}")?)
}

/// What a script says of where a hook is.
fn said(point: &Point) -> Option<String> {
    (point.place != Place::Interface).then(|| point.to_string())
}

/// The handlers of a program.
fn show_handlers(handlers: &[Handler], program: &Entry, out: &mut dyn Write) -> Result<(), CliError> {
    let is_its = |handler: &&Handler| (handler.hook, &handler.at) == (program.hook, &program.at);
    let handlers: Vec<&Handler> = handlers.iter().filter(is_its).collect();
    if let [handler] = handlers[..] {
        return Ok(writeln!(out, "  handler                {}", handler.place)?);
    }
    writeln!(
        out,
        "  {} handlers, compiled to one program; they run in this order while they pass:",
        handlers.len()
    )?;
    for (index, handler) in handlers.iter().enumerate() {
        writeln!(out, "    {}. {}", index + 1, handler.place)?;
    }
    Ok(())
}

/// Subprograms share the kernel's 512 bytes along each chain of calls only, so their sum says nothing.
fn show_stack(stack: &[u32], of_calls: u32, out: &mut dyn Write) -> Result<(), CliError> {
    let most = stack.iter().max().copied().unwrap_or(0);
    let what = match stack.len() {
        0 | 1 => String::new(),
        _ => format!(" in one function, at most, and {of_calls} along a chain of calls"),
    };
    Ok(writeln!(out, "  stack                  {most} bytes{what}")?)
}

fn show_timings(timings: &Timings, out: &mut dyn Write) -> Result<(), CliError> {
    let Timings { load, lower, passes, emit, kernel_load, total } = timings;
    write!(
        out,
        "  time                   load {load} us, lower {lower} us, passes {passes} us, emit {emit} us"
    )?;
    if let Some(kernel_load) = kernel_load {
        write!(out, ", kernel {kernel_load} us")?;
    }
    Ok(writeln!(out, "; total {total} us")?)
}
