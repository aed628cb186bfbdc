//! What is wrong with a source file of runtime Lua.

/// A place in the sources and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct CompileError {
    pub file: String,
    pub line: u32,
    pub message: String,
}

impl CompileError {
    pub(super) fn unknown(name: &str) -> CompileError {
        CompileError { file: "lua".into(), line: 0, message: format!("there is no routine '{name}'") }
    }
}
