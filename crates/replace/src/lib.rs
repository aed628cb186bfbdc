//! Files that are written beside the one that they replace, and take its place when they are complete.
//!
//! Whoever reads the file, and whoever finds it after a full disk or the end of the machine, sees the old content or the new one. Where the
//! file system can do it, the new one has no name until it is complete (`O_TMPFILE`, open(2)): nothing is left of it after a signal.

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file that is being written. Dropped without [`Replacement::finish`], it leaves what was there before.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    meanwhile: Meanwhile,
    target: PathBuf,
}

/// Where the content is until it is complete.
#[derive(Debug)]
enum Meanwhile {
    /// Where it belongs.
    There,
    /// In a file without a name, of the same folder.
    Unnamed,
    /// In a file beside the other one.
    Beside(PathBuf),
}

/// Names that are tried for the file beside.
const ATTEMPTS: u32 = 100;

impl Replacement {
    /// Begins a file for `path`, which is empty if it is new. What is no regular file, such as a pipe, is written to directly: it
    /// has no content to be replaced.
    ///
    /// # Errors
    /// As of `open(2)`, about `path` or its folder.
    pub fn of(path: &Path) -> io::Result<Replacement> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                // Who may not write the file may not replace it either, though the folder would allow it.
                drop(OpenOptions::new().write(true).open(path)?);
                let begun = Replacement::beside(fs::canonicalize(path)?)?;
                begun.file.set_permissions(metadata.permissions())?;
                Ok(begun)
            }
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(path)?;
                Ok(Replacement { file, meanwhile: Meanwhile::There, target: path.to_owned() })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // A link that leads nowhere: its target is what is made.
                let target = fs::read_link(path).map(|target| path.with_file_name("").join(target));
                Replacement::beside(target.unwrap_or_else(|_| path.to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    fn beside(target: PathBuf) -> io::Result<Replacement> {
        if let Ok(file) = unnamed(folder_of(&target)) {
            return Ok(Replacement { file, meanwhile: Meanwhile::Unnamed, target });
        }
        let make = |beside: &Path| OpenOptions::new().write(true).create_new(true).mode(0o666).open(beside);
        let (file, beside) = under_free_name(&target, make)?;
        Ok(Replacement { file, meanwhile: Meanwhile::Beside(beside), target })
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// As of `fsync(2)`, `linkat(2)` and `rename(2)`; what was there before is there still.
    pub fn finish(self) -> io::Result<()> {
        finish_all(vec![self])
    }

    /// Writes what the file has to the disk, and gives it a name beside the other one.
    fn complete(&mut self) -> io::Result<()> {
        if let Meanwhile::There = self.meanwhile {
            return self.file.flush();
        }
        self.file.sync_all()?;
        if let Meanwhile::Unnamed = self.meanwhile {
            let open = own_name(&self.file);
            let link = |beside: &Path| {
                Ok(nix::unistd::linkat(
                    AT_FDCWD,
                    open.as_str(),
                    AT_FDCWD,
                    beside,
                    AtFlags::AT_SYMLINK_FOLLOW,
                )?)
            };
            let ((), beside) = under_free_name(&self.target, link)?;
            self.meanwhile = Meanwhile::Beside(beside);
        }
        Ok(())
    }

    fn put(&mut self) -> io::Result<()> {
        if let Meanwhile::Beside(beside) = &self.meanwhile {
            fs::rename(beside, &self.target)?;
            self.meanwhile = Meanwhile::There;
        }
        Ok(())
    }
}

/// Puts files in their places that belong together, one directly behind the other.
///
/// # Errors
/// As of [`Replacement::finish`]. Only where a name cannot be changed although the file beside it could be made, some may be new.
pub fn finish_all(mut files: Vec<Replacement>) -> io::Result<()> {
    files.iter_mut().try_for_each(Replacement::complete)?;
    files.iter_mut().try_for_each(Replacement::put)?;
    for file in &files {
        // The name is on disk when the folder is. Not every file system can be asked for that.
        let _ = File::open(folder_of(&file.target)).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

fn folder_of(target: &Path) -> &Path {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// What leads to an open file that has no name.
fn own_name(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// A file without a name, which can get one.
fn unnamed(folder: &Path) -> io::Result<File> {
    let file =
        OpenOptions::new().write(true).mode(0o666).custom_flags(OFlag::O_TMPFILE.bits()).open(folder)?;
    fs::metadata(own_name(&file))?;
    Ok(file)
}

/// Does something with a name in the target's folder that nothing has; gives the name, too.
fn under_free_name<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, PathBuf)> {
    let name = target.file_name().ok_or(ErrorKind::IsADirectory)?.to_string_lossy().into_owned();
    for number in 0..ATTEMPTS {
        let beside = target.with_file_name(format!(".{name}.{}-{number}.new", std::process::id()));
        match make(&beside) {
            Ok(made) => return Ok((made, beside)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Meanwhile::Beside(beside) = &self.meanwhile {
            let _ = fs::remove_file(beside);
        }
    }
}

/// Puts a file with these bytes at `path`, whole or not at all.
///
/// # Errors
/// As of [`Replacement`].
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacement::of(path)?;
    file.write_all(bytes)?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_not_finished_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let mut begun = Replacement::of(&path).unwrap();
        begun.write_all(b"half of the n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(begun);
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"old".to_vec(), vec!["a".to_string()])
        );
    }

    #[test]
    fn nothing_is_seen_of_what_is_not_complete() {
        let folder = tempfile::tempdir().unwrap();
        let mut begun = Replacement::of(&folder.path().join("a")).unwrap();
        begun.write_all(b"half").unwrap();
        // Where the file system can do it, which that of this test may not.
        if let Meanwhile::Unnamed = begun.meanwhile {
            assert_eq!(names(folder.path()), Vec::<String>::new());
        }
        begun.finish().unwrap();
        assert_eq!(names(folder.path()), ["a"]);
        let (_, name) = under_free_name(&folder.path().join("b"), |name| fs::write(name, "")).unwrap();
        let (_, other) = under_free_name(&folder.path().join("b"), |name| {
            OpenOptions::new().write(true).create_new(true).open(name)
        })
        .unwrap();
        assert_ne!(name, other);
    }

    #[test]
    fn the_new_file_is_what_the_old_one_was() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("a", &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        replace_file(&folder.path().join("b"), b"b").unwrap();
        symlink("c", folder.path().join("nowhere")).unwrap();
        replace_file(&folder.path().join("nowhere"), b"c").unwrap();
        assert_eq!(names(folder.path()), ["a", "b", "c", "link", "nowhere"]);
    }

    #[test]
    fn pipes_and_devices_are_written_to() {
        replace_file(Path::new("/dev/null"), b"x").unwrap();
        assert_eq!(replace_file(Path::new("/dev/full"), b"x").unwrap_err().kind(), ErrorKind::StorageFull);
        assert!(replace_file(Path::new("/"), b"x").is_err());
        assert!(replace_file(Path::new("/absent/x"), b"x").is_err());
    }
}
