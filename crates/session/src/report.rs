//! What is told of an error: its diagnostic, and where the verifier's log is.

use crate::SessionError;
use moonhook_diagnostic::Diagnostic;
use moonhook_engine::EngineError;
use moonhook_install::{InstallError, Rejection};
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

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
    pub fn new(error: &SessionError) -> JsonError {
        let (diagnostic, log) = described(error);
        JsonError { diagnostic, log }
    }
}

/// The diagnostic; the log of a rejection is saved, and the help says where.
pub fn described(error: &SessionError) -> (Diagnostic, Option<PathBuf>) {
    let mut diagnostic = error.diagnostic();
    let SessionError::Engine(error) = error else { return (diagnostic, None) };
    let EngineError::Install(InstallError::Rejected(rejection)) = error.cause() else {
        return (diagnostic, None);
    };
    let log = save_log(rejection);
    if let Some(path) = &log {
        diagnostic.help = Some(rejection.help(Some(path)));
    }
    (diagnostic, log)
}

/// Writes the log into a new file in the folder for temporary files (`TMPDIR`), where others may have files of any name.
fn save_log(rejection: &Rejection) -> Option<PathBuf> {
    let folder = std::env::temp_dir();
    for number in 0..LOGS {
        let name = format!("moonhook-verifier-{}-{}-{number}.log", rejection.program, std::process::id());
        let path = folder.join(name);
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => return file.write_all(rejection.log.as_bytes()).is_ok().then_some(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(_) => return None,
        }
    }
    None
}

/// Logs of one program that one process leaves.
const LOGS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn rejection() -> Rejection {
        let (program, message, log) = ("test".to_string(), "no".to_string(), "the log".to_string());
        Rejection { program, message, place: None, instruction: None, is_last_form: false, log }
    }

    /// The current folder may be anything, and nothing that is there already is written to.
    #[test]
    fn a_log_is_a_new_file_in_the_folder_for_temporary_files() {
        let logs = [(); 2].map(|()| save_log(&rejection()).unwrap());
        assert_ne!(logs[0], logs[1]);
        for log in logs {
            assert_eq!(log.parent(), Some(std::env::temp_dir().as_path()));
            assert_eq!(std::fs::read(&log).unwrap(), b"the log");
            assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::remove_file(log).unwrap();
        }
    }
}
