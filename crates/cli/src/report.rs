//! Telling a person, or a program, why a command failed.

use crate::{CliError, Exit, terminal};
use moonhook_diagnostic::Diagnostic;
use moonhook_install::{InstallError, Rejection};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// A diagnostic as `--json` gives it.
#[derive(Debug, Serialize)]
pub struct JsonError {
    #[serde(flatten)]
    pub diagnostic: Diagnostic,
    /// The file with the verifier's log, if the error is a rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
}

impl JsonError {
    pub fn new(error: &CliError) -> JsonError {
        let (diagnostic, log) = described(error);
        JsonError { diagnostic, log }
    }
}

/// Says what went wrong, to standard error or as `{"error": …}` into `out`; gives the exit code.
pub fn failure(error: &CliError, json: bool, out: &mut dyn Write) -> Exit {
    if error.is_broken_pipe() {
        return Exit::Success;
    }
    if json {
        let answer = serde_json::json!({ "error": JsonError::new(error) });
        // Where this cannot be written either, the exit code has to do.
        let _ = writeln!(out, "{answer:#}").and_then(|()| out.flush());
    } else {
        let _ = out.flush();
        eprintln!("{}", shown(error));
    }
    error.exit()
}

/// The error as it stands on a terminal.
pub fn shown(error: &CliError) -> String {
    described(error).0.render(std::io::stderr().is_terminal() && terminal::colour_wanted())
}

/// The diagnostic; the log of a rejection is saved, and the help says where.
fn described(error: &CliError) -> (Diagnostic, Option<PathBuf>) {
    let mut diagnostic = error.diagnostic();
    let CliError::Install(InstallError::Rejected(rejection)) = error else { return (diagnostic, None) };
    let log = save_log(rejection);
    if let Some(path) = &log {
        let help = format!("report it with the script and the verifier's log, {}", path.display());
        diagnostic.help = Some(help);
    }
    (diagnostic, log)
}

/// Writes the log into the current folder or, where that is not allowed, into the one for temporary files.
fn save_log(rejection: &Rejection) -> Option<PathBuf> {
    let name = format!("moonhook-verifier-{}.log", rejection.program);
    [Path::new(".").to_path_buf(), std::env::temp_dir()]
        .into_iter()
        .map(|folder| folder.join(&name))
        .find(|path| std::fs::write(path, &rejection.log).is_ok())
        .map(|path| path.strip_prefix(".").map(Path::to_path_buf).unwrap_or(path))
}

/// Runs `work` with whatever it prints to standard output going to standard error instead, if `wanted`: what scripts print
/// while they are loaded is not part of an answer that a program reads.
pub fn with_prints_to_stderr<T>(
    wanted: bool,
    work: impl FnOnce() -> Result<T, CliError>,
) -> Result<T, CliError> {
    if !wanted {
        return work();
    }
    let stdout = nix::unistd::dup(std::io::stdout()).map_err(std::io::Error::from)?;
    nix::unistd::dup2_stdout(std::io::stderr()).map_err(std::io::Error::from)?;
    let result = work();
    nix::unistd::dup2_stdout(stdout).map_err(std::io::Error::from)?;
    result
}
