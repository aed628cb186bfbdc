//! What can go wrong with states for rules of iptables.

use moonhook_diagnostic::Diagnostic;
use nix::errno::Errno;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum NfluaError {
    #[error("{}: {}", path.display(), errno.desc())]
    Socket { path: PathBuf, errno: Errno },
    #[error("NFLua's states of this network namespace are another process's")]
    Taken { path: PathBuf },
    #[error("no process has NFLua's states in this network namespace")]
    NoProcess { path: PathBuf },
    /// What a state was asked to do, and why not.
    #[error("{reason}")]
    Refused { errno: Errno, reason: String },
    #[error("the process ended before it answered")]
    Gone,
}

impl NfluaError {
    /// The stable code; `moonhook explain CODE` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            NfluaError::Socket { .. } => "MH1211",
            NfluaError::Taken { .. } => "MH1212",
            NfluaError::NoProcess { .. } => "MH1213",
            NfluaError::Refused { .. } => "MH1214",
            NfluaError::Gone => "MH1215",
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let help = match self {
            NfluaError::Socket { errno: Errno::EACCES | Errno::EPERM, .. } => {
                "run as the user that `moonhook nflua run` runs as, who is root as a rule".to_string()
            }
            NfluaError::Socket { path, .. } => {
                format!("the folder of {} has to be there, and to be writable", path.display())
            }
            NfluaError::Taken { path } => {
                format!("use it, or end it (`moonhook nflua stop`); it listens at {}", path.display())
            }
            NfluaError::NoProcess { .. } => "start it: `moonhook nflua run`".to_string(),
            NfluaError::Refused { .. } => {
                "`moonhook nflua list` shows the states; what executing has said is in the log of `moonhook nflua run`".to_string()
            }
            NfluaError::Gone => "its log says why".to_string(),
        };
        Diagnostic::new(self.code(), self.to_string()).help(help)
    }

    /// Whether a script is at fault, or a name that is none.
    pub fn is_of_script(&self) -> bool {
        matches!(self, NfluaError::Refused { errno: Errno::EINVAL, .. })
    }

    pub(crate) fn refused(errno: Errno, reason: impl Into<String>) -> NfluaError {
        NfluaError::Refused { errno, reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_a_code_and_says_what_to_do() {
        let path = PathBuf::from("/run/moonhook/nflua/1");
        let errors = [
            NfluaError::Socket { path: path.clone(), errno: Errno::EACCES },
            NfluaError::Taken { path: path.clone() },
            NfluaError::NoProcess { path },
            NfluaError::refused(Errno::EPERM, "lua state not found: a"),
            NfluaError::Gone,
        ];
        let codes = errors.each_ref().map(NfluaError::code);
        assert_eq!(codes, ["MH1211", "MH1212", "MH1213", "MH1214", "MH1215"]);
        assert!(errors.iter().all(|error| error.diagnostic().help.is_some()));
        assert_eq!(errors[0].to_string(), "/run/moonhook/nflua/1: Permission denied");
    }
}
