//! What can go wrong with a running script: the errors of the stages, and those of running itself.

use moonhook_control::ControlError;
use moonhook_daemon::{DaemonError, Name, NoDatum};
use moonhook_diagnostic::{Diagnostic, Exit};
use moonhook_engine::EngineError;
use moonhook_install::InstallError;
use moonhook_load::LoadError;
use moonhook_queue::QueueError;
use moonhook_records::RecordError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    NoDatum(#[from] NoDatum),
    #[error("cannot write {}: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("the dump of table '{name}' cannot go on")]
    DumpGone { name: String },
    #[error("there is no list for table '{table}'")]
    NoList { table: String },
    /// Of a C object.
    #[error("map '{map}': {problem}")]
    OfMap { map: String, problem: String, help: &'static str },
    /// Entry number `entry`, from 0, of those that were to be loaded.
    #[error("{error}")]
    Entry { entry: usize, error: Box<SessionError> },
    /// The folder is told where it is another one than was asked for.
    #[error("a script named '{name}' is pinned{}", within(.folder.as_deref()))]
    Pinned { name: Name, folder: Option<PathBuf> },
    #[error("files cannot be watched: {source}")]
    Watch { source: io::Error },
    /// What the programs were attached to.
    #[error("the {kind} '{name}' is gone")]
    Gone { kind: &'static str, name: String },
    /// Who is told what happens cannot be told.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
    #[error("a script for processes is not replaced while it runs")]
    ForProcesses,
    #[error("nothing of '{name}' can be pinned: none of its handlers runs in the kernel")]
    NothingPinned { name: Name },
    #[error("the thread of the Lua state is gone")]
    LuaGone,
    /// An assumption of ours was wrong.
    #[error("Moonhook has failed: {problem}")]
    Panicked { problem: String },
}

impl From<InstallError> for SessionError {
    fn from(error: InstallError) -> SessionError {
        EngineError::Install(error).into()
    }
}

impl From<ControlError> for SessionError {
    fn from(error: ControlError) -> SessionError {
        EngineError::Control(error).into()
    }
}

impl SessionError {
    /// The stable code; `moonhook explain CODE` has a page about it.
    pub fn code(&self) -> &'static str {
        self.diagnostic().code
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let (code, help) = match self {
            SessionError::Load(error) => return error.diagnostic(),
            SessionError::Engine(error) => return error.diagnostic(),
            SessionError::Daemon(error) => return error.diagnostic(),
            SessionError::Queue(error) => return error.diagnostic(),
            SessionError::Record(_) => ("MH0005", BUG),
            SessionError::NoDatum(_) => {
                ("MH0013", "write an integer, true, false, a JSON object, or a string")
            }
            SessionError::Unwritable { .. } => {
                ("MH0001", "check the path, its permissions and the free space")
            }
            SessionError::DumpGone { .. } => ("MH0016", "begin again: the script was reloaded meanwhile"),
            SessionError::NoList { .. } => (
                "MH0017",
                "begin again: something was wrong with the list, or a reload gave the table another schema",
            ),
            SessionError::OfMap { help, .. } => ("MH0711", *help),
            SessionError::Entry { error, .. } => return error.diagnostic(),
            SessionError::Pinned { name, folder } => {
                let help = match folder {
                    None => format!(
                        "`--pin` takes over, `moonhook stop {name}` removes it; or use another `--name`"
                    ),
                    Some(folder) => format!(
                        "`--bpffs {}` is where it is found, as it is without `--bpffs`",
                        folder.display()
                    ),
                };
                return Diagnostic::new("MH0011", self.to_string()).help(help);
            }
            SessionError::Watch { .. } => (
                "MH0010",
                "leave `--watch` out, and use `moonhook reload`; or raise fs.inotify.max_user_instances (sysctl)",
            ),
            SessionError::Gone { .. } => ("MH0007", "start again when it is back"),
            SessionError::Output(_) => ("MH0008", "check where standard output leads"),
            SessionError::ForProcesses => (
                "MH0037",
                "end it with `moonhook stop NAME`, then run it again: what it holds (ports, threads) is free then",
            ),
            SessionError::NothingPinned { name } => {
                let help = format!(
                    "run it without `--pin`: queues and states end with their process; `moonhook stop {name}` ends what is pinned"
                );
                return Diagnostic::new("MH0038", self.to_string()).help(help);
            }
            SessionError::LuaGone => ("MH0018", BUG),
            SessionError::Panicked { .. } => ("MH0022", BUG),
        };
        Diagnostic::new(code, self.to_string()).help(help)
    }

    /// Whose fault it is, as the exit code of a command.
    pub fn exit(&self) -> Exit {
        match self {
            SessionError::Load(error) => load_exit(error),
            SessionError::Engine(error) => engine_exit(error),
            SessionError::NoDatum(_) | SessionError::Daemon(DaemonError::InvalidName { .. }) => Exit::Usage,
            SessionError::NoList { .. }
            | SessionError::OfMap { .. }
            | SessionError::ForProcesses
            | SessionError::NothingPinned { .. } => Exit::Refused,
            SessionError::Entry { error, .. } => error.exit(),
            SessionError::Record(_) | SessionError::LuaGone | SessionError::Panicked { .. } => Exit::Bug,
            SessionError::Daemon(_)
            | SessionError::Queue(_)
            | SessionError::Unwritable { .. }
            | SessionError::DumpGone { .. }
            | SessionError::Pinned { .. }
            | SessionError::Watch { .. }
            | SessionError::Gone { .. }
            | SessionError::Output(_) => Exit::Host,
        }
    }

    /// The error as one of an entry of many.
    pub(crate) fn of_entry(self, entry: usize) -> SessionError {
        SessionError::Entry { entry, error: Box::new(self) }
    }

    /// Which of the entries that were to be loaded the error is about.
    pub fn entry(&self) -> Option<usize> {
        match self {
            SessionError::Entry { entry, .. } => Some(*entry),
            SessionError::Engine(EngineError::Control(error)) => error.entry(),
            _ => None,
        }
    }

    /// Nobody reads what is told any more, as when it is piped into `head`.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, SessionError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What was told has not been read for too long.
    pub fn is_unread(&self) -> bool {
        matches!(self, SessionError::Output(error) if error.kind() == io::ErrorKind::TimedOut)
    }
}

const BUG: &str = "this is a bug in Moonhook; please report it with the script";

fn engine_exit(error: &EngineError) -> Exit {
    match error.cause() {
        EngineError::Emit(error) if error.is_bug() => Exit::Bug,
        EngineError::Lower(_)
        | EngineError::OfObject { .. }
        | EngineError::Emit(_)
        | EngineError::TooMuchMemory { .. }
        | EngineError::NoSuchVerdict { .. } => Exit::Refused,
        EngineError::Install(error) | EngineError::Control(ControlError::Install(error)) => {
            install_exit(error)
        }
        EngineError::Control(ControlError::State(_))
        | EngineError::Resource { .. }
        | EngineError::NoInterface { .. } => Exit::Host,
        EngineError::Control(_) => Exit::Refused,
        EngineError::NoProgram | EngineError::Noted(_) => Exit::Bug,
    }
}

fn install_exit(error: &InstallError) -> Exit {
    match error {
        InstallError::Rejected(_)
        | InstallError::MalformedObject { .. }
        | InstallError::NoSuchItem { .. } => Exit::Bug,
        _ => Exit::Host,
    }
}

fn load_exit(error: &LoadError) -> Exit {
    match error {
        LoadError::Unreadable { .. } => Exit::Host,
        LoadError::Chunk { .. } | LoadError::State { .. } => Exit::Bug,
        _ => Exit::Refused,
    }
}

/// Where something is, if that is to be said.
fn within(folder: Option<&Path>) -> String {
    folder.map(|folder| format!(" in {}", folder.display())).unwrap_or_default()
}
