//! What can go wrong in the user tier: errors of scripts, which are results, and failures of the tier itself.

use moonhook_diagnostic::Diagnostic;

/// A run-time error of a handler, as real Lua words it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeError {
    /// With the `file:line: ` that Lua puts in front. Any bytes: what a script raises need not be UTF-8.
    pub message: Vec<u8>,
    /// Innermost function first, as `lua` prints them but without indent. Empty for an error that no function raised.
    pub traceback: Vec<String>,
}

impl RuntimeError {
    pub fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.message).into_owned()
    }
}

/// Failures of mlua outside a handler: memory ran out where Lua prepares or ends a call.
impl From<mlua::Error> for RuntimeError {
    fn from(error: mlua::Error) -> Self {
        RuntimeError { message: error.to_string().into_bytes(), traceback: Vec::new() }
    }
}

/// A failure to set up the tier.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    #[error("the Lua state cannot run handlers: {0}")]
    State(String),
    /// A map of a C object cannot have what the script gives to it.
    #[error("the map '{map}' cannot have all of its entries: {problem}")]
    Entry { map: String, problem: String },
}

impl From<mlua::Error> for UserError {
    /// In words: errors of Lua belong to the thread that has its state.
    fn from(error: mlua::Error) -> UserError {
        UserError::State(error.to_string())
    }
}

impl UserError {
    /// The stable code; `moonhook explain` has a page for each.
    pub fn code(&self) -> &'static str {
        match self {
            UserError::State(_) => "MH0610",
            UserError::Entry { .. } => "MH0611",
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        let help = match self {
            UserError::State(_) => {
                "raise the memory limit, which the script used up at load time; anything else is a bug in Moonhook"
            }
            UserError::Entry { .. } => {
                "give it as many entries as its `max_entries` say, with keys that it has"
            }
        };
        Diagnostic::new(self.code(), self.to_string()).help(help)
    }
}
