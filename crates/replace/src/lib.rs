//! Files that are written beside the one that they replace, and take its place when they are complete.
//!
//! Whoever reads the file, and whoever finds it after a full disk or the end of the machine, sees the old content or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file that is being written. Dropped without [`Replacement::finish`], it leaves what was there before.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    /// Where the content is meanwhile; `None` if it goes where it belongs at once.
    beside: Option<PathBuf>,
    target: PathBuf,
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
                Ok(Replacement { file, beside: None, target: path.to_owned() })
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
        let name = target.file_name().ok_or(ErrorKind::IsADirectory)?.to_string_lossy().into_owned();
        for number in 0..ATTEMPTS {
            let beside = target.with_file_name(format!(".{name}.{}-{number}.new", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o666).open(&beside) {
                Ok(file) => return Ok(Replacement { file, beside: Some(beside), target }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// As of `fsync(2)` and `rename(2)`; what was there before is there still.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(beside) = &self.beside else { return self.file.flush() };
        self.file.sync_all()?;
        fs::rename(beside, &self.target)?;
        self.beside = None;
        // The name is on disk when the folder is. Not every file system can be asked for that.
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        Ok(())
    }
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
        if let Some(beside) = &self.beside {
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
