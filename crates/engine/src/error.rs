//! Why there is no program: the errors of the stages.

use moonhook_diagnostic::{Diagnostic, Place};
use moonhook_emit::EmitError;
use moonhook_install::InstallError;
use moonhook_lower::LowerError;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Lower(#[from] Box<LowerError>),
    #[error(transparent)]
    Emit(#[from] EmitError),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error("the object has no program for the XDP hook")]
    NoProgram,
}

impl EngineError {
    /// Whether another form of code may do: the script itself is not at fault, nor is the host.
    pub fn is_of_form(&self) -> bool {
        match self {
            EngineError::Lower(error) => error.kind.has_general_form(),
            EngineError::Emit(_) => true,
            EngineError::Install(InstallError::Rejected(_) | InstallError::OutOfPatience { .. }) => true,
            EngineError::Install(_) | EngineError::NoProgram => false,
        }
    }

    /// What the stage says to a person.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            EngineError::Lower(error) => error.diagnostic(),
            EngineError::Emit(error) => error.diagnostic(),
            EngineError::Install(error) => error.diagnostic(),
            EngineError::NoProgram => Diagnostic::new("MH0009", self.to_string()),
        }
    }

    /// Where in the script.
    pub fn place(&self) -> Option<Place> {
        self.diagnostic().place
    }
}
