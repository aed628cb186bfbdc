//! `moonhook stop`: detach a running script.

use crate::pins::PinOptions;
use crate::remote::{RemoteOptions, ServiceOptions, ask};
use crate::{CliError, Exit};
use moonhook_daemon::{Client, DaemonError, Name, Request, RuntimeFolder};
use moonhook_session::{Pins, SessionError};
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
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
        Err(DaemonError::NotRunning { .. }) if end_beginning(&folder, &arguments.name)? => {}
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

/// Ends a process that has the name and does not answer to it, because it is still loading its script; says whether there is one. Waits for its end.
pub fn end_beginning(folder: &RuntimeFolder, name: &Name) -> Result<bool, CliError> {
    let Some(process) = folder.owner(name) else { return Ok(false) };
    let silent = |problem: String| DaemonError::NoAnswer { name: name.clone(), problem };
    let handle = match open_process(process) {
        Ok(handle) => handle,
        Err(Errno::ESRCH) => return Ok(false),
        Err(error) => return Err(silent(format!("process {process}: {error}")).into()),
    };
    // The number is that process's as long as it has the name: so the handle is of no other one.
    if folder.owner(name) != Some(process) {
        return Ok(false);
    }
    end_process(&handle).map_err(|error| silent(format!("process {process}: {error}")))?;
    let mut ended = [PollFd::new(handle.as_fd(), PollFlags::POLLIN)];
    match poll(&mut ended, PollTimeout::from(PATIENCE.as_millis() as u16)) {
        Ok(0) => Err(silent(format!("process {process} does not end")).into()),
        _ => Ok(true),
    }
}

/// What tells of a process's end (pidfd_open(2)).
fn open_process(process: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: two numbers; the descriptor that it gives is new, and nobody else's.
    unsafe {
        let descriptor = Errno::result(libc::syscall(libc::SYS_pidfd_open, process, 0))?;
        Ok(OwnedFd::from_raw_fd(descriptor as i32))
    }
}

/// As SIGTERM (pidfd_send_signal(2)).
fn end_process(process: &OwnedFd) -> Result<(), Errno> {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open, and there is nothing more to tell than the signal.
    let sent =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), libc::SIGTERM, none, 0) };
    match Errno::result(sent) {
        // It has ended meanwhile.
        Err(Errno::ESRCH) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}
