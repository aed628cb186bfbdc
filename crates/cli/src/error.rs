//! What can go wrong in a command: the errors of the stages, and the `MH00xx` diagnostics of the command line itself.

use crate::Exit;
use crate::datum::NoDatum;
use moonhook_capture::CaptureError;
use moonhook_control::ControlError;
use moonhook_daemon::{DaemonError, Failure, Name};
use moonhook_diagnostic::Diagnostic;
use moonhook_emit::EmitError;
use moonhook_engine::EngineError;
use moonhook_install::InstallError;
use moonhook_load::LoadError;
use moonhook_lower::LowerError;
use moonhook_passes::without_arena::MOST;
use moonhook_records::RecordError;
use moonhook_user::UserError;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Lower(#[from] Box<LowerError>),
    #[error(transparent)]
    Emit(#[from] EmitError),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    User(#[from] UserError),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    /// What the process of a running script answered.
    #[error("{}", .0.message)]
    Remote(Box<Failure>),
    #[error("cannot write {}: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("there is no page about '{code}'")]
    NoPage { code: String },
    #[error("{} would be overwritten while it is read", path.display())]
    SameFile { path: PathBuf },
    #[error("{} has no frame that the kernel can run", path.display())]
    NothingToMeasure { path: PathBuf },
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("signals cannot be handled: {problem}")]
    Signals { problem: String },
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    NoDatum(#[from] NoDatum),
    #[error("`{operation}` has other operands")]
    Operands { operation: String },
    #[error("{}:{line}: {problem}", path.display())]
    Entry { path: PathBuf, line: u64, problem: String },
    #[error("the dump of table '{name}' cannot go on")]
    DumpGone { name: String },
    #[error("there is no list for table '{table}'")]
    NoList { table: String },
    #[error("a script named '{name}' is pinned")]
    Pinned { name: Name },
    #[error("files cannot be watched: {source}")]
    Watch { source: io::Error },
    #[error("the interface '{name}' is gone")]
    InterfaceGone { name: String },
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
    #[error("the object has no program for a hook")]
    NoProgram,
    #[error("the thread of the Lua state is gone")]
    LuaGone,
    /// A limit of the process or of its control group is reached.
    #[error("the system gives no more {what}s: {source}")]
    Resource { what: &'static str, source: io::Error },
    /// An assumption of ours was wrong.
    #[error("Moonhook has failed: {problem}")]
    Panicked { problem: String },
    #[error("the program needs {} MiB of memory, and one map of an object can have {} MiB", .bytes >> 20, MOST >> 20)]
    TooMuchMemory { bytes: usize },
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> CliError {
        match error {
            EngineError::Lower(error) => CliError::Lower(error),
            EngineError::Emit(error) => CliError::Emit(error),
            EngineError::Install(error) => CliError::Install(error),
            EngineError::Control(error) => CliError::Control(error),
            EngineError::Resource { what, source } => CliError::Resource { what, source },
            EngineError::NoProgram => CliError::NoProgram,
            EngineError::TooMuchMemory { bytes } => CliError::TooMuchMemory { bytes },
        }
    }
}

impl CliError {
    /// The stable code; `moonhook explain CODE` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            CliError::Load(error) => error.code(),
            CliError::Lower(error) => error.code(),
            CliError::Emit(error) => error.code(),
            CliError::Install(error) => error.code(),
            CliError::Capture(error) => error.code(),
            CliError::User(error) => error.code(),
            CliError::Control(error) => error.code(),
            CliError::Daemon(error) => error.code(),
            CliError::Remote(failure) => crate::explain::known_code(&failure.code),
            CliError::Unwritable { .. } => "MH0001",
            CliError::NoPage { .. } => "MH0002",
            CliError::SameFile { .. } => "MH0003",
            CliError::NothingToMeasure { .. } => "MH0004",
            CliError::Record(_) => "MH0005",
            CliError::Signals { .. } => "MH0006",
            CliError::InterfaceGone { .. } => "MH0007",
            CliError::Output(_) => "MH0008",
            CliError::NoProgram => "MH0009",
            CliError::Watch { .. } => "MH0010",
            CliError::Pinned { .. } => "MH0011",
            CliError::Unreadable { .. } => "MH0012",
            CliError::NoDatum(_) => "MH0013",
            CliError::Operands { .. } => "MH0014",
            CliError::Entry { .. } => "MH0015",
            CliError::DumpGone { .. } => "MH0016",
            CliError::NoList { .. } => "MH0017",
            CliError::LuaGone => "MH0018",
            CliError::TooMuchMemory { .. } => "MH0020",
            CliError::Resource { .. } => "MH0021",
            CliError::Panicked { .. } => "MH0022",
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let help = match self {
            CliError::Load(error) => return error.diagnostic(),
            CliError::Lower(error) => return error.diagnostic(),
            CliError::Emit(error) => return error.diagnostic(),
            CliError::Install(error) => return error.diagnostic(),
            CliError::Capture(error) => return error.diagnostic(),
            CliError::User(error) => return error.diagnostic(),
            CliError::Control(error) => return error.diagnostic(),
            CliError::Daemon(error) => return error.diagnostic(),
            CliError::Remote(failure) => return remote(failure),
            CliError::Unwritable { .. } => "check the path, its permissions and the free space",
            CliError::NoPage { .. } => "`moonhook explain` lists the codes there are",
            CliError::SameFile { .. } => "give another name to what is written",
            CliError::NothingToMeasure { .. } => "give a capture with whole Ethernet frames, or none",
            CliError::Record(_) | CliError::NoProgram | CliError::LuaGone | CliError::Panicked { .. } => {
                "this is a bug in Moonhook; please report it with the script"
            }
            CliError::Signals { .. } => "use `--duration` to end after some time",
            CliError::Watch { .. } => {
                "leave `--watch` out, and use `moonhook reload`; or raise fs.inotify.max_user_instances (sysctl)"
            }
            CliError::Unreadable { .. } => "check the path and its permissions",
            CliError::NoDatum(_) => "write an integer, true, false, a JSON object, or a string",
            CliError::Operands { .. } => "`moonhook table --help` shows the operands of each operation",
            CliError::Entry { .. } => "correct the line; `moonhook table --help` describes the formats",
            CliError::DumpGone { .. } => "begin again: the script was reloaded meanwhile",
            CliError::NoList { .. } => {
                "begin again: something was wrong with the list, or a reload gave the table another shape"
            }
            CliError::Pinned { name } => {
                let help =
                    format!("`--pin` takes over, `moonhook stop {name}` removes it; or use another `--name`");
                return Diagnostic::new(self.code(), self.to_string()).help(help);
            }
            CliError::InterfaceGone { .. } => "start again when it is back",
            CliError::Output(_) => "check where standard output leads",
            CliError::Resource { .. } => {
                "raise the limits of the process (`ulimit -u`, `ulimit -n`, `ulimit -v`) or of its control group (pids.max)"
            }
            CliError::TooMuchMemory { .. } => {
                "give the number of CPUs that the program is for with `--cpus`, or less `--memory` for each"
            }
        };
        Diagnostic::new(self.code(), self.to_string()).help(help)
    }

    /// Whose fault it is, as an exit code.
    pub fn exit(&self) -> Exit {
        match self {
            CliError::Load(error) => load_exit(error),
            CliError::Emit(error) if error.is_bug() => Exit::Bug,
            CliError::Lower(_) | CliError::Emit(_) | CliError::User(_) => Exit::Refused,
            CliError::TooMuchMemory { .. } => Exit::Refused,
            CliError::Install(error) | CliError::Control(ControlError::Install(error)) => install_exit(error),
            CliError::Control(ControlError::State(_)) => Exit::Host,
            CliError::Control(_) => Exit::Refused,
            CliError::NoPage { .. }
            | CliError::SameFile { .. }
            | CliError::NoDatum(_)
            | CliError::Operands { .. } => Exit::Usage,
            CliError::Entry { .. } | CliError::NoList { .. } => Exit::Refused,
            CliError::Daemon(DaemonError::InvalidName { .. }) => Exit::Usage,
            CliError::Remote(failure) => Exit::from(failure.exit),
            CliError::Record(_) | CliError::NoProgram | CliError::LuaGone | CliError::Panicked { .. } => {
                Exit::Bug
            }
            CliError::Capture(_)
            | CliError::Daemon(_)
            | CliError::Unwritable { .. }
            | CliError::NothingToMeasure { .. }
            | CliError::Signals { .. }
            | CliError::InterfaceGone { .. }
            | CliError::Watch { .. }
            | CliError::Pinned { .. }
            | CliError::Unreadable { .. }
            | CliError::DumpGone { .. }
            | CliError::Resource { .. }
            | CliError::Output(_) => Exit::Host,
        }
    }

    /// Nobody reads the answer any more, as when it is piped into `head`.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, CliError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What was written has not been read for too long.
    pub fn is_unread(&self) -> bool {
        matches!(self, CliError::Output(error) if error.kind() == io::ErrorKind::TimedOut)
    }
}

/// The diagnostic as the other process has it.
fn remote(failure: &Failure) -> Diagnostic {
    let Failure { code, message, place, reason, help, .. } = failure.clone();
    Diagnostic { code: crate::explain::known_code(&code), message, place, reason, help }
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
