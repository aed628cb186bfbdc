//! `moonhook stop`: detach a running script.

use crate::pins::PinOptions;
use crate::remote::{RemoteOptions, ServiceOptions, ask};
use crate::{CliError, Exit};
use moonhook_daemon::{Client, DaemonError, Name, Request};
use moonhook_session::{Pins, SessionError};
use std::io::Write;
use std::time::Duration;

/// Detach a running script and end its process, or remove what `run --pin` has left
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moonhook stop filter
  moonhook stop filter --remote http://127.0.0.1:50051

Exit codes: 0 stopped, 3 no such script, or it does not end")]
pub struct Arguments {
    /// The running script, as `moonhook list` names it
    name: Name,
    #[command(flatten)]
    remote: RemoteOptions,
    #[command(flatten)]
    service: ServiceOptions,
    #[command(flatten)]
    pins: PinOptions,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// How long the other process may take to detach.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn stop(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    match arguments.service.connect()? {
        Some(mut service) => service.ask::<()>(&arguments.name, &Request::Stop)?,
        None => stop_here(arguments)?,
    }
    if arguments.json {
        writeln!(out, "{}", serde_json::json!({ "stopped": arguments.name }))?;
    } else {
        writeln!(out, "stopped '{}'", arguments.name)?;
    }
    Ok(Exit::Success)
}

/// Ends a script of this machine, or removes what one has left.
fn stop_here(arguments: &Arguments) -> Result<(), CliError> {
    let folder = arguments.remote.folder();
    match Client::connect(&folder, &arguments.name) {
        Ok(client) => end(client)?,
        // No process, but perhaps what one has left.
        Err(error) => match remove(&arguments.pins.of(&folder, &arguments.name), &arguments.name) {
            // Lock and socket of a process that was killed: who gives up the name removes them.
            Ok(true) => drop(folder.claim(&arguments.name)),
            Err(problem @ SessionError::Pinned { .. }) => return Err(problem.into()),
            Err(problem) if matches!(error, DaemonError::NotRunning { .. }) => return Err(problem.into()),
            // Who may not ask the process may not look at its pins either.
            Ok(false) | Err(_) => return Err(error.into()),
        },
    }
    Ok(())
}

/// Removes what is pinned, unless it is pinned somewhere else than was said, where it would go on.
fn remove(pins: &Pins, name: &Name) -> Result<bool, SessionError> {
    match pins.elsewhere() {
        None => pins.remove(),
        folder => Err(SessionError::Pinned { name: name.clone(), folder }),
    }
}

/// Has the process detach its program and end.
pub fn end(mut client: Client) -> Result<(), CliError> {
    client.set_timeout(Some(PATIENCE))?;
    ask::<()>(&mut client, &Request::Stop)?;
    // It closes the connection when it has detached.
    while client.event()?.is_some() {}
    Ok(())
}
