//! `moonhook run`: attach, show what happens, answer requests, detach.

mod attached;
mod frames;
mod reporter;
mod screen;

use crate::options::{AtOptions, ProgramOptions};
use crate::pins::PinOptions;
use crate::remote::RemoteOptions;
use crate::{CliError, Exit};
use frames::Frames;
use moonhook_daemon::Name;
use moonhook_engine::Settings;
use moonhook_install::RequestedMode;
use moonhook_session::{Inbox, Options, Session};
use reporter::Reporter;
pub use reporter::reloaded_text;
pub use screen::{Screen, Stream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Attach scripts to interfaces and stay in the foreground; Ctrl-C detaches
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "moonhook run [OPTIONS] [IFACE] <SCRIPT>...",
    after_help = "\
Handlers' prints go to standard output, run-time errors to standard error with a traceback. A line of counters is shown now
and then. The program is detached when the command ends, however it ends (unless `--pin`). Meanwhile `moonhook list`, `reload`, `events` and
`stop` reach it by its name.

Examples:
  moonhook run eth0 filter.lua
  moonhook run eth0 mark.lua --hook tc.egress            # where a script says `attach`
  moonhook run eth0,eth1 router.lua                      # the same program at both, with the same tables
  moonhook run eth0 filter.lua --mode generic --on-error drop
  moonhook run veth0 echo.lua --peer                     # of a veth, what is sent back arrives only so
  moonhook run ddos.eclat --packages . -D DEVNAME eth0    # where the script attaches its loader
  moonhook run service.lua                               # hooks of control groups only: no interface
  moonhook run veth0 a.lua b.lua --netns blue --duration 60
  moonhook run eth0 filter.lua --mode native --frags     # an MTU of more than one page
  moonhook run eth0 filter.lua --name edge               # and then, elsewhere: moonhook reload edge
  moonhook run eth0 filter.lua --pin                     # outlives the process; `moonhook stop filter` detaches
  moonhook run eth0 dump.lua --write out.pcap            # what a `socket.filter` keeps
  moonhook run eth0 filter.lua --watch                   # reload whenever the file is saved

Exit codes: 0 ended by Ctrl-C, SIGTERM or --duration, 1 script refused, 2 usage, 3 privilege, interface, kernel or file,
4 bug in Moonhook (verifier rejection)"
)]
pub struct Arguments {
    /// The network interface, or several with commas between them, unless no hook of the scripts is one of an interface's, or scripts of eCLAT say which; scripts, of which several become one program
    #[arg(required = true, value_names = ["IFACE", "SCRIPT"], num_args = 1..)]
    words: Vec<String>,
    /// Where the program runs: in the driver, in the network stack, or in the driver if it can [default: auto, or what the script says]
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Put a program that passes everything to the other end of each interface, which is a veth: it takes one there for packets to arrive
    /// that the script sends back (TX) or redirects. It goes when the command ends
    #[arg(long, conflicts_with = "pin")]
    peer: bool,
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
    place: AtOptions,
    /// By how many queues of netfilter packets come to handlers that run in this process (NFQUEUE), of each place; the packets between two hosts keep their order
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    queues: u16,
    #[command(flatten)]
    program: ProgramOptions,
    /// What the script is called by `moonhook list`, `reload` and the like [default: the script's file name, and a number if
    /// that is taken]
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
    /// Reload when a file that the script was made of changes: scripts, modules, lists, programs of packages and their headers
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
    /// Write frames that `socket.filter` keeps into this pcap file, instead of a line for each. The file is there when the command ends; a
    /// pipe gets them as they come
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
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
    if let (Some(interface), scripts) = arguments.interface_and_scripts()
        && scripts.is_empty()
    {
        return Err(CliError::NoScript { interface });
    }
    let options = arguments.options()?;
    let stop = stop_on_signals()?;
    let inbox = Arc::new(Inbox::default());
    let drained = Arc::clone(&inbox);
    let screen = Screen::start(move || drained.drained())?;
    let frames = Frames::new(arguments.write.as_deref())?;
    let reporter = Box::new(Reporter::new(screen, frames, arguments.json, arguments.quiet));
    if let Some(session) = Session::start(options, inbox, reporter, &stop)? {
        session.run(&stop)?;
    }
    Ok(Exit::Success)
}

impl Arguments {
    /// The interface, if there is one, and the scripts. No interface has a name with a slash, or is taken to have one that ends as
    /// scripts' names do.
    fn interface_and_scripts(&self) -> (Option<String>, Vec<PathBuf>) {
        let is_script =
            |word: &String| word.contains('/') || word.ends_with(".lua") || word.ends_with(".eclat");
        let interface = self.words.first().filter(|word| !is_script(word));
        let scripts = self.words.iter().skip(usize::from(interface.is_some()));
        (interface.cloned(), scripts.map(PathBuf::from).collect())
    }

    fn options(&self) -> Result<Options, CliError> {
        let (interface, scripts) = self.interface_and_scripts();
        let mut interfaces: Vec<String> = Vec::new();
        for name in interface.iter().flat_map(|names| names.split(',')).map(str::trim) {
            if !name.is_empty() && !interfaces.iter().any(|known| known == name) {
                interfaces.push(name.to_string());
            }
        }
        let mut settings = Settings { count_verdicts: true, ..self.program.settings() };
        settings.load.at = self.place.at();
        // What scripts print while they are loaded is not part of what a program reads.
        settings.load.prints_to_stderr = self.json;
        // Who names an interface, or wants something to stay, means handlers.
        settings.load.handlers_optional =
            interfaces.is_empty() && !self.pin && self.program.leaves_hook_open();
        let mut mode: Option<RequestedMode> = self.mode.map(Into::into);
        if interfaces.is_empty() {
            let attached = attached::find(&scripts, &settings.load.defines)?;
            interfaces = attached.interfaces;
            mode = mode.or(attached.mode);
        }
        Ok(Options {
            interfaces,
            scripts,
            mode: mode.unwrap_or(RequestedMode::Auto),
            peer: self.peer,
            netns: self.netns.clone(),
            settings,
            name: self.name.clone(),
            folder: self.remote.folder(),
            folder_is_chosen: self.remote.is_chosen(),
            watch: self.watch,
            pin: self.pin,
            bpffs: self.pins.bpffs.clone(),
            pins: None,
            duration: self.duration,
            queues: self.queues,
            interval: self.interval,
            busy: None,
        })
    }
}

/// A flag that Ctrl-C, SIGTERM and SIGHUP set.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|error| CliError::Signals { problem: error.to_string() })?;
    Ok(stop)
}
