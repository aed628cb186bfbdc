//! `moonhook nflua`: NFLua's states, and what is done with them.

mod install;

use crate::run::stop_on_signals;
use crate::{CliError, Exit};
use moonhook_engine::{RunningKernel, Settings};
use moonhook_load::Kernel;
use moonhook_nflua::protocol::Request;
use moonhook_nflua::{Client, Log, Options, socket_path};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// NFLua's states: scripts whose functions rules of iptables ask about packets
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moonhook nflua install
  moonhook nflua run &
  moonhook nflua create st
  moonhook nflua execute st script.lua
  iptables -A FORWARD -p tcp -m lua --state st --function is_bad -j DROP
  iptables -A FORWARD -p tcp --dport 80 -j LUA --state st --function decide
  moonhook nflua list

The states belong to the network namespace of `run`. `moonhook nflua install` gives iptables what it needs for such rules, and Lua the
module `nflua`: it compiles them with the host's C compiler and headers, on Debian the packages gcc, libxtables-dev and liblua5.4-dev.

Exit codes: 0 done, 1 script refused, 2 usage, 3 privilege, kernel or file, or no such state, 4 bug in Moonhook")]
pub struct Arguments {
    #[command(subcommand)]
    operation: Operation,
}

#[derive(Debug, clap::Subcommand)]
enum Operation {
    /// Have the states of this network namespace, until a signal or `stop`
    Run(Run),
    /// Make a state
    Create(Create),
    /// End a state that no rule and no timer needs
    Destroy(Named),
    /// Execute a script in a state
    Execute(Execute),
    /// List the states
    List(List),
    /// Send what comes by standard input to a state's `__receive_callback`
    Send(Send),
    /// Show what states send to a port, a line for each
    Receive(Receive),
    /// End the process with the states, unless rules or timers need one
    Stop,
    /// Compile plugins of iptables and the Lua module, and put them where these are found
    Install(install::Options),
    /// Remove what `install` has installed, given the same folders
    Uninstall(install::Places),
}

#[derive(Debug, clap::Args)]
struct Run {
    /// Where lines go that states print, and what has failed
    #[arg(long, value_enum, default_value = "stdout")]
    log_to: LogPlace,
    /// Where scripts find modules
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Steps that a function may use for a packet
    #[arg(long, value_name = "STEPS", default_value_t = moonhook_engine::BUDGET)]
    budget: u32,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LogPlace {
    /// Standard output, and standard error
    Stdout,
    /// The kernel's log, where NFLua has it
    Kmsg,
}

#[derive(Debug, clap::Args)]
struct Create {
    state: String,
    /// Bytes that its scripts may take
    #[arg(default_value_t = 32 << 10)]
    memory: usize,
}

#[derive(Debug, clap::Args)]
struct Named {
    state: String,
}

#[derive(Debug, clap::Args)]
struct Execute {
    state: String,
    /// `-` is standard input
    #[arg(required_unless_present = "text")]
    file: Option<PathBuf>,
    /// Code in the place of a file's
    #[arg(short = 'e', value_name = "CODE", conflicts_with = "file")]
    text: Option<String>,
}

#[derive(Debug, clap::Args)]
struct List {
    /// One JSON object for each
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Send {
    state: String,
    /// The port that the state sees
    #[arg(default_value_t = 0)]
    port: u32,
}

#[derive(Debug, clap::Args)]
struct Receive {
    port: u32,
    /// End after that many messages
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

/// How long a message is waited for before a signal is looked for.
const NAP: Duration = Duration::from_millis(100);

/// How long the process with the states may take to end.
const LAST: Duration = Duration::from_secs(30);

/// Where the programs that rules ask are pinned.
const PINS: &str = "/sys/fs/bpf/moonhook";

impl Arguments {
    pub fn json(&self) -> bool {
        matches!(&self.operation, Operation::List(List { json: true }))
    }
}

pub fn nflua(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let path = socket_path();
    let simply = |request: Request| Ok(Client::control(&path)?.ask(&request).map(|_| Exit::Success)?);
    match &arguments.operation {
        Operation::Run(arguments) => run(arguments, path, out, &*stop_on_signals()?),
        Operation::Create(Create { state, memory }) => {
            simply(Request::Create { name: state.clone(), memory: *memory })
        }
        Operation::Destroy(Named { state }) => simply(Request::Destroy { name: state.clone() }),
        Operation::Execute(arguments) => {
            let (title, code) = code(arguments)?;
            simply(Request::Execute { name: arguments.state.clone(), title, code })
        }
        Operation::List(arguments) => list(arguments, &path, out),
        Operation::Send(Send { state, port }) => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map_err(|source| unread(Path::new("-"), source))?;
            Client::data(&path, *port)?.send(state, &bytes)?;
            Ok(Exit::Success)
        }
        Operation::Receive(arguments) => receive(arguments, &path, out, &*stop_on_signals()?),
        Operation::Stop => {
            Client::control(&path)?.stop(LAST)?;
            Ok(Exit::Success)
        }
        Operation::Install(options) => install::install(options, out),
        Operation::Uninstall(places) => install::uninstall(places, out),
    }
}

fn run(arguments: &Run, socket: PathBuf, out: &mut dyn Write, stop: &AtomicBool) -> Result<Exit, CliError> {
    // The file system of programs takes no dots.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let number = socket.file_name().unwrap_or_default().to_string_lossy().replace(|c| !is_plain(c), "_");
    let options = Options {
        pins: Path::new(PINS).join(format!("nflua-{number}")),
        socket,
        folder: crate::options::absolute(&arguments.root),
        settings: Settings { budget: arguments.budget, ..Settings::default() },
        log: match arguments.log_to {
            LogPlace::Stdout => Log::Standard,
            LogPlace::Kmsg => Log::Kernel,
        },
        ahead: RunningKernel.seconds_ahead(),
    };
    let ready = |path: &Path| {
        // Who reads it has seen that states can be made.
        let _ = writeln!(out, "listening at {}", path.display()).and_then(|()| out.flush());
    };
    moonhook_nflua::run(options, ready, stop)?;
    Ok(Exit::Success)
}

/// What is to be executed, and what messages call it.
fn code(arguments: &Execute) -> Result<(String, Vec<u8>), CliError> {
    match (&arguments.text, &arguments.file) {
        (Some(text), _) => Ok((String::new(), text.clone().into_bytes())),
        (None, Some(file)) if file != Path::new("-") => {
            let code = std::fs::read(file).map_err(|source| unread(file, source))?;
            Ok((file.to_string_lossy().into_owned(), code))
        }
        _ => {
            let mut code = Vec::new();
            std::io::stdin().read_to_end(&mut code).map_err(|source| unread(Path::new("-"), source))?;
            Ok((String::new(), code))
        }
    }
}

fn unread(path: &Path, source: std::io::Error) -> CliError {
    CliError::Unreadable { path: path.to_path_buf(), source }
}

fn list(arguments: &List, path: &Path, out: &mut dyn Write) -> Result<Exit, CliError> {
    let states = Client::control(path)?.list()?;
    if arguments.json {
        for state in states {
            let object =
                serde_json::json!({ "state": state.name, "memory": state.memory, "used": state.used });
            writeln!(out, "{object}")?;
        }
        return Ok(Exit::Success);
    }
    if !states.is_empty() {
        writeln!(out, "{:<24} {:>12} {:>12}", "STATE", "MEMORY", "USED")?;
    }
    for state in states {
        writeln!(out, "{:<24} {:>12} {:>12}", state.name, state.memory, state.used)?;
    }
    Ok(Exit::Success)
}

fn receive(
    arguments: &Receive,
    path: &Path,
    out: &mut dyn Write,
    stop: &AtomicBool,
) -> Result<Exit, CliError> {
    let mut client = Client::data(path, arguments.port)?;
    let mut left = arguments.count;
    while left != Some(0) && !stop.load(Ordering::Relaxed) {
        if let Some((_, bytes)) = client.receive(Some(NAP))? {
            out.write_all(&[&bytes[..], b"\n"].concat())?;
            out.flush()?;
            left = left.map(|left| left - 1);
        }
    }
    Ok(Exit::Success)
}
