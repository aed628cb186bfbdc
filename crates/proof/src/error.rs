//! Why two tiers could not be compared, or what differed.

use crate::Difference;
use moonhook_cli::CliError;
use moonhook_install::InstallError;
use moonhook_user::UserError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// A stage refused the script, or the kernel the program.
    #[error("{}", .0.diagnostic().render(false))]
    Stage(#[from] Box<CliError>),
    #[error(transparent)]
    User(#[from] UserError),
    #[error("the object has no program")]
    NoProgram,
    #[error("cannot keep to one CPU or ask for its time: {0}")]
    Cpu(#[from] nix::Error),
    #[error("{}: {problem}", path.display())]
    Case { path: PathBuf, problem: String },
    #[error("{form}, frame {frame}: {difference}")]
    Differs { form: &'static str, frame: String, difference: Box<Difference> },
}

impl From<CliError> for ProofError {
    fn from(error: CliError) -> Self {
        ProofError::Stage(Box::new(error))
    }
}

impl From<InstallError> for ProofError {
    fn from(error: InstallError) -> Self {
        CliError::Install(error).into()
    }
}

impl ProofError {
    /// The code of the stage's diagnostic, if a stage refused the script.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            ProofError::Stage(error) => Some(error.code()),
            _ => None,
        }
    }

    /// The line of the script that a stage complains of.
    pub fn line(&self) -> Option<u32> {
        let ProofError::Stage(error) = self else { return None };
        Some(error.diagnostic().place?.line)
    }

    /// The last lines of the verifier's log, if it rejected the program.
    pub fn log_end(&self, lines: usize) -> Option<String> {
        let ProofError::Stage(error) = self else { return None };
        let CliError::Install(InstallError::Rejected(rejection)) = &**error else { return None };
        let all: Vec<&str> = rejection.log.lines().collect();
        Some(all[all.len().saturating_sub(lines)..].join("\n"))
    }
}
