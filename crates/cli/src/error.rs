//! What can go wrong in a command: the errors of a session, of the stages, and the `MH00xx` diagnostics of the command line itself.

use crate::Exit;
use moonhook_capture::CaptureError;
use moonhook_control::ControlError;
use moonhook_daemon::{DaemonError, Failure, NoDatum};
use moonhook_diagnostic::Diagnostic;
use moonhook_emit::EmitError;
use moonhook_engine::EngineError;
use moonhook_install::InstallError;
use moonhook_load::LoadError;
use moonhook_nflua::NfluaError;
use moonhook_nflua::install::PluginError;
use moonhook_packages::PackageError;
use moonhook_records::RecordError;
use moonhook_serve::ServeError;
use moonhook_session::SessionError;
use moonhook_specialise::LowerError;
use moonhook_updates::{KeyError, UpdateError};
use moonhook_user::UserError;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Of a running script, or of a stage.
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    User(#[from] UserError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// What the process of a running script answered.
    #[error("{}", .0.message)]
    Remote(Box<Failure>),
    #[error(transparent)]
    Package(#[from] PackageError),
    #[error(transparent)]
    Nflua(#[from] NfluaError),
    #[error(transparent)]
    Plugin(#[from] PluginError),
    #[error("there is no page about '{code}'")]
    NoPage { code: String },
    #[error("{} would be overwritten while it is read", path.display())]
    SameFile { path: PathBuf },
    #[error("{} has no frame that the kernel can run", path.display())]
    NothingToMeasure { path: PathBuf },
    #[error("signals cannot be handled: {problem}")]
    Signals { problem: String },
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} cannot be written: {source}", path.display())]
    Unwritten { path: PathBuf, source: io::Error },
    #[error("{}: {problem}", path.display())]
    Key { path: PathBuf, problem: KeyError },
    #[error(transparent)]
    LongUpdate(#[from] UpdateError),
    #[error("nothing can be sent to {host}: {source}")]
    Unsent { host: String, source: io::Error },
    #[error("`{operation}` has other operands")]
    Operands { operation: String },
    #[error("no script is named, only '{interface}'")]
    NoScript { interface: String },
    #[error("handlers of tracepoints and functions get no packets")]
    NoPackets,
    #[error("the script has no program at '{at}', only at {there}")]
    NoPlace { at: String, there: String },
    #[error("'{name}' has nothing in {} that a rule could ask", folder.display())]
    NoMatch { name: String, folder: PathBuf },
    #[error("{script}:{line}: {problem}")]
    Attachment { script: String, line: u32, problem: &'static str },
    #[error("{}:{line}: {problem}", path.display())]
    Entry { path: PathBuf, line: u64, problem: String },
}

macro_rules! of_session {
    ($($error:ty),*) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> CliError {
                CliError::Session(error.into())
            }
        })*
    };
}

of_session!(LoadError, EngineError, InstallError, ControlError, DaemonError, RecordError, NoDatum, io::Error);

impl From<Box<LowerError>> for CliError {
    fn from(error: Box<LowerError>) -> CliError {
        EngineError::Lower(error).into()
    }
}

impl From<EmitError> for CliError {
    fn from(error: EmitError) -> CliError {
        EngineError::Emit(error).into()
    }
}

impl CliError {
    /// The stable code; `moonhook explain CODE` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            CliError::Session(error) => error.code(),
            CliError::Capture(error) => error.code(),
            CliError::User(error) => error.code(),
            CliError::Serve(error) => crate::explain::known_code(error.code()),
            CliError::Remote(failure) => crate::explain::known_code(&failure.code),
            CliError::Package(error) => error.code(),
            CliError::Nflua(error) => error.code(),
            CliError::Plugin(error) => error.code(),
            CliError::NoPage { .. } => "MH0002",
            CliError::SameFile { .. } => "MH0003",
            CliError::NothingToMeasure { .. } => "MH0004",
            CliError::Signals { .. } => "MH0006",
            CliError::Unreadable { .. } => "MH0012",
            CliError::Operands { .. } => "MH0014",
            CliError::Entry { .. } => "MH0015",
            CliError::Attachment { .. } => "MH0036",
            CliError::NoScript { .. } => "MH0026",
            CliError::NoMatch { .. } => "MH0028",
            CliError::NoPackets => "MH0030",
            CliError::NoPlace { .. } => "MH0031",
            CliError::Key { .. } => "MH0032",
            CliError::LongUpdate(_) => "MH0033",
            CliError::Unsent { .. } => "MH0034",
            CliError::Unwritten { .. } => "MH0035",
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let help = match self {
            CliError::Session(error) => return error.diagnostic(),
            CliError::Capture(error) => return error.diagnostic(),
            CliError::User(error) => return error.diagnostic(),
            CliError::Serve(error) => return error.diagnostic(),
            CliError::Remote(failure) => return remote(failure),
            CliError::Package(error) => return error.diagnostic(),
            CliError::Nflua(error) => return error.diagnostic(),
            CliError::Plugin(error) => return error.diagnostic(),
            CliError::NoPage { .. } => "`moonhook explain` lists the codes there are",
            CliError::SameFile { .. } => "give another name to what is written",
            CliError::NothingToMeasure { .. } => "give a capture with whole Ethernet frames, or none",
            CliError::Signals { .. } => "use `--duration` to end after some time",
            CliError::Unreadable { .. } => "check the path and its permissions",
            CliError::Unwritten { .. } => "give another name, or remove the file if nobody needs it",
            CliError::Key { .. } => "`moonhook update-key FILE` makes a pair of keys",
            CliError::LongUpdate(_) => "make it shorter, or use `moonhook flow` over there",
            CliError::Unsent { .. } => "check the name, and the way there",
            CliError::NoScript { .. } => {
                "name the script behind the interface; `moonhook run --help` has examples"
            }
            CliError::NoMatch { .. } => {
                "`moonhook list` shows what runs; with `--bpffs`, give the folder that the script was started with"
            }
            CliError::NoPackets => {
                "attach them with `moonhook run`; a script that has handlers of packets, too, is tried with those"
            }
            CliError::NoPlace { .. } => "give one of them to `--at`, as a whole",
            CliError::Operands { .. } => "`moonhook table --help` shows the operands of each operation",
            CliError::Attachment { .. } => "give interfaces and `--mode` on the command line",
            CliError::Entry { .. } => "correct the line; `moonhook table --help` describes the formats",
        };
        Diagnostic::new(self.code(), self.to_string()).help(help)
    }

    /// Whose fault it is, as an exit code.
    pub fn exit(&self) -> Exit {
        match self {
            CliError::Session(error) => error.exit(),
            CliError::Serve(error) => error.exit(),
            CliError::User(_)
            | CliError::Attachment { .. }
            | CliError::Entry { .. }
            | CliError::NoPackets
            | CliError::LongUpdate(_) => Exit::Refused,
            CliError::NoPage { .. }
            | CliError::SameFile { .. }
            | CliError::NoPlace { .. }
            | CliError::Operands { .. }
            | CliError::NoScript { .. } => Exit::Usage,
            CliError::Remote(failure) => Exit::from(failure.exit),
            CliError::Package(PackageError::Compile { .. }) => Exit::Refused,
            CliError::Nflua(error) if error.is_of_script() => Exit::Refused,
            CliError::Package(_)
            | CliError::Nflua(_)
            | CliError::Plugin(_)
            | CliError::Capture(_)
            | CliError::NothingToMeasure { .. }
            | CliError::NoMatch { .. }
            | CliError::Signals { .. }
            | CliError::Key { .. }
            | CliError::Unsent { .. }
            | CliError::Unwritten { .. }
            | CliError::Unreadable { .. } => Exit::Host,
        }
    }

    /// Nobody reads the answer any more, as when it is piped into `head`.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, CliError::Session(error) if error.is_broken_pipe())
    }

    /// What was written has not been read for too long.
    pub fn is_unread(&self) -> bool {
        matches!(self, CliError::Session(error) if error.is_unread())
    }
}

/// The diagnostic as the other process has it.
fn remote(failure: &Failure) -> Diagnostic {
    let Failure { code, message, place, reason, help, .. } = failure.clone();
    Diagnostic { code: crate::explain::known_code(&code), message, place, reason, help }
}
