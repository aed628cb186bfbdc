//! `moonhook run`: attach, show what happens, detach.
//!
//! Three parties: one thread takes records out of the ring buffer; the main thread shows them and the counters, and watches
//! the clock; the handler of signals only says that it is time to end. Between the first two is a queue of bounded length:
//! where packets bring more than can be shown, the ring buffer fills up and the kernel counts what is lost.

mod reporter;

use crate::driver::{self, Settings};
use crate::kernel::Kernel;
use crate::options::ProgramOptions;
use crate::records::{Message, RecordError};
use crate::{CliError, Exit, report};
use moonhook_install::{Events, InstallError, LogDetail, RequestedMode, XdpLink};
use reporter::Reporter;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Attach scripts to an interface and stay in the foreground; Ctrl-C detaches
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Handlers' prints go to standard output, run-time errors to standard error with a traceback. A line of counters is shown now
and then. The program is detached when the command ends, however it ends.

Examples:
  moonhook run eth0 filter.lua
  moonhook run eth0 filter.lua --mode generic --on-error drop
  moonhook run veth0 a.lua b.lua --netns blue --duration 60
  moonhook run eth0 filter.lua --mode native --frags     # an MTU of more than one page

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

/// A positive decimal number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_string())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("not a positive number of seconds".to_string()),
    }
}

/// Messages that wait to be shown.
const QUEUE: usize = 4096;
/// How long a stop, or the end of the interface, can go unnoticed.
const NAP: Duration = Duration::from_millis(100);

pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let stop = stop_on_signals()?;
    let kernel = load(arguments)?;
    let (sender, receiver) = sync_channel(QUEUE);
    let events = consumer(&kernel, sender)?;
    let mode = RequestedMode::from(arguments.mode);
    let netns = arguments.netns.as_deref();
    let link = kernel.program.attach_xdp(&kernel.name, arguments.interface.as_str(), mode, netns)?;
    let mut reporter = Reporter { out, json: arguments.json, quiet: arguments.quiet };
    reporter.attached(&link, mode, &arguments.scripts)?;

    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let consumer = events.map(|events| scope.spawn(|| consume(events, &ended)));
        let watched = watch(arguments, &kernel, &link, &stop, &receiver, &mut reporter);
        // First no more events come in, then those that are there are shown.
        let detached = if link.is_attached() { link.detach().map_err(CliError::from) } else { Ok(()) };
        ended.store(true, Ordering::Relaxed);
        let shown = drain(&receiver, &mut reporter, watched.is_ok());
        let consumed = consumer
            .map_or(Ok(()), |thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let counted = reporter.counters(&kernel.counters()?, true);
        watched.and(detached).and(shown).and(consumed.map_err(CliError::from)).and(counted)
    })?;
    Ok(Exit::Success)
}

/// Compiles and loads; what only compiling needed is freed.
fn load(arguments: &Arguments) -> Result<Kernel, CliError> {
    let settings = Settings { count_verdicts: true, ..arguments.program.settings() };
    let compile = || driver::compile(&arguments.scripts, &settings);
    let mut compiled = report::with_prints_to_stderr(arguments.json, compile)?;
    Kernel::load(&mut compiled, LogDetail::Nothing)
}

/// A flag that Ctrl-C, SIGTERM and SIGHUP set.
fn stop_on_signals() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|error| CliError::Signals { problem: error.to_string() })?;
    Ok(stop)
}

type Queued = Result<Message, RecordError>;

fn consumer(kernel: &Kernel, sender: SyncSender<Queued>) -> Result<Option<Events>, CliError> {
    let decoder = kernel.decoder.clone();
    // A receiver that is gone has stopped showing: what comes after that is nobody's.
    kernel.events(move |record| drop(sender.send(decoder.decode(record))))
}

/// Takes records out of the ring until `ended`, and then the last ones. The queue ends with `events`.
fn consume(mut events: Events, ended: &AtomicBool) -> Result<(), InstallError> {
    while !ended.load(Ordering::Relaxed) {
        events.poll(NAP)?;
    }
    events.consume()?;
    Ok(())
}

/// Shows messages and counters until a signal, the end of the time, or of the interface.
fn watch(
    arguments: &Arguments,
    kernel: &Kernel,
    link: &XdpLink,
    stop: &AtomicBool,
    messages: &Receiver<Queued>,
    reporter: &mut Reporter<'_>,
) -> Result<(), CliError> {
    let start = Instant::now();
    let mut next_counters = start + arguments.interval;
    let mut next_look = start + NAP;
    while !stop.load(Ordering::Relaxed)
        && arguments.duration.is_none_or(|duration| start.elapsed() < duration)
    {
        match messages.recv_timeout(NAP.min(next_counters.saturating_duration_since(Instant::now()))) {
            Ok(message) => reporter.message(&message?)?,
            Err(RecvTimeoutError::Timeout) => reporter.flush()?,
            // The handlers have no events.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(NAP),
        }
        let now = Instant::now();
        if now >= next_counters {
            reporter.counters(&kernel.counters()?, false)?;
            next_counters = now + arguments.interval;
        }
        if now >= next_look {
            if !link.is_attached() {
                return Err(CliError::InterfaceGone { name: link.interface().name.clone() });
            }
            next_look = now + NAP;
        }
    }
    Ok(())
}

/// Takes what is left in the queue until its other end is gone; shows it, if that is still of use.
fn drain(messages: &Receiver<Queued>, reporter: &mut Reporter<'_>, show: bool) -> Result<(), CliError> {
    let mut result = Ok(());
    for message in messages.iter() {
        if show && result.is_ok() {
            result = message.map_err(CliError::from).and_then(|message| reporter.message(&message));
        }
    }
    result
}
