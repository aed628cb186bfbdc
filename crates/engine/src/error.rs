//! Why there is no program: the errors of the stages.

use moonhook_control::ControlError;
use moonhook_diagnostic::{Diagnostic, Place};
use moonhook_emit::EmitError;
use moonhook_hook::Hook;
use moonhook_install::InstallError;
use moonhook_specialise::LowerError;
use std::io;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Lower(#[from] Box<LowerError>),
    #[error(transparent)]
    Emit(#[from] EmitError),
    #[error(transparent)]
    Install(#[from] InstallError),
    /// What is put into tables, or taken from them.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A limit of the process or of its control group is reached.
    #[error("the system gives no more {what}s: {source}")]
    Resource { what: &'static str, source: io::Error },
    /// A function of a C object that the verifier does not take, whatever is around it.
    #[error("the kernel's verifier refuses the function {function}: {problem}")]
    OfObject {
        /// `'count' of meter.bpf.o`.
        function: String,
        problem: String,
        place: Option<Box<Place>>,
        /// No compiler makes such instructions.
        is_broken: bool,
    },
    /// An error with what is known besides.
    #[error("{}", .0.error)]
    Noted(Box<Noted>),
    #[error("'{name}' is no verdict that a script can have for errors at {}", hook.name)]
    NoSuchVerdict { name: String, hook: &'static Hook },
    #[error("{place}: there is no interface '{name}'")]
    NoInterface { place: String, name: String, existing: Vec<String> },
    #[error("the object has no program for a hook")]
    NoProgram,
    #[error("the program needs {} MiB of memory, and one map of an object can have {} MiB", .bytes.div_ceil(1 << 20), .most >> 20)]
    TooMuchMemory { bytes: usize, most: usize },
}

/// An error with what is known besides.
#[derive(Debug)]
pub struct Noted {
    pub error: EngineError,
    /// The line that has most to do with it.
    pub place: Option<Place>,
    /// Why there is no code of the other form.
    pub other: Option<String>,
}

impl EngineError {
    /// Whether another form of code may do: the script itself is not at fault, nor is the host.
    pub fn is_of_form(&self) -> bool {
        match self {
            EngineError::Lower(error) => error.kind.has_general_form(),
            EngineError::Emit(_) => true,
            EngineError::Install(InstallError::Rejected(_) | InstallError::OutOfPatience { .. }) => true,
            _ => false,
        }
    }

    /// Whether the program is too large or too complicated for the kernel, or its functions take too much of its stack, in whichever form
    /// it is.
    pub fn is_of_size(&self) -> bool {
        match self {
            EngineError::Emit(error) => {
                use EmitError::{ChainTooLarge, ProgramTooLarge, StackTooLarge};
                matches!(error, ProgramTooLarge { .. } | StackTooLarge { .. } | ChainTooLarge { .. })
            }
            EngineError::Install(InstallError::Rejected(rejection)) => rejection.is_too_complex(),
            _ => false,
        }
    }

    /// Whether it is only that the program takes longer than what may have another form is given.
    pub fn is_of_patience(&self) -> bool {
        use EngineError::{Emit, Install};
        matches!(self, Emit(EmitError::ProgramTooLarge { .. }) | Install(InstallError::OutOfPatience { .. }))
    }

    /// The error itself, without what is known besides.
    pub fn cause(&self) -> &EngineError {
        match self {
            EngineError::Noted(noted) => noted.error.cause(),
            error => error,
        }
    }

    /// What the stage says to a person.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            EngineError::Lower(error) => error.diagnostic(),
            EngineError::Emit(error) => error.diagnostic(),
            EngineError::Install(error) => error.diagnostic(),
            EngineError::Control(error) => error.diagnostic(),
            EngineError::Resource { .. } => Diagnostic::new("MH0021", self.to_string()).help(
                "raise the limits of the process (`ulimit -u`, `ulimit -n`, `ulimit -v`) or of its control group (pids.max)",
            ),
            EngineError::Noted(noted) => {
                let mut diagnostic = noted.error.diagnostic();
                let reasons: Vec<String> = diagnostic.reason.take().into_iter().chain(noted.other.clone()).collect();
                diagnostic.reason = (!reasons.is_empty()).then(|| reasons.join("; "));
                diagnostic.place = diagnostic.place.or_else(|| noted.place.clone());
                diagnostic
            }
            EngineError::NoSuchVerdict { hook, .. } => {
                let plain = hook.verdicts.iter().filter(|verdict| !verdict.needs_target);
                let names: Vec<String> = plain.map(|verdict| verdict.name().to_lowercase()).collect();
                let help = format!("use `--on-error` with one of {}", names.join(", "));
                Diagnostic::new("MH0024", self.to_string()).help(help)
            }
            EngineError::NoInterface { existing, .. } => Diagnostic::new("MH0027", self.to_string())
                .help(format!("there are {}; or make it first", existing.join(", "))),
            EngineError::OfObject { place, is_broken, .. } => {
                let help = match is_broken {
                    true => "compile the object anew: no compiler makes such instructions",
                    false => "correct the function: compare packet addresses with the packet's end, and results of lookups with NULL, before they are used",
                };
                Diagnostic { place: place.as_deref().cloned(), ..Diagnostic::new("MH0906", self.to_string()).help(help) }
            }
            EngineError::NoProgram => Diagnostic::new("MH0009", self.to_string())
                .help("this is a bug in Moonhook; please report it with the script"),
            EngineError::TooMuchMemory { .. } => Diagnostic::new("MH0020", self.to_string()).help(
                "give the number of CPUs that the program is for with `--cpus`, or less `--memory` for each",
            ),
        }
    }

    /// Where in the script.
    pub fn place(&self) -> Option<Place> {
        self.diagnostic().place
    }
}

impl From<Noted> for EngineError {
    fn from(noted: Noted) -> EngineError {
        EngineError::Noted(Box::new(noted))
    }
}
