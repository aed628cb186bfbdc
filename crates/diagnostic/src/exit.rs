//! Exit codes.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success = 0,
    /// The script is refused, or a comparison found a difference.
    Refused = 1,
    /// The command line makes no sense. The parser of arguments uses it, too.
    Usage = 2,
    /// The host: privilege, kernel, interface, or a file that cannot be read or written.
    Host = 3,
    /// A bug in Moonhook.
    Bug = 4,
}

impl From<u8> for Exit {
    /// What another process says; an unknown code is the host's.
    fn from(code: u8) -> Exit {
        let all = [Exit::Success, Exit::Refused, Exit::Usage, Exit::Host, Exit::Bug];
        all.into_iter().find(|exit| *exit as u8 == code).unwrap_or(Exit::Host)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
