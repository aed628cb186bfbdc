//! What `build` writes: the object, and for a library the header beside it; both, or nothing.

use super::{header, refuse_overwriting};
use crate::CliError;
use moonhook_load::Loaded;
use moonhook_replace::Replacement;
use moonhook_session::SessionError;
use moonhook_snapshot::identifier;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a header, of which the first line is one part.
const LONGEST_TITLE: u64 = 16 << 10;

/// The name of the library in that object: what all its own symbols begin with.
pub fn name(object: &Path) -> String {
    identifier(&header::path(object))
}

/// The header's path. What is no file, such as `/dev/null`, has none.
///
/// # Errors
/// `Unwritten` if another file is there; `Unreadable`.
pub fn header_of(object: &Path) -> Result<Option<PathBuf>, CliError> {
    if fs::metadata(object).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(None);
    }
    let refused = |path: &Path, problem: &str| {
        Err(CliError::Unwritten { path: path.to_path_buf(), source: io::Error::other(problem) })
    };
    if object.extension().is_some_and(|extension| extension == "h") {
        return refused(object, "the header beside the object has such a name");
    }
    let path = header::path(object);
    match fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => refused(&path, "it is no file"),
        Ok(_) if !begins_as_ours(&path)? => refused(&path, "it is there, and no header of a library"),
        _ => Ok(Some(path)),
    }
}

fn begins_as_ours(path: &Path) -> Result<bool, CliError> {
    let mut text = Vec::new();
    let unreadable = |source| CliError::Unreadable { path: path.to_path_buf(), source };
    fs::File::open(path)
        .and_then(|file| file.take(LONGEST_TITLE).read_to_end(&mut text))
        .map_err(unreadable)?;
    Ok(header::is_ours(&String::from_utf8_lossy(&text)))
}

/// Writes the object, and the header if there is one: without it, or with another one, the object of a library is of no use.
///
/// # Errors
/// As of `open(2)` and `write(2)`; what was there is there still.
pub fn write(loaded: &Loaded, (object, elf): (&Path, &[u8]), header: Option<&Path>) -> Result<(), CliError> {
    let written = |path: &Path, bytes: &[u8]| -> io::Result<Replacement> {
        let mut file = Replacement::of(path)?;
        file.write_all(bytes)?;
        Ok(file)
    };
    refuse_overwriting(&loaded.files, object)?;
    let mut files = Vec::new();
    if let Some(path) = header {
        refuse_overwriting(&loaded.files, path)?;
        let text = header::text(&loaded.snapshot, object);
        files.push(written(path, text.as_bytes()).map_err(unwritable(path))?);
    }
    files.push(written(object, elf).map_err(unwritable(object))?);
    moonhook_replace::finish_all(files).map_err(unwritable(object))
}

fn unwritable(path: &Path) -> impl Fn(io::Error) -> CliError + '_ {
    |source| SessionError::Unwritable { path: path.to_path_buf(), source }.into()
}
