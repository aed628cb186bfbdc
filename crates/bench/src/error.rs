//! What can go wrong in a benchmark. All of it ends the run: a table with gaps would look like a result.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {what}: {error}")]
    System { what: String, error: std::io::Error },
    #[error("cannot load {path}: {error}", path = path.display())]
    Kernel { path: PathBuf, error: libbpf_rs::Error },
    #[error("{path} holds no XDP program", path = path.display())]
    NoProgram { path: PathBuf },
    #[error("the kernel cannot run {contestant}: {error}")]
    TestRun { contestant: String, error: libbpf_rs::Error },
    #[error("{contestant}: {message}")]
    Peer { contestant: String, message: String },
    #[error("`{command}` failed\n{output}")]
    Command { command: String, output: String },
    #[error("{contestant} gives verdict {got} about the frame '{frame}', which must be {expected}")]
    WrongVerdict { contestant: String, frame: String, got: i32, expected: i32 },
    #[error("cannot draw the plot: {0}")]
    Plot(String),
}

impl Error {
    /// For `map_err`: says what was tried.
    pub fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        let what = what.into();
        move |error| Error::System { what, error }
    }
}
