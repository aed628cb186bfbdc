//! Why two tiers could not be compared, or what differed.

use crate::Difference;
use moonhook_diagnostic::Diagnostic;
use moonhook_engine::EngineError;
use moonhook_install::InstallError;
use moonhook_load::LoadError;
use moonhook_records::RecordError;
use moonhook_user::UserError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    #[error("{}", .0.diagnostic().render(false))]
    Load(Box<LoadError>),
    /// A stage refused the script, or the kernel the program.
    #[error("{}", .0.diagnostic().render(false))]
    Stage(Box<EngineError>),
    #[error(transparent)]
    Record(#[from] RecordError),
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

impl From<LoadError> for ProofError {
    fn from(error: LoadError) -> Self {
        ProofError::Load(Box::new(error))
    }
}

impl From<EngineError> for ProofError {
    fn from(error: EngineError) -> Self {
        ProofError::Stage(Box::new(error))
    }
}

impl From<InstallError> for ProofError {
    fn from(error: InstallError) -> Self {
        EngineError::Install(error).into()
    }
}

impl ProofError {
    /// What a stage says that refused the script.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            ProofError::Load(error) => Some(error.diagnostic()),
            ProofError::Stage(error) => Some(error.diagnostic()),
            _ => None,
        }
    }

    /// The code of the stage's diagnostic, if a stage refused the script.
    pub fn code(&self) -> Option<&'static str> {
        self.diagnostic().map(|diagnostic| diagnostic.code)
    }

    /// The line of the script that a stage complains of.
    pub fn line(&self) -> Option<u32> {
        Some(self.diagnostic()?.place?.line)
    }

    /// The last lines of the verifier's log, if it rejected the program.
    pub fn log_end(&self, lines: usize) -> Option<String> {
        let ProofError::Stage(error) = self else { return None };
        let EngineError::Install(InstallError::Rejected(rejection)) = error.cause() else { return None };
        let all: Vec<&str> = rejection.log.lines().collect();
        Some(all[all.len().saturating_sub(lines)..].join("\n"))
    }
}
