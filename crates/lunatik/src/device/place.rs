//! Where a device is seen: a file that is made for it, with a FUSE file mounted over it.
//!
//! The file is marked, and locked while its process lives: so what a killed process has left behind is found, and nothing else is taken for that. The mark
//! is a mode that no other file has while the file may be seen for a moment (it is empty then), and a text while it is mounted over.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::protocol::LARGEST;

/// The mode of such a file that is not mounted over: that of a folder like /tmp, without permissions.
const UNMOUNTED: u32 = 0o1000;

/// What such a file begins with when it is. Who sees it is in another mount namespace than the process.
const MARK: &str = "moonhook's device: it is mounted here by process ";

/// The type of such mounts, behind `fuse.`.
const KIND: &str = "moonhook";

/// A file of our own.
pub(super) struct Place {
    path: PathBuf,
    file: Flock<File>,
}

impl Place {
    /// Makes a file with that name in a folder, or again, where a process that is dead has left its own.
    ///
    /// # Errors
    /// `EINVAL` for names that are no file's in that folder; `EEXIST`; those of making files.
    pub fn take(folder: &Path, name: &[u8]) -> nix::Result<Place> {
        if matches!(name, b"" | b"." | b"..") || name.iter().any(|byte| matches!(byte, b'/' | 0)) {
            return Err(Errno::EINVAL);
        }
        let path = folder.join(OsStr::from_bytes(name));
        match Place::make(&path) {
            Err(Errno::EEXIST) => {
                remove_dead(&path)?;
                Place::make(&path)
            }
            made => made,
        }
    }

    fn make(path: &Path) -> nix::Result<Place> {
        let mut options = OpenOptions::new();
        let made = options.read(true).write(true).create_new(true).mode(UNMOUNTED).open(path);
        // Somebody may take it for a dead one's before it is locked, and has removed it then.
        match Flock::lock(made.map_err(number)?, FlockArg::LockExclusiveNonblock) {
            Ok(file) if is_at(path, &file) => Ok(Place { path: path.to_path_buf(), file }),
            _ => Err(Errno::EEXIST),
        }
    }

    /// Mounts over it what is served at `fuse`, which /dev/fuse was opened as.
    ///
    /// # Errors
    /// Those of mount(2): `EPERM` for who may not.
    pub fn mount(&self, fuse: &OwnedFd) -> nix::Result<()> {
        let descriptor = fuse.as_raw_fd();
        let options = format!(
            "fd={descriptor},rootmode={:o},user_id=0,group_id=0,allow_other,default_permissions,max_read={LARGEST}",
            libc::S_IFREG
        );
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_NOATIME;
        let kind = format!("fuse.{KIND}");
        mount(Some(KIND), &self.path, Some(kind.as_str()), flags, Some(options.as_str()))?;
        // Without text it is still marked.
        let _ = writeln!(&*self.file, "{MARK}{}", std::process::id());
        let _ = self.file.set_permissions(PermissionsExt::from_mode(0o400));
        Ok(())
    }

    /// Takes away what is mounted, if it is, and the file; what is open stays so.
    pub fn leave(&self) {
        let _ = self.file.set_permissions(PermissionsExt::from_mode(UNMOUNTED));
        let _ = self.file.set_len(0);
        // Somebody may have done so.
        let _ = umount2(&self.path, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW);
        remove(&self.path, &self.file);
    }
}

/// Opens the kernel's door for who serves files.
pub(super) fn fuse() -> nix::Result<OwnedFd> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/fuse");
    match opened.map_err(number) {
        Ok(file) => Ok(file.into()),
        // The kernel has no FUSE.
        Err(Errno::ENOENT) => Err(Errno::ENODEV),
        Err(error) => Err(error),
    }
}

fn number(error: std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// Whether it is this file that is at a path.
fn is_at(path: &Path, file: &File) -> bool {
    let (Ok(own), Ok(there)) = (file.metadata(), path.symlink_metadata()) else { return false };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

/// Removes the file at a path, if that is this one.
fn remove(path: &Path, file: &File) {
    if is_at(path, file) {
        // A mount over it that is not ours keeps it.
        let _ = std::fs::remove_file(path);
    }
}

/// Removes what a process that is dead has left at a path.
///
/// # Errors
/// `EEXIST` if there is anything else.
fn remove_dead(path: &Path) -> nix::Result<()> {
    if is_mounted(path) {
        // A dead one's mount says so; those that live say what their process tells.
        match path.symlink_metadata().map_err(number) {
            Err(Errno::ENOTCONN) => umount2(path, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW)?,
            _ => return Err(Errno::EEXIST),
        }
        if is_mounted(path) {
            return Err(Errno::EEXIST);
        }
    }
    let there = path.symlink_metadata().map_err(number)?;
    if !there.is_file()
        || there.uid() != nix::unistd::geteuid().as_raw()
        || there.len() > MARK.len() as u64 + 16
    {
        return Err(Errno::EEXIST);
    }
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    let mut file = match Flock::lock(opened.map_err(number)?, FlockArg::LockExclusiveNonblock) {
        Ok(file) => file,
        // Its process lives.
        Err(_) => return Err(Errno::EEXIST),
    };
    let there = file.metadata().map_err(number)?;
    let mut text = Vec::new();
    (&mut *file).take(MARK.len() as u64).read_to_end(&mut text).map_err(number)?;
    let is_new = text.is_empty() && there.mode() & 0o7777 == UNMOUNTED;
    if !is_new && text != MARK.as_bytes() {
        return Err(Errno::EEXIST);
    }
    remove(path, &file);
    Ok(())
}

/// Whether something of ours is mounted at a path, as this process sees it (proc_pid_mountinfo(5)).
fn is_mounted(path: &Path) -> bool {
    let Ok(mounts) = std::fs::read("/proc/self/mountinfo") else { return false };
    mounts.split(|byte| *byte == b'\n').any(|line| {
        let fields: Vec<_> = line.split(|byte| *byte == b' ').collect();
        let kind = fields.iter().position(|field| *field == b"-").and_then(|at| fields.get(at + 1));
        let is_ours = kind.is_some_and(|kind| *kind == format!("fuse.{KIND}").as_bytes());
        is_ours && fields.get(4).is_some_and(|point| plain(point) == path)
    })
}

/// A path out of that file, where spaces and a few other bytes stand as three octal digits.
fn plain(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((first, more)) = rest.split_first() {
        let octal =
            more.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[3..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_files_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let take = |name: &[u8]| Place::take(folder.path(), name).map(drop);
        for name in [b"".as_slice(), b".", b"..", b"a/b", b"../x", b"/x", b"a\0b"] {
            assert_eq!(take(name), Err(Errno::EINVAL), "{name:?}");
        }
        assert_eq!(take(&[b'n'; 300]), Err(Errno::ENAMETOOLONG));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("empty", ""), ("text", "moonhook"), ("own", "moonhook's device: not quite")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        for name in ["empty", "text", "own", "link", "folder"] {
            assert_eq!(Place::take(folder.path(), name.as_bytes()).err(), Some(Errno::EEXIST), "{name}");
        }
    }

    #[test]
    fn a_place_is_taken_once_and_again_when_its_process_is_dead() {
        let folder = tempfile::tempdir().unwrap();
        let first = Place::take(folder.path(), b"it").unwrap();
        assert_eq!(Place::take(folder.path(), b"it").err(), Some(Errno::EEXIST));
        // The lock goes with the process; the file stays.
        drop(first);
        let second = Place::take(folder.path(), b"it").unwrap();
        second.leave();
        assert!(!folder.path().join("it").exists());
        std::fs::write(folder.path().join("it"), format!("{MARK}1\n")).unwrap();
        assert!(Place::take(folder.path(), b"it").is_ok());
    }

    #[test]
    fn paths_of_mounts_are_read() {
        assert_eq!(plain(b"/dev/a\\040b\\134c"), PathBuf::from("/dev/a b\\c"));
        assert_eq!(plain(b"/dev/\\04"), PathBuf::from("/dev/\\04"));
    }
}
