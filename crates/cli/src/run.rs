//! `moonhook run`: attach, show what happens, answer requests, detach.
//!
//! The main thread owns the program, and never runs Lua: the Lua state has a thread of its own (`lua_thread.rs`). The main thread waits for
//! what comes into its inbox: the handlers' messages, which a thread takes out of the ring buffer, the requests of other commands,
//! which the socket's threads bring, and what control code has done. Where packets bring more than can be shown, the ring buffer
//! fills up and the kernel counts what is lost.

mod changes;
pub mod content;
mod control_code;
mod inbox;
mod inherit;
mod installed;
mod lists;
mod lua_thread;
mod making;
mod remote_tables;
mod reporter;
mod screen;
mod service;
mod session;
mod starting;
mod watcher;

use crate::options::ProgramOptions;
use crate::pins::{PinOptions, Pins};
use crate::remote::RemoteOptions;
use crate::{CliError, Exit};
use content::Earlier;
use control_code::ControlCode;
use inbox::Inbox;
use installed::{Assembled, Installed};
use lua_thread::Sources;
use making::Heritage;
use moonhook_daemon::{Claim, DaemonError, Name, Publisher, Server};
use moonhook_engine::Settings;
use moonhook_install::{RequestedMode, XdpLink};
use moonhook_records::Counters;
use reporter::Reporter;
pub use reporter::reloaded_text;
use screen::Screen;
use session::Session;
use starting::First;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use watcher::Watcher;

/// Attach scripts to an interface and stay in the foreground; Ctrl-C detaches
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Handlers' prints go to standard output, run-time errors to standard error with a traceback. A line of counters is shown now
and then. The program is detached when the command ends, however it ends (unless `--pin`). Meanwhile `moonhook list`, `reload`, `events` and
`stop` reach it by its name.

Examples:
  moonhook run eth0 filter.lua
  moonhook run eth0 filter.lua --mode generic --on-error drop
  moonhook run veth0 a.lua b.lua --netns blue --duration 60
  moonhook run eth0 filter.lua --mode native --frags     # an MTU of more than one page
  moonhook run eth0 filter.lua --name edge               # and then, elsewhere: moonhook reload edge
  moonhook run eth0 filter.lua --pin                     # outlives the process; `moonhook stop filter` detaches
  moonhook run eth0 filter.lua --watch                   # reload whenever the file is saved

Exit codes: 0 ended by Ctrl-C, SIGTERM or --duration, 1 script refused, 2 usage, 3 privilege, interface, kernel or file,
4 bug in Moonhook (verifier rejection)")]
pub struct Arguments {
    /// Network interface
    #[arg(value_name = "IFACE")]
    interface: String,
    /// Scripts; several become one program
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// Where the program runs: in the driver, in the network stack, or in the driver if it can
    #[arg(long, value_enum, default_value = "auto")]
    mode: Mode,
    /// The interface is in this network namespace
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
    /// End after that many seconds
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    duration: Option<Duration>,
    /// Seconds between lines of counters
    #[arg(long, value_name = "SECS", value_parser = seconds, default_value = "10")]
    interval: Duration,
    #[command(flatten)]
    program: ProgramOptions,
    /// What the script is called by `moonhook list`, `reload` and the like [default: the script's file name, and a number if
    /// that is taken]
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
    /// Reload when a file that the script was made of changes: scripts, modules, lists
    #[arg(long)]
    watch: bool,
    /// Pin the program: it goes on when this process ends, however it ends, until `moonhook stop`; the next `run --pin` of the
    /// same name takes over, with tables and variables
    #[arg(long)]
    pin: bool,
    #[command(flatten)]
    pins: PinOptions,
    #[command(flatten)]
    remote: RemoteOptions,
    /// Show what handlers print and their errors, nothing else
    #[arg(long, short)]
    quiet: bool,
    /// One JSON object a line: attached, print, error, counters
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    Native,
    Generic,
    Auto,
}

impl From<Mode> for RequestedMode {
    fn from(mode: Mode) -> RequestedMode {
        match mode {
            Mode::Native => RequestedMode::Native,
            Mode::Generic => RequestedMode::Generic,
            Mode::Auto => RequestedMode::Auto,
        }
    }
}

/// More than thirty years; points in time so far away can still be computed.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// A positive decimal number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_string())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration > LONGEST => Err(format!("at most {} seconds", LONGEST.as_secs())),
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("not a positive number of seconds".to_string()),
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, CliError> {
    let stop = stop_on_signals()?;
    // The server's clients wait for what the session has: the session goes first, however this ends.
    let Some((server, mut session)) = start(arguments, &stop)? else { return Ok(Exit::Success) };
    let watched = session.watch(&stop);
    // First no more events come in, then those that are there are shown.
    let detached = session.detach();
    let finished = session.finish(watched.is_ok(), !matches!(detached, Ok(false)));
    drop(server);
    let told = watched.and(finished).and(detached).and_then(|goes_on| match goes_on {
        true => session.reporter.left(&session.name),
        false => Ok(()),
    });
    let written = session.reporter.finish();
    told.and(written).map(|()| Exit::Success)
}

/// Compiles, attaches, or takes over what is pinned, and listens. `None` if that was stopped before anything was attached.
fn start<'a>(
    arguments: &'a Arguments,
    stop: &AtomicBool,
) -> Result<Option<(Option<Server>, Session<'a>)>, CliError> {
    let claim = claim(arguments)?;
    let name = claim.as_ref().map_or_else(|| default_name(arguments), |claim| claim.name().clone());
    let pins = pins(arguments, &name)?;
    let mut settings = Settings { count_verdicts: true, ..arguments.program.settings() };
    // What scripts print while they are loaded is not part of what a program reads.
    settings.load.prints_to_stderr = arguments.json;
    let leftover = pins.as_ref().and_then(Pins::leftover);
    let earlier = leftover.as_ref().map(|leftover| leftover as &dyn Earlier);
    let inbox = Arc::new(Inbox::default());
    let sources =
        Sources { scripts: arguments.scripts.clone(), options: settings.load.clone(), contents: Vec::new() };
    let heritage = earlier.map(Heritage::of).transpose()?;
    let Some(First { thread, program, fingerprint, files }) =
        starting::first(&sources, &settings, heritage, &inbox, stop)?
    else {
        return Ok(None);
    };
    let (mut installed, Assembled { plan, connection }) = Installed::assemble(program, files)?;
    thread.connect(connection)?;
    installed.consume(&inbox)?;
    if let Some(earlier) = earlier {
        inherit::copy_variables(&plan, earlier, &installed.kernel)?;
    }
    let scripts: Vec<PathBuf> = arguments.scripts.iter().map(|script| absolute(script)).collect();
    let (link, taken_over) = attach(arguments, pins.as_ref(), &installed, &scripts)?;
    let drained = Arc::clone(&inbox);
    let screen = Screen::start(move || drained.drained())?;
    let reporter = Reporter::new(screen, arguments.json, arguments.quiet);
    let publisher = Publisher::default();
    let server = claim.map(|claim| serve(claim, &publisher, &inbox)).transpose()?;
    let watcher = arguments.watch.then(|| Watcher::start(&inbox)).transpose()?;
    if let Some(watcher) = &watcher {
        watcher.watch(&installed.files);
    }
    let mut session = Session {
        arguments,
        settings,
        name,
        scripts,
        installed,
        control: ControlCode::new(thread, sources, fingerprint),
        retired_control: Vec::new(),
        again: VecDeque::new(),
        link,
        inbox,
        publisher,
        reporter,
        started: Instant::now(),
        reloads: 0,
        retired: Vec::new(),
        earlier: Counters::default(),
        watcher,
        pins,
        dumps: Vec::new(),
        last_dump: 0,
        lists: BTreeMap::new(),
        changes: VecDeque::new(),
        making: None,
        stopping: false,
    };
    // All that can fail has been done.
    session.reporter.attached(
        &session.name,
        &session.link,
        arguments.mode.into(),
        &arguments.scripts,
        &session.installed.choice,
        taken_over.then_some(&plan),
    )?;
    Ok(Some((server, session)))
}

/// Where the script is to be pinned, if it is.
fn pins(arguments: &Arguments, name: &Name) -> Result<Option<Pins>, CliError> {
    let pins = arguments.pins.of(&arguments.remote.folder(), name);
    match arguments.pin {
        true if pins.are_elsewhere() => Err(CliError::Pinned { name: name.clone() }),
        true => pins.create().map(|()| Some(pins)),
        false if pins.exist() => Err(CliError::Pinned { name: name.clone() }),
        false => Ok(None),
    }
}

/// Puts the program into the hook, or in the place of the one that is pinned there; says which. With `pins`, it is pinned then.
fn attach(
    arguments: &Arguments,
    pins: Option<&Pins>,
    installed: &Installed,
    scripts: &[PathBuf],
) -> Result<(XdpLink, bool), CliError> {
    let (kernel, interface, netns) =
        (&installed.kernel, arguments.interface.as_str(), arguments.netns.as_deref());
    let record = |link: &XdpLink| session::record(arguments, link, &installed.content, scripts);
    if let Some(pins) = pins {
        if let Some(mut link) = XdpLink::pinned(&pins.link(), interface, netns)? {
            let before = pins.record();
            pins.keep(&link, &kernel.program, record(&link))?;
            if let Err(error) = link.update(&kernel.program, &kernel.name) {
                before.map_or(Ok(()), |before| pins.write(&before))?;
                return Err(error.into());
            }
            pins.tidy()?;
            return Ok((link, true));
        }
        // Of an interface that is gone.
        pins.remove()?;
    }
    let link = kernel.program.attach_xdp(&kernel.name, interface, arguments.mode.into(), netns)?;
    if let Some(pins) = pins
        && let Err(error) = pins.keep(&link, &kernel.program, record(&link))
    {
        // What is there of the pins goes, and the program with it.
        let _ = pins.remove();
        return Err(error);
    }
    Ok((link, false))
}

/// Listens for requests, which go into the inbox.
fn serve(claim: Claim, publisher: &Publisher, inbox: &Arc<Inbox>) -> Result<Server, CliError> {
    let inbox = Arc::clone(inbox);
    Ok(Server::start(claim, publisher.clone(), move |delivery| inbox.deliver(delivery))?)
}

fn default_name(arguments: &Arguments) -> Name {
    Name::of_script(&arguments.scripts[0])
}

/// Takes the script's name. Where nobody asked for a name or a folder and there can be none, the script runs without.
fn claim(arguments: &Arguments) -> Result<Option<Claim>, CliError> {
    let folder = arguments.remote.folder();
    let claim = match &arguments.name {
        Some(name) => folder.claim(name),
        None => folder.claim_unique(&default_name(arguments)),
    };
    match claim {
        Err(DaemonError::Folder { .. }) if arguments.name.is_none() && !arguments.remote.is_chosen() => {
            Ok(None)
        }
        claim => Ok(Some(claim?)),
    }
}

/// The path from anywhere: as the script is found again after a change of folder.
fn absolute(script: &Path) -> PathBuf {
    std::path::absolute(script).unwrap_or_else(|_| script.to_path_buf())
}

/// A flag that Ctrl-C, SIGTERM and SIGHUP set.
fn stop_on_signals() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|error| CliError::Signals { problem: error.to_string() })?;
    Ok(stop)
}
