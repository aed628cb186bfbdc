//! `moonhook exec`: Lua code in the state of a running script.

use crate::remote::{RemoteOptions, ServiceOptions};
use crate::terminal::printable;
use crate::{CliError, Exit};
use moonhook_daemon::{Executed, Name, Request};
use std::io::Write;
use std::path::PathBuf;

/// Run Lua code in the state of a running script
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The code sees the script's global variables, and, by their names, the tables that it shares with its handlers and the local variables
that some function of it uses; what it assigns to such tables, and to variables that handlers assign, the handlers see at once. What it prints and its results are shown.

Examples:
  moonhook exec filter -e 'blocked[\"192.0.2.7\"] = true'
  moonhook exec filter -e '#names, limit'
  moonhook exec filter update.lua
  moonhook exec filter -e '#names' --remote http://127.0.0.1:50051

Exit codes: 0 done, 1 the code failed, 3 no such script or file")]
pub struct Arguments {
    /// The running script, as `moonhook list` names it
    name: Name,
    /// File with Lua code
    #[arg(value_name = "FILE", required_unless_present = "code", conflicts_with = "code")]
    file: Option<PathBuf>,
    /// Lua code: an expression or statements
    #[arg(short = 'e', long = "code", value_name = "CODE")]
    code: Option<String>,
    #[command(flatten)]
    remote: RemoteOptions,
    #[command(flatten)]
    service: ServiceOptions,
    /// One JSON object: printed, results, error
    #[arg(long)]
    pub json: bool,
}

pub fn exec(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, CliError> {
    let code = match (&arguments.code, &arguments.file) {
        (Some(code), _) => code.clone(),
        (None, file) => {
            let path = file.clone().unwrap_or_default();
            std::fs::read_to_string(&path).map_err(|source| CliError::Unreadable { path, source })?
        }
    };
    let mut script = arguments.service.script(&arguments.remote, &arguments.name)?;
    let executed: Executed = script.ask(&Request::Exec { code })?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&executed).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
        return Ok(executed.error.map_or(Exit::Success, |failure| Exit::from(failure.exit)));
    }
    for line in &executed.printed {
        out.write_all(&printable(line.as_bytes()))?;
        out.write_all(b"\n")?;
    }
    if !executed.results.is_empty() {
        out.write_all(&printable(executed.results.join("\t").as_bytes()))?;
        out.write_all(b"\n")?;
    }
    executed.error.map_or(Ok(Exit::Success), |failure| Err(CliError::Remote(Box::new(failure))))
}
