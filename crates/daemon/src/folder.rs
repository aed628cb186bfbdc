//! The runtime folder: sockets, and who owns which name.
//!
//! A name is owned by the process that holds the lock on `NAME.lock`. The kernel releases the lock when the process ends, so
//! that a socket without a lock is one that a dead process left.

use crate::{DaemonError, Name};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A folder with the sockets of running scripts. It need not exist.
#[derive(Clone, Debug)]
pub struct RuntimeFolder {
    path: PathBuf,
}

/// Names that are tried before giving up on a unique one.
const ATTEMPTS: u32 = 1000;

impl RuntimeFolder {
    pub fn new(path: impl Into<PathBuf>) -> RuntimeFolder {
        RuntimeFolder { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The socket of the script of that name.
    pub fn socket(&self, name: &Name) -> PathBuf {
        self.path.join(format!("{name}.sock"))
    }

    /// Names that have a socket, sorted; none if there is no folder. A socket need not have anybody behind it.
    ///
    /// # Errors
    /// `Folder` if it cannot be read.
    pub fn names(&self) -> Result<Vec<Name>, DaemonError> {
        let entries = match std::fs::read_dir(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| DaemonError::Folder {
                path: self.path.clone(),
                problem: error.to_string(),
            })?,
        };
        let name = |file: String| file.strip_suffix(".sock")?.parse().ok();
        let files = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<Name> = files.filter_map(name).collect();
        names.sort();
        Ok(names)
    }

    /// Makes the folder, with mode 0700, if it is not there; says whether it was made.
    ///
    /// # Errors
    /// `Folder`, also for one that others own or may write to: they could put a socket of theirs there.
    pub fn create(&self) -> Result<bool, DaemonError> {
        let is_new = !self.path.exists();
        let failed = |problem: String| DaemonError::Folder { path: self.path.clone(), problem };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|error| failed(error.to_string()))?;
        let metadata = std::fs::metadata(&self.path).map_err(|error| failed(error.to_string()))?;
        if metadata.uid() != geteuid().as_raw() {
            return Err(failed(format!("it belongs to user {}", metadata.uid())));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(failed("others may write to it".to_string()));
        }
        Ok(is_new)
    }

    /// Whether a process has the name, also one that does not listen yet.
    pub fn is_claimed(&self, name: &Name) -> bool {
        let Ok(file) = File::open(self.lock(name)) else { return false };
        // A lock that is shared keeps no other who asks from seeing that the name is free.
        matches!(Flock::lock(file, FlockArg::LockSharedNonblock), Err((_, Errno::EWOULDBLOCK)))
    }

    /// The process that has the name, also one that does not listen yet, or any more.
    pub fn owner(&self, name: &Name) -> Option<u32> {
        let mut file = File::open(self.lock(name)).ok()?;
        let process = pid_in(&mut file)?;
        self.is_claimed(name).then_some(process)
    }

    fn lock(&self, name: &Name) -> PathBuf {
        self.path.join(format!("{name}.lock"))
    }

    /// Takes the name for this process.
    ///
    /// # Errors
    /// `NameTaken`, `Folder`.
    pub fn claim(&self, name: &Name) -> Result<Claim, DaemonError> {
        let path = self.lock(name);
        let failed =
            |error: std::io::Error| DaemonError::Folder { path: path.clone(), problem: error.to_string() };
        loop {
            let made_folder = self.create()?;
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let file = match file.open(&path) {
                // Whoever made the folder has removed it meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                file => file.map_err(failed)?,
            };
            let lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => lock,
                Err((mut file, Errno::EWOULDBLOCK)) => {
                    return Err(DaemonError::NameTaken { name: name.clone(), pid: pid_in(&mut file) });
                }
                Err((_, errno)) => return Err(failed(errno.into())),
            };
            // Who gives up a name removes the file; a lock on a removed file is none.
            if is_at(&lock, &path) {
                let claim =
                    Claim { folder: self.clone(), name: name.clone(), lock, path: path.clone(), made_folder };
                claim.write_pid().map_err(failed)?;
                return Ok(claim);
            }
        }
    }

    /// Takes the name, or the first free one of `NAME-2`, `NAME-3`, …
    ///
    /// # Errors
    /// As [`RuntimeFolder::claim`].
    pub fn claim_unique(&self, name: &Name) -> Result<Claim, DaemonError> {
        let mut number = 1;
        loop {
            match self.claim(&name.numbered(number)) {
                Err(DaemonError::NameTaken { .. }) if number < ATTEMPTS => number += 1,
                result => return result,
            }
        }
    }
}

fn pid_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// A name that is this process's until this is dropped, or the process ends.
#[derive(Debug)]
pub struct Claim {
    folder: RuntimeFolder,
    name: Name,
    lock: Flock<File>,
    path: PathBuf,
    /// The folder goes with this, if nothing else is in it by then.
    made_folder: bool,
}

impl Claim {
    pub fn name(&self) -> &Name {
        &self.name
    }

    pub fn folder(&self) -> &RuntimeFolder {
        &self.folder
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.socket(&self.name)
    }

    fn write_pid(&self) -> std::io::Result<()> {
        self.lock.set_len(0)?;
        writeln!(&*self.lock, "{}", std::process::id())
    }

    /// Removes a socket of that name, which can only be one that a dead process left.
    pub(crate) fn remove_socket(&self) -> std::io::Result<()> {
        match std::fs::remove_file(self.socket()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = self.remove_socket();
        let _ = std::fs::remove_file(&self.path);
        if self.made_folder {
            let _ = std::fs::remove_dir(self.folder.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_name_belongs_to_one_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let folder = RuntimeFolder::new(place.path().join("run"));
        let name: Name = "a".parse().unwrap();
        let first = folder.claim(&name).unwrap();
        assert_eq!(std::fs::metadata(folder.path()).unwrap().mode() & 0o777, 0o700);
        match folder.claim(&name).unwrap_err() {
            DaemonError::NameTaken { pid, .. } => assert_eq!(pid, Some(std::process::id())),
            other => panic!("{other}"),
        }
        assert!(folder.is_claimed(&name) && !folder.is_claimed(&"other".parse().unwrap()));
        assert_eq!(folder.owner(&name), Some(std::process::id()));
        assert_eq!(folder.owner(&"other".parse().unwrap()), None);
        let second = folder.claim_unique(&name).unwrap();
        assert_eq!(second.name().as_str(), "a-2");
        drop(first);
        std::fs::write(folder.path().join("a.lock"), "7\n").unwrap();
        assert!(!folder.is_claimed(&name) && folder.owner(&name).is_none(), "who had the name has ended");
        assert_eq!(folder.claim_unique(&name).unwrap().name().as_str(), "a");
        drop(second);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(std::fs::remove_dir(folder.path()));
        drop(folder.claim(&name).unwrap());
        assert!(!folder.path().exists(), "the folder is left");
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("open");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(RuntimeFolder::new(path).create().unwrap_err().code(), "MH0801");
    }
}
