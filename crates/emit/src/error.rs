//! What can go wrong while an object is made: the `MH04xx` diagnostics.

use moonhook_diagnostic::Diagnostic;

/// Why a module cannot become an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    /// The nested frames of a call chain together exceed what the kernel gives (`MAX_BPF_STACK`).
    #[error("`{function}` needs {bytes} bytes of stack, {limit} are available")]
    StackTooLarge { function: String, bytes: u32, limit: u32 },
    /// More instructions than the verifier looks at (`BPF_COMPLEXITY_LIMIT_INSNS`).
    #[error("`{function}` has {instructions} instructions, the limit is {limit}")]
    ProgramTooLarge { function: String, instructions: usize, limit: usize },
    /// Functions that call each other in a cycle, or deeper than the kernel's 8 frames (`MAX_CALL_FRAMES`).
    #[error("the calls below `{function}` are recursive or nested deeper than {limit} frames")]
    CallsTooDeep { function: String, limit: usize },
    /// The module breaks a rule of the IR; the stages before are at fault.
    #[error("malformed module: {problem}")]
    Malformed { problem: String },
    /// The register allocator gave up.
    #[error("no register allocation for `{function}`: {problem}")]
    Registers { function: String, problem: String },
    /// The object file could not be written.
    #[error("object file: {problem}")]
    ObjectFile { problem: String },
}

impl EmitError {
    /// The stable code; `moonhook explain CODE` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            EmitError::StackTooLarge { .. } => "MH0401",
            EmitError::ProgramTooLarge { .. } => "MH0402",
            EmitError::CallsTooDeep { .. } => "MH0403",
            EmitError::Malformed { .. } => "MH0404",
            EmitError::Registers { .. } => "MH0405",
            EmitError::ObjectFile { .. } => "MH0406",
        }
    }

    /// The error as it is shown to a person.
    pub fn diagnostic(&self) -> Diagnostic {
        let help = match self {
            EmitError::StackTooLarge { .. } => {
                "keep fewer values alive at once: shorter handlers, or fewer local variables across calls"
            }
            EmitError::ProgramTooLarge { .. } => "split the handler, or move constant data into tables",
            EmitError::CallsTooDeep { .. } => "write the recursion as a loop",
            EmitError::Malformed { .. } | EmitError::Registers { .. } | EmitError::ObjectFile { .. } => {
                "this is a bug in Moonhook; please report it with the script"
            }
        };
        Diagnostic::new(self.code(), self.to_string()).help(help)
    }
}
