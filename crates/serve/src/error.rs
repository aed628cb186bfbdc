//! What can go wrong with the service: errors of its own, MH10xx, and those that scripts and packages have.

use moonhook_daemon::{DaemonError, Failure};
use moonhook_diagnostic::{Diagnostic, Exit};
use moonhook_packages::PackageError;
use moonhook_session::{SessionError, described};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("{address} cannot be listened at: {problem}")]
    Listen { address: String, problem: String },
    #[error("what was given to listen at is of no use: {problem}")]
    Activation { problem: String },
    #[error("privileges cannot be dropped: {problem}")]
    Privileges { problem: String },
    #[error("{}: {problem}", path.display())]
    Settings { path: PathBuf, problem: String },
    #[error("no script named '{name}' is running here")]
    NoScript { name: String, running: Vec<String> },
    #[error("the call is not understood: {problem}")]
    Call { problem: String },
    #[error("there is no map '{path}'")]
    NoMap { path: String, known: Vec<String> },
    #[error("'{key}' is no key of the map '{map}': {problem}")]
    Key { map: String, key: String, problem: String },
    #[error("the map '{map}', of the type {kind}, cannot be shown: {problem}")]
    Unreadable { map: String, kind: String, problem: &'static str },
    #[error("{what} has taken longer than {} seconds", limit.as_secs())]
    TooLong { what: &'static str, limit: Duration },
    #[error("too much is asked for at once: {what}")]
    Crowded { what: &'static str },
    #[error("the keys of TLS in {} cannot be used: {problem}", path.display())]
    Tls { path: PathBuf, problem: String },
    #[error("the call has not the service's token")]
    Token,
    #[error("{url} does not answer: {problem}")]
    Unreachable { url: String, problem: String },
    #[error("{} cannot be used: {problem}", path.display())]
    Folder { path: PathBuf, problem: String },
    #[error("{address} can be reached from other machines, and there is no token")]
    Exposed { address: String },
    /// Of a script, a package, or what a script's session has answered; with the exit code that a command would have.
    #[error("{}", .0.message)]
    Other(Box<Diagnostic>, Exit),
}

impl From<SessionError> for ServeError {
    fn from(error: SessionError) -> ServeError {
        ServeError::Other(Box::new(described(&error).0), error.exit())
    }
}

impl From<DaemonError> for ServeError {
    fn from(error: DaemonError) -> ServeError {
        SessionError::from(error).into()
    }
}

impl From<PackageError> for ServeError {
    fn from(error: PackageError) -> ServeError {
        ServeError::Other(Box::new(error.diagnostic()), Exit::Refused)
    }
}

impl From<Box<Failure>> for ServeError {
    /// What a session has answered.
    fn from(failure: Box<Failure>) -> ServeError {
        let Failure { code, message, place, reason, help, exit, .. } = *failure;
        let diagnostic = Diagnostic { code: known(&code), message, place, reason, help };
        ServeError::Other(Box::new(diagnostic), Exit::from(exit))
    }
}

/// The code as diagnostics have it. They come from this process, which has as many as there are pages about them.
fn known(code: &str) -> &'static str {
    use std::collections::BTreeSet;
    use std::sync::{Mutex, PoisonError};
    static CODES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut codes = CODES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = codes.get(code) {
        return known;
    }
    let code: &'static str = code.to_string().leak();
    codes.insert(code);
    code
}

impl ServeError {
    pub fn folder(path: &Path) -> impl FnOnce(io::Error) -> ServeError {
        move |error| ServeError::Folder { path: path.to_path_buf(), problem: error.to_string() }
    }

    /// The stable code; `moonhook explain CODE` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            ServeError::Listen { .. } => "MH1001",
            ServeError::Activation { .. } => "MH1002",
            ServeError::Privileges { .. } => "MH1003",
            ServeError::Settings { .. } => "MH1004",
            ServeError::NoScript { .. } => "MH1005",
            ServeError::Call { .. } => "MH1006",
            ServeError::NoMap { .. } => "MH1007",
            ServeError::Key { .. } => "MH1008",
            ServeError::Unreadable { .. } => "MH1009",
            ServeError::TooLong { .. } => "MH1010",
            ServeError::Crowded { .. } => "MH1011",
            ServeError::Tls { .. } => "MH1012",
            ServeError::Token => "MH1013",
            ServeError::Unreachable { .. } => "MH1014",
            ServeError::Folder { .. } => "MH1015",
            ServeError::Exposed { .. } => "MH1016",
            ServeError::Other(diagnostic, _) => diagnostic.code,
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            ServeError::Other(diagnostic, _) => (**diagnostic).clone(),
            error => Diagnostic::new(error.code(), error.to_string()).help(error.help()),
        }
    }

    fn help(&self) -> String {
        let some = |what: &str, names: &[String]| match names {
            [] => None,
            names => {
                Some(format!("{what} {}", names.iter().take(12).cloned().collect::<Vec<_>>().join(", ")))
            }
        };
        match self {
            ServeError::NoScript { running, .. } => {
                some("there is", running).unwrap_or_else(|| "none is: load one".to_string())
            }
            ServeError::NoMap { known, .. } => some("there is", known)
                .unwrap_or_else(|| "load a script whose programs in C have maps".to_string()),
            other => other.plain_help().to_string(),
        }
    }

    fn plain_help(&self) -> &'static str {
        match self {
            ServeError::Listen { .. } => "use another `--listen`, or end who listens there (`ss -ltnp`)",
            ServeError::Activation { .. } => {
                "let the socket unit have one `ListenStream=` of TCP, or use `--listen`"
            }
            ServeError::Privileges { .. } => {
                "start it as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON and `--keep-privileges`"
            }
            ServeError::Settings { .. } => "docs/serve.md lists what the file can have",
            ServeError::Call { .. } => "docs/serve.md describes the calls, and so does reflection",
            ServeError::Key { .. } => "write an unsigned number that the 4 bytes of a key can hold",
            ServeError::Unreadable { .. } => "`bpftool map` shows others",
            ServeError::TooLong { .. } => "try again; nothing has changed, unless it comes to an end later",
            ServeError::Crowded { .. } => "try again when some of it is done",
            ServeError::Tls { .. } => "give a certificate and its key as PEM: `--tls-cert`, `--tls-key`",
            ServeError::Token => {
                "send the header `authorization: Bearer TOKEN`; with `moonhook`, `--token FILE`"
            }
            ServeError::Unreachable { .. } => {
                "check the address, `--ca` and `--token`, and that the service runs"
            }
            ServeError::Folder { .. } => "check the path, its permissions and the free space",
            ServeError::Exposed { .. } => "give it one with `--token FILE`, or listen at 127.0.0.1",
            ServeError::NoScript { .. } | ServeError::NoMap { .. } | ServeError::Other(..) => "",
        }
    }

    /// Whose fault it is, as the exit code of a command.
    pub fn exit(&self) -> Exit {
        match self {
            ServeError::Other(_, exit) => *exit,
            ServeError::Call { .. } | ServeError::Exposed { .. } => Exit::Usage,
            ServeError::Settings { .. } | ServeError::Key { .. } | ServeError::NoMap { .. } => Exit::Refused,
            _ => Exit::Host,
        }
    }

    /// As another process is told.
    pub fn failure(&self) -> Box<Failure> {
        Box::new(Failure::new(self.diagnostic(), self.exit() as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each has a code and a help line of its own.
    #[test]
    fn errors_say_what_to_do() {
        let (text, path) = (|| "x".to_string(), || PathBuf::from("/x"));
        let (problem, known) = (text, || vec!["one".to_string()]);
        let errors = [
            ServeError::Listen { address: text(), problem: problem() },
            ServeError::Activation { problem: problem() },
            ServeError::Privileges { problem: problem() },
            ServeError::Settings { path: path(), problem: problem() },
            ServeError::NoScript { name: text(), running: known() },
            ServeError::Call { problem: problem() },
            ServeError::NoMap { path: text(), known: known() },
            ServeError::Key { map: text(), key: text(), problem: problem() },
            ServeError::Unreadable { map: text(), kind: text(), problem: "no" },
            ServeError::TooLong { what: "it", limit: Duration::from_secs(3) },
            ServeError::Crowded { what: "it" },
            ServeError::Tls { path: path(), problem: problem() },
            ServeError::Token,
            ServeError::Unreachable { url: text(), problem: problem() },
            ServeError::Folder { path: path(), problem: problem() },
            ServeError::Exposed { address: text() },
        ];
        for (number, error) in errors.iter().enumerate() {
            assert_eq!(error.code(), format!("MH10{:02}", number + 1));
            assert!(error.diagnostic().help.is_some_and(|help| !help.is_empty()), "{error}");
        }
        let failure = errors[4].failure();
        let back = ServeError::from(failure);
        assert_eq!((back.code(), back.exit()), ("MH1005", Exit::Host));
        assert!(back.diagnostic().render(false).contains("help: there is one"));
    }
}
