//! `moonhook list`: the scripts that run.

use crate::pins::PinOptions;
use crate::remote::{RemoteOptions, ServiceOptions, ask};
use crate::{CliError, Exit, terminal};
use moonhook_daemon::{Client, DaemonError, Listed, Name, Neighbours, Request, RuntimeFolder, Status};
use std::io::Write;
use std::time::Duration;

/// List the scripts that run
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Where other programs are asked besides (tc, control groups), they are named in their order.
A script without a process is one that `run --pin` has left attached, wherever it is pinned. One that is incomplete is what a
process has left that was killed while it pinned, or what rules find of a `match` whose process was killed: `moonhook stop` removes it, and so does the next run of that name.

Examples:
  moonhook list
  moonhook list --json | jq -r '.[].name'
  moonhook list --remote http://127.0.0.1:50051         # those of a `moonhook serve`

Exit codes: 0 listed, also if there are none, 3 a script cannot be asked")]
pub struct Arguments {
    #[command(flatten)]
    remote: RemoteOptions,
    #[command(flatten)]
    service: ServiceOptions,
    #[command(flatten)]
    pins: PinOptions,
    /// One JSON array of objects
    #[arg(long)]
    pub json: bool,
}

/// A script that takes longer to answer is not waited for: it may be compiling.
const PATIENCE: Duration = Duration::from_secs(5);

pub fn list(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let (found, silent) = match arguments.service.connect()? {
        Some(mut service) => (service.list()?, None),
        None => found_here(arguments)?,
    };
    if arguments.json {
        let text = serde_json::to_string_pretty(&found).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        table(&found, out)?;
    }
    silent.map_or(Ok(Exit::Success), |error| if arguments.json { Ok(error.exit()) } else { Err(error) })
}

/// The scripts of this machine, and why one of them does not answer, if one does not.
fn found_here(arguments: &Arguments) -> Result<(Vec<Status>, Option<CliError>), CliError> {
    let folder = arguments.remote.folder();
    // It goes with its last script, so that this is no error; it may be a slip of the pen as well.
    if arguments.remote.is_named() && !folder.path().exists() {
        let folder = folder.path().display();
        terminal::complain(format_args!("note: there is no folder '{folder}'"));
    }
    let (mut found, mut silent) = (Vec::new(), None);
    for name in folder.names()? {
        match status(&folder, &name) {
            Ok(status) => found.extend(status),
            // The others are listed all the same.
            Err(error) => silent = Some(error),
        }
    }
    let pinned = arguments
        .pins
        .names(&folder)
        .into_iter()
        .filter(|name| found.iter().all(|status| status.name != *name));
    let left = pinned.map(|name| arguments.pins.of(&folder, &name).status(&name));
    // Without a link it may be a process's that is about to pin one.
    let left: Vec<Status> = left.filter(|status| status.pinned || !folder.is_claimed(&status.name)).collect();
    found.extend(left);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((found, silent))
}

/// `None` if the script has ended.
fn status(folder: &RuntimeFolder, name: &Name) -> Result<Option<Status>, CliError> {
    let mut client = match Client::connect(folder, name) {
        Err(DaemonError::NotRunning { .. }) => return Ok(None),
        client => client?,
    };
    client.set_timeout(Some(PATIENCE))?;
    ask(&mut client, &Request::Status).map(Some)
}

const TITLES: [&str; 8] = ["NAME", "INTERFACE", "HOOK", "PID", "UPTIME", "PACKETS", "ERRORS", "SCRIPTS"];

fn table(found: &[Status], out: &mut dyn Write) -> Result<(), CliError> {
    let rows: Vec<[String; 8]> =
        std::iter::once(TITLES.map(str::to_string)).chain(found.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..TITLES.len()).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    for status in found {
        for Neighbours { point, programs } in &status.neighbours {
            let programs: Vec<String> = programs.iter().map(program).collect();
            writeln!(out, "{} is not alone at {point}: {}", status.name, programs.join(", "))?;
        }
    }
    Ok(())
}

/// A program among others.
fn program(program: &Listed) -> String {
    // Whoever loads a program gives it a name, which the kernel takes letters, digits, '_' and '.' for (`bpf_obj_name_cpy`).
    let name = if program.name.is_empty() { "?" } else { &program.name };
    let own = if program.own { ", its own" } else { "" };
    format!("{} (number {}{own})", name, program.id)
}

fn row(status: &Status) -> [String; 8] {
    let name = status.interface.as_deref().unwrap_or("-");
    let interface = match &status.netns {
        Some(netns) => format!("{name} ({netns})"),
        None => name.to_string(),
    };
    let pinned = match status.pinned {
        _ if status.incomplete => ", incomplete",
        true => ", pinned",
        false => "",
    };
    [
        status.name.to_string(),
        interface,
        format!("{} {}", status.hook, status.mode).trim_end().to_string() + pinned,
        status.pid.map_or("-".to_string(), |pid| pid.to_string()),
        status.uptime_seconds.map_or("-".to_string(), uptime),
        status.packets.to_string(),
        status.errors.map_or("-".to_string(), |errors| errors.to_string()),
        status.scripts.join(" "),
    ]
}

/// The two largest units: `3d 4h`, `5m 6s`, `7s`.
fn uptime(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3600..86400 => format!("{}h {}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {}h", seconds / 86400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptimes_have_two_units() {
        for (seconds, text) in [(0, "0s"), (59, "59s"), (61, "1m 1s"), (7300, "2h 1m"), (90_000, "1d 1h")] {
            assert_eq!(uptime(seconds), text);
        }
    }
}
