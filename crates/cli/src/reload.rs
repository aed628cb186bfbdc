//! `moonhook reload`: replace what a running script does.

use crate::options::absolute;
use crate::remote::{RemoteOptions, ServiceOptions};
use crate::run::reloaded_text;
use crate::{CliError, Exit};
use moonhook_daemon::{Name, Reloaded, Request};
use std::io::Write;
use std::path::PathBuf;

/// Compile a running script again and replace it, between two packets
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The scripts are read and compiled in the running process, loaded, and put in the place of the present program at once: every
packet goes through one of them. Shared tables of the same name and schema keep their entries, variables of the same name and type
their values; the answer says what became of each. If anything fails, the present program goes on.

Examples:
  moonhook reload filter               # its files have changed
  moonhook reload filter other.lua     # another script in its place
  moonhook reload filter --remote http://127.0.0.1:50051

Exit codes: 0 replaced, 1 script refused, 3 no such script or host, 4 bug in Moonhook; unless 0, nothing has changed")]
pub struct Arguments {
    /// The running script, as `moonhook list` names it
    name: Name,
    /// Scripts to run instead of the present ones
    #[arg(value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// One more folder in which scripts may read files from now on, besides their own; can be given several times
    #[arg(long, value_name = "DIR")]
    allow_read: Vec<PathBuf>,
    #[command(flatten)]
    remote: RemoteOptions,
    #[command(flatten)]
    service: ServiceOptions,
    /// One JSON object: tables, variables, times in microseconds
    #[arg(long)]
    pub json: bool,
}

pub fn reload(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    // The other process may be in another folder.
    let scripts = arguments.scripts.iter().map(std::path::absolute).collect::<Result<Vec<_>, _>>()?;
    let scripts = if scripts.is_empty() { None } else { Some(scripts) };
    let allow_read = arguments.allow_read.iter().map(|folder| absolute(folder)).collect();
    let mut script = arguments.service.script(&arguments.remote, &arguments.name)?;
    let reloaded: Reloaded = script.ask(&Request::Reload { scripts, allow_read })?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&reloaded).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        out.write_all(reloaded_text(&reloaded).as_bytes())?;
    }
    Ok(Exit::Success)
}
