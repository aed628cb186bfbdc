//! The `moonhook` command: a person's wishes, carried out through the public doors of the stages.
//!
//! Reads the command line and nothing else by itself; the engine strings the stages together, and each subcommand is one
//! file. Answers go to standard output (with `--json` as one JSON document), complaints to standard error; [`Exit`] says
//! how it went. Nothing here knows Lua, BPF instructions or ELF.

// These panic where nobody can read what they write: `terminal` has what does not.
#![cfg_attr(not(test), warn(clippy::print_stderr, clippy::print_stdout))]

mod bench;
mod build;
mod check;
mod clock;
mod control;
mod cpu;
mod doctor;
mod dump;
mod error;
mod events;
mod exec;
mod explain;
mod flow;
mod frames;
mod hook;
mod list;
mod loading;
mod lunatik;
mod memory;
mod nflua;
mod options;
mod package;
mod packages;
mod pins;
mod probes;
mod reload;
mod remote;
mod replay;
mod report;
mod rule;
mod run;
mod send_update;
mod serve;
mod signals;
mod stop;
mod table;
mod terminal;
mod update_key;
mod verdict;

/// Compiling allocates many small values, on several threads: a fifth of the time went into libc's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use clap::{Parser, Subcommand};
use moonhook_session::threads;
use std::io::{BufWriter, IsTerminal, Write};
use std::process::ExitCode;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub use error::CliError;
pub use explain::{PAGES, TOPICS};
pub use moonhook_diagnostic::Exit;

/// What `--help` says about them.
const EXIT_CODES: &str = "\
Exit codes:
  0  it worked
  1  the script is refused, or a comparison found a difference
  2  the command line makes no sense
  3  the host: privilege, kernel, interface, or a file that cannot be read or written
  4  a bug in Moonhook, for example a program that the kernel's verifier rejects

`moonhook explain CODE` explains the code of a message, such as MH0201.";

/// Scripts the Linux network stack in Lua: packet handlers become eBPF programs that run inside the kernel.
#[derive(Debug, Parser)]
#[command(name = "moonhook", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Say on standard error what the compiler does: `debug`, or by stage, for example `specialise=debug,passes=trace`
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<Targets>,
}

/// Has what stages tell of their work written to standard error.
fn log_to_stderr(filter: Targets) {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && terminal::colour_wanted())
        .without_time()
        .log_internal_errors(false);
    // There is one where the process has begun to log before.
    let _ = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Arguments),
    Serve(serve::Arguments),
    List(list::Arguments),
    Reload(reload::Arguments),
    Exec(exec::Arguments),
    Flow(flow::Arguments),
    UpdateKey(update_key::Arguments),
    SendUpdate(send_update::Arguments),
    Table(table::Arguments),
    Events(events::Arguments),
    Rule(rule::Arguments),
    Stop(stop::Arguments),
    Lunatik(lunatik::Arguments),
    Nflua(nflua::Arguments),
    Package(package::Arguments),
    Check(check::Arguments),
    Build(build::Arguments),
    Dump(dump::Arguments),
    Replay(replay::Arguments),
    Bench(bench::Arguments),
    Doctor(doctor::Arguments),
    Explain(explain::Arguments),
}

impl Command {
    fn execute(&self, out: &mut dyn Write) -> Result<Exit, CliError> {
        match self {
            Command::Run(arguments) => run::run(arguments),
            Command::Serve(arguments) => serve::serve(arguments),
            Command::List(arguments) => list::list(arguments, out),
            Command::Reload(arguments) => reload::reload(arguments, out),
            Command::Exec(arguments) => exec::exec(arguments, out),
            Command::Flow(arguments) => flow::flow(arguments, out),
            Command::UpdateKey(arguments) => update_key::update_key(arguments, out),
            Command::SendUpdate(arguments) => send_update::send_update(arguments, out),
            Command::Table(arguments) => table::table(arguments, out),
            Command::Events(arguments) => events::events(arguments, out),
            Command::Rule(arguments) => rule::rule(arguments, out),
            Command::Stop(arguments) => stop::stop(arguments, out),
            Command::Lunatik(arguments) => lunatik::lunatik(arguments, out),
            Command::Nflua(arguments) => nflua::nflua(arguments, out),
            Command::Package(arguments) => package::package(arguments, out),
            Command::Check(arguments) => check::check(arguments, out),
            Command::Build(arguments) => build::build(arguments, out),
            Command::Dump(arguments) => dump::dump(arguments, out),
            Command::Replay(arguments) => replay::replay(arguments, out),
            Command::Bench(arguments) => bench::bench(arguments, out),
            Command::Doctor(arguments) => doctor::doctor(arguments, out),
            Command::Explain(arguments) => explain::explain(arguments, out),
        }
    }

    /// Whether it compiles scripts, or programs, and does nothing that it has to undo.
    fn compiles_only(&self) -> bool {
        use Command::{Bench, Build, Check, Dump, Package, Replay};
        matches!(self, Bench(_) | Build(_) | Check(_) | Dump(_) | Package(_) | Replay(_))
    }

    fn json(&self) -> bool {
        match self {
            Command::Run(arguments) => arguments.json,
            Command::List(arguments) => arguments.json,
            Command::Reload(arguments) => arguments.json,
            Command::Exec(arguments) => arguments.json,
            Command::Flow(arguments) => arguments.json,
            Command::UpdateKey(arguments) => arguments.json,
            Command::SendUpdate(arguments) => arguments.json,
            Command::Table(arguments) => arguments.json,
            Command::Events(arguments) => arguments.json,
            Command::Rule(arguments) => arguments.json,
            Command::Stop(arguments) => arguments.json,
            Command::Lunatik(arguments) => arguments.json(),
            Command::Nflua(arguments) => arguments.json(),
            Command::Package(arguments) => arguments.json,
            Command::Check(arguments) => arguments.json,
            Command::Replay(arguments) => arguments.json,
            Command::Bench(arguments) => arguments.json,
            Command::Doctor(arguments) => arguments.json,
            Command::Serve(_) | Command::Build(_) | Command::Dump(_) | Command::Explain(_) => false,
        }
    }
}

/// Does what the process's arguments say.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = BufWriter::new(std::io::stdout());
    if let Some(filter) = arguments.log {
        log_to_stderr(filter);
    }
    if arguments.command.compiles_only() {
        signals::put_away_on_signals();
    }
    let result = threads::guarded(|| arguments.command.execute(&mut out));
    let result = result.and_then(|exit| out.flush().map(|()| exit).map_err(CliError::from));
    signals::wait_if_ending();
    // A compiler of C may be at work for a script that nobody waits for any more.
    moonhook_packages::abandon();
    // So may Lua be, whose devices would stay.
    moonhook_lunatik::abandon();
    match result {
        Ok(exit) => exit.into(),
        Err(error) => report::failure(&error, arguments.command.json(), &mut out).into(),
    }
}
