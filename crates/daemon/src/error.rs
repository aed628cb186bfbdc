//! What can go wrong between a command and a running script.

use crate::Name;
use moonhook_diagnostic::Diagnostic;
use std::path::PathBuf;

#[derive(Clone, Debug, thiserror::Error)]
pub enum DaemonError {
    #[error("the runtime folder {} cannot be used: {problem}", path.display())]
    Folder { path: PathBuf, problem: String },
    #[error("'{}' is no name for a running script: {problem}", shown(.name))]
    InvalidName { name: String, problem: String },
    #[error("a script named '{name}' is running already{}", by(*.pid))]
    NameTaken { name: Name, pid: Option<u32> },
    #[error("no script named '{name}' is running")]
    NotRunning { name: Name, running: Vec<Name> },
    #[error("the socket {} cannot be used: {problem}", path.display())]
    Socket { path: PathBuf, problem: String },
    #[error("the request is not understood: {problem}")]
    Request { problem: String },
    #[error("'{name}' gave no answer: {problem}")]
    NoAnswer { name: Name, problem: String },
    #[error("requests of user {uid} are not answered")]
    NotAllowed { uid: u32 },
    #[error("too many clients are connected")]
    Crowded,
    #[error("{what} is not available")]
    Unavailable { what: String },
}

/// The beginning of a text, without what would disturb a terminal.
fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let start: String = text.chars().take(MOST).collect();
    let more = if text.chars().count() > MOST { "…" } else { "" };
    format!("{}{more}", start.escape_debug())
}

fn by(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

impl DaemonError {
    /// The stable code; `crates/cli/explain` has a page about each.
    pub fn code(&self) -> &'static str {
        match self {
            DaemonError::Folder { .. } => "MH0801",
            DaemonError::InvalidName { .. } => "MH0802",
            DaemonError::NameTaken { .. } => "MH0803",
            DaemonError::NotRunning { .. } => "MH0804",
            DaemonError::Socket { .. } => "MH0805",
            DaemonError::Request { .. } => "MH0806",
            DaemonError::NoAnswer { .. } => "MH0807",
            DaemonError::NotAllowed { .. } => "MH0808",
            DaemonError::Crowded => "MH0809",
            DaemonError::Unavailable { .. } => "MH0810",
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(self.code(), self.to_string()).help(self.help())
    }

    fn help(&self) -> String {
        match self {
            DaemonError::Folder { .. } => "name a folder of your own with `--socket-dir`".to_string(),
            DaemonError::InvalidName { .. } => {
                "use up to 48 letters, digits, `.`, `_` and `-`, with neither `.` nor `-` in front"
                    .to_string()
            }
            DaemonError::NameTaken { name, .. } => {
                format!(
                    "end it (`moonhook stop {name}`), have it replaced (`moonhook reload {name}`), or run with another `--name`"
                )
            }
            DaemonError::NotRunning { running, .. } if running.is_empty() => {
                "`moonhook list` shows what runs; `--socket-dir` says where to look".to_string()
            }
            DaemonError::NotRunning { running, .. } => {
                let names: Vec<String> = running.iter().take(12).map(|name| format!("'{name}'")).collect();
                format!("there is {}", names.join(", "))
            }
            DaemonError::Socket { .. } => {
                "use root or the user who runs the script, or another `--socket-dir`".to_string()
            }
            DaemonError::Request { .. } => "docs/operate.md describes the protocol".to_string(),
            DaemonError::NoAnswer { .. } => "look whether the process still runs, and try again".to_string(),
            DaemonError::NotAllowed { .. } => "ask as root or as the user who runs the script".to_string(),
            DaemonError::Crowded => "end some of the commands that watch events".to_string(),
            DaemonError::Unavailable { .. } => "`moonhook list` shows what runs, and how".to_string(),
        }
    }
}
