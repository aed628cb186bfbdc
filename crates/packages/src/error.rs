//! What can go wrong with packages.

use moonhook_diagnostic::Diagnostic;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error("there is no package '{package}'{}", among(.searched))]
    NoPackage { package: String, searched: Vec<PathBuf>, near: Vec<String> },
    #[error("there is no program '{program}' in package '{package}'{}", among(.searched))]
    NoProgram { package: String, program: String, searched: Vec<PathBuf>, near: Vec<String> },
    #[error("'{}' is no name of a {what}", shown(.name))]
    Name { what: &'static str, name: String },
    #[error("there is no clang{}", given.as_ref().map(|given| format!(": {given}")).unwrap_or_default())]
    NoCompiler { given: Option<String> },
    #[error("{} does not compile: {first}", source_file.display())]
    Compile { source_file: PathBuf, first: String, log: String },
    #[error("{what} {problem}")]
    Ended { what: String, problem: String },
    #[error("{} cannot be {doing}: {problem}", path.display())]
    File { path: PathBuf, doing: &'static str, problem: io::Error },
    #[error("{}:{line}: {problem}", path.display())]
    Index { path: PathBuf, line: usize, problem: &'static str },
    #[error("package '{package}' cannot be fetched: {problem}")]
    Fetch { package: String, problem: String, log: String },
    #[error("{object}: {problem}")]
    Exports { object: String, problem: String },
}

/// The beginning of a text, without what would disturb a terminal.
fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let start: String = text.chars().take(MOST).collect();
    let more = if text.chars().count() > MOST { "…" } else { "" };
    format!("{}{more}", start.escape_debug())
}

/// Folders that are named in a message at most.
const MOST_FOLDERS: usize = 4;

fn among(searched: &[PathBuf]) -> String {
    if searched.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> =
        searched.iter().take(MOST_FOLDERS).map(|path| path.display().to_string()).collect();
    if searched.len() > MOST_FOLDERS {
        names.push(format!("{} more", searched.len() - MOST_FOLDERS));
    }
    format!(" in {}", names.join(", "))
}

impl PackageError {
    pub(crate) fn file(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> PackageError {
        move |problem| PackageError::File { path: path.to_owned(), doing, problem }
    }

    /// The stable code; `moonhook explain` has a page about it.
    pub fn code(&self) -> &'static str {
        match self {
            PackageError::NoPackage { .. } => "MH0911",
            PackageError::NoProgram { .. } => "MH0912",
            PackageError::Name { .. } => "MH0913",
            PackageError::NoCompiler { .. } => "MH0914",
            PackageError::Compile { .. } => "MH0915",
            PackageError::Ended { .. } => "MH0916",
            PackageError::File { .. } => "MH0917",
            PackageError::Index { .. } => "MH0918",
            PackageError::Fetch { .. } => "MH0919",
            PackageError::Exports { .. } => "MH0920",
        }
    }

    fn help(&self) -> String {
        match self {
            PackageError::NoPackage { near, .. } | PackageError::NoProgram { near, .. }
                if !near.is_empty() =>
            {
                let names: Vec<String> = near.iter().map(|name| format!("'{name}'")).collect();
                format!("there is {}", names.join(", "))
            }
            PackageError::NoPackage { .. } => {
                "name the folder in which the package's folder lies with `--packages DIR`, or fetch it".into()
            }
            PackageError::NoProgram { program, .. } => {
                format!("programs are called by the names of their files: {program}.bpf.c")
            }
            PackageError::Name { .. } => {
                "use letters, digits, `_`, `-` and `.`, and begin with a letter, a digit or `_`".into()
            }
            PackageError::NoCompiler { .. } => "install clang, or say with MOONHOOK_CLANG where it is".into(),
            PackageError::Compile { .. } => "correct the program; the note has all that clang says".into(),
            PackageError::Ended { .. } => "try again, and look whether the machine is busy".into(),
            PackageError::File { .. } => "see that the folder is there, may be written, and has room".into(),
            PackageError::Index { .. } => "write a package per line: `name, git_url, tag`".into(),
            PackageError::Fetch { .. } => "see that the index names the right place and tag".into(),
            PackageError::Exports { .. } => {
                "end the program with `EXPORT_HIKE_PROG(name);`, one in a file".into()
            }
        }
    }

    /// As a person is told. What clang or git have said is the note.
    pub fn diagnostic(&self) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.code(), self.to_string()).help(self.help());
        match self {
            PackageError::Compile { log, .. } | PackageError::Fetch { log, .. } if !log.is_empty() => {
                diagnostic.reason(log.trim_end())
            }
            _ => diagnostic,
        }
    }
}
