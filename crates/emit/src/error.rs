//! What can go wrong while an object is made: the `MH04xx` diagnostics.

use moonhook_diagnostic::Diagnostic;

/// Why a module cannot become an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    /// A function's frame exceeds what the kernel gives (`MAX_BPF_STACK`).
    #[error("`{function}` needs {bytes} bytes of stack, {limit} are available")]
    StackTooLarge { function: String, bytes: u32, limit: u32 },
    /// More instructions than the verifier looks at (`BPF_COMPLEXITY_LIMIT_INSNS`).
    #[error("`{function}` has {instructions} instructions, the limit is {limit}")]
    ProgramTooLarge { function: String, instructions: usize, limit: usize },
    /// Functions that call each other in a cycle.
    #[error("the calls below `{function}` are recursive")]
    Recursion { function: String },
    /// Calls nested deeper than the kernel's 8 frames (`MAX_CALL_FRAMES`).
    #[error("calls are nested deeper than {limit} frames: {}", arrows(chain))]
    CallsTooDeep { chain: Vec<String>, limit: usize },
    /// The nested frames of a chain of calls together exceed what the kernel gives (`MAX_BPF_STACK`).
    #[error("the calls {} need {bytes} bytes of stack, {limit} are available", arrows(chain))]
    ChainTooLarge { chain: Vec<String>, bytes: u32, limit: u32 },
    /// More functions than the verifier takes in one program (`BPF_MAX_SUBPROGS`).
    #[error("`{program}` has {functions} functions, the limit is {limit}")]
    TooManyFunctions { program: String, functions: usize, limit: usize },
    /// More maps than one program may use (`MAX_USED_MAPS`, include/linux/bpf_verifier.h).
    #[error("`{program}` uses {maps} maps, the limit is {limit}")]
    TooManyMaps { program: String, maps: usize, limit: usize },
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
            EmitError::Recursion { .. } | EmitError::CallsTooDeep { .. } => "MH0403",
            EmitError::Malformed { .. } => "MH0404",
            EmitError::Registers { .. } => "MH0405",
            EmitError::ObjectFile { .. } => "MH0406",
            EmitError::TooManyFunctions { .. } => "MH0407",
            EmitError::ChainTooLarge { .. } => "MH0408",
            EmitError::TooManyMaps { .. } => "MH0409",
        }
    }

    /// Whether the stages before are at fault, or this one.
    pub fn is_bug(&self) -> bool {
        use EmitError::{Malformed, ObjectFile, Registers};
        matches!(self, Malformed { .. } | Registers { .. } | ObjectFile { .. })
    }

    /// The error as it is shown to a person.
    pub fn diagnostic(&self) -> Diagnostic {
        let help = match self {
            EmitError::StackTooLarge { .. } => {
                "keep fewer values alive at once: shorter handlers, or fewer local variables across calls"
            }
            EmitError::ProgramTooLarge { .. } => "split the handler, or move constant data into tables",
            EmitError::Recursion { .. } => "write the recursion as a loop",
            EmitError::CallsTooDeep { .. } => "call fewer functions from within functions",
            EmitError::ChainTooLarge { .. } => {
                "keep fewer values alive across the calls: use them before, or compute them again"
            }
            EmitError::TooManyFunctions { .. } => "split the handlers over several scripts",
            EmitError::TooManyMaps { .. } => {
                "put several tables into one, with a field more in the key; or split the handlers over several scripts"
            }
            EmitError::Malformed { .. } | EmitError::Registers { .. } | EmitError::ObjectFile { .. } => {
                "this is a bug in Moonhook; please report it with the script"
            }
        };
        Diagnostic::new(self.code(), self.to_string()).help(help)
    }
}

/// `a` → `b` → `c`.
fn arrows(chain: &[String]) -> String {
    let names: Vec<String> = chain.iter().map(|name| format!("`{name}`")).collect();
    names.join(" → ")
}
