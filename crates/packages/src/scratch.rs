//! Folders in which something is being made.
//!
//! They go when it is made, and when the process is told to end ([`abandon`]). Where it had no time for that, they go the next time that something
//! is made beside them: who has one keeps it locked, and the kernel takes the lock from processes that are gone.

use crate::process;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Those of this process.
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From when on a folder that nobody has locked is one that somebody has left: it is locked a moment after it is there.
const MOMENT: Duration = Duration::from_secs(10);

/// From when on it is one where there are no locks: nothing takes so long to be made.
const LONG: Duration = Duration::from_secs(3600);

/// A folder that goes with this value.
pub struct Scratch {
    folder: TempDir,
    /// None where the file system has no locks.
    _lock: Option<Flock<File>>,
}

impl Scratch {
    /// A folder in `parent`, with a name that begins with `prefix`.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(parent: &Path, prefix: &str) -> io::Result<Scratch> {
        remove_left(parent, prefix);
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        open().push(folder.path().to_owned());
        let lock = lock(folder.path()).ok();
        Ok(Scratch { folder, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Behind [`abandon`] the process ends: nothing may be left that it does not know of.
        let mut open = open();
        let _ = fs::remove_dir_all(self.folder.path());
        open.retain(|path| path != self.folder.path());
    }
}

/// Ends the programs that make something, and removes the folders in which they do. What waits for them fails.
pub fn abandon() {
    process::end_all();
    for path in std::mem::take(&mut *open()) {
        let _ = fs::remove_dir_all(path);
    }
}

fn open() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lock(folder: &Path) -> Result<Flock<File>, Errno> {
    let folder =
        File::open(folder).map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or_default()))?;
    Flock::lock(folder, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno)
}

/// Removes what processes have left that are gone. What cannot be removed stays, and is no reason to fail.
fn remove_left(parent: &Path, prefix: &str) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && is_left(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_left(folder: &Path) -> bool {
    let changed = fs::metadata(folder).and_then(|folder| folder.modified());
    let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
    let Some(age) = age.filter(|age| *age >= MOMENT) else { return false };
    match lock(folder) {
        Ok(_) => true,
        Err(Errno::EWOULDBLOCK) => false,
        Err(_) => age >= LONG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(parent: &Path, name: &str, seconds: u64) -> PathBuf {
        let path = parent.join(name);
        fs::create_dir_all(path.join("include")).unwrap();
        let then = SystemTime::now() - Duration::from_secs(seconds);
        File::open(&path).unwrap().set_modified(then).unwrap();
        path
    }

    #[test]
    fn what_processes_have_left_goes_the_next_time() {
        let parent = tempfile::tempdir().unwrap();
        let left = made(parent.path(), ".build-left", 20);
        let new = made(parent.path(), ".build-new", 0);
        let used = made(parent.path(), ".build-used", 9999);
        let other = made(parent.path(), "other", 9999);
        let locked = lock(&used).unwrap();
        let scratch = Scratch::new(parent.path(), ".build-").unwrap();
        let there = [&left, &new, &used, &other].map(|path| path.exists());
        assert_eq!(there, [false, true, true, true]);
        File::open(scratch.path()).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        drop(locked);
        let second = Scratch::new(parent.path(), ".build-").unwrap();
        assert!(!used.exists() && scratch.path().exists());
        let paths = [scratch.path().to_owned(), second.path().to_owned()];
        drop(scratch);
        assert_eq!(paths.each_ref().map(|path| path.exists()), [false, true]);
    }
}
