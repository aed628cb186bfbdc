//! Which files a script may read: those in its folder and in folders that a person has named, and below.
//!
//! What decides is where a file is, not the name that leads to it: links are followed, and the file that was looked at is the
//! one that is read, whatever becomes of its name meanwhile.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use nix::libc::{O_CLOEXEC, O_PATH};

/// The folders.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots(Vec<PathBuf>);

/// The file is in none of them.
#[derive(Debug)]
struct Outside;

impl std::error::Error for Outside {}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("outside of the script's folder (`--allow-read DIR` allows another one)")
    }
}

fn outside() -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, Outside)
}

impl Roots {
    /// The folder of a script, which need not be there, and others, which have to be.
    ///
    /// # Errors
    /// The folder that cannot be found, and why.
    pub fn new(folder: &Path, others: &[PathBuf]) -> Result<Roots, (PathBuf, io::Error)> {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut roots: Vec<PathBuf> = fs::canonicalize(here).into_iter().collect();
        for other in others {
            let found = fs::canonicalize(other)
                .and_then(|path| if path.is_dir() { Ok(path) } else { Err(ErrorKind::NotADirectory.into()) });
            roots.push(found.map_err(|error| (other.clone(), error))?);
        }
        Ok(Roots(roots))
    }

    fn has(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// Those of `open(2)`, and `PermissionDenied` for files that are elsewhere.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        // As long as only a path is meant nothing happens to the file: no pipe waits, no device is touched.
        let found = OpenOptions::new().read(true).custom_flags(O_PATH | O_CLOEXEC).open(path);
        let found = found.map_err(|error| if self.may_name(path) { error } else { outside() })?;
        if !self.has(&fs::read_link(by_descriptor(&found))?) {
            return Err(outside());
        }
        regular(&found)?;
        File::open(by_descriptor(&found))
    }

    /// Whether it may be told that there is no such file: its name is one of a file in the folders, as far as it can be found.
    fn may_name(&self, path: &Path) -> bool {
        let Ok(path) = std::path::absolute(path) else { return false };
        let mut named = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => drop(named.pop()),
                part => named.push(part),
            }
        }
        let there = named.ancestors().find_map(|ancestor| fs::canonicalize(ancestor).ok());
        there.is_some_and(|there| self.has(&there))
    }
}

/// The name of an open file that leads to it and nothing else (proc(5)).
pub(crate) fn by_descriptor(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// # Errors
/// `InvalidInput` for what is no regular file: reading it might never end.
pub(crate) fn regular(file: &File) -> io::Result<()> {
    match file.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
    }
}
