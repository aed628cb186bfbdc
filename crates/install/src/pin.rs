//! Maps that outlive the process: pinned in a BPF file system.

use crate::{InstallError, Program, sys};
use nix::errno::Errno;
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use std::fs::DirBuilder;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Makes a folder for pins, with mode 0700, if it is not there.
///
/// # Errors
/// `PinFailed`, also if it does not lie in a BPF file system.
pub fn create_pin_folder(path: &Path) -> Result<(), InstallError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| failed(path, Errno::from_raw(error.raw_os_error().unwrap_or(0))))?;
    let file_system = statfs(path).map_err(|errno| failed(path, errno))?;
    if file_system.filesystem_type() == BPF_FS_MAGIC { Ok(()) } else { Err(failed(path, Errno::EMEDIUMTYPE)) }
}

pub(crate) fn failed(path: &Path, errno: Errno) -> InstallError {
    InstallError::PinFailed { path: path.to_path_buf(), errno }
}

/// Pins what the descriptor refers to; a pin that is there gives way.
pub(crate) fn pin(object: BorrowedFd<'_>, path: &Path) -> Result<(), InstallError> {
    match sys::pin(object, path) {
        Err(Errno::EEXIST) => {
            unpin(path)?;
            sys::pin(object, path)
        }
        result => result,
    }
    .map_err(|errno| failed(path, errno))
}

/// Pins what the descriptor refers to in the place of what is pinned there: there is always one of them.
///
/// # Errors
/// `PinFailed`; what was pinned is pinned still.
pub(crate) fn replace(object: BorrowedFd<'_>, path: &Path) -> Result<(), InstallError> {
    let mut beside = path.as_os_str().to_os_string();
    // Names in a BPF file system have no dots.
    beside.push("_new");
    let beside = Path::new(&beside);
    pin(object, beside)?;
    std::fs::rename(beside, path).map_err(|error| {
        let _ = unpin(beside);
        failed(path, Errno::from_raw(error.raw_os_error().unwrap_or(0)))
    })
}

/// Removes a pin, if there is one.
///
/// # Errors
/// `PinFailed`.
pub fn unpin(path: &Path) -> Result<(), InstallError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(failed(path, Errno::from_raw(error.raw_os_error().unwrap_or(0))))
        }
        _ => Ok(()),
    }
}

impl Program {
    /// Pins a map or data section.
    ///
    /// # Errors
    /// `NoSuchItem`, `PinFailed`.
    pub fn pin_map(&self, name: &str, path: &Path) -> Result<(), InstallError> {
        pin(self.map_fd(name)?, path)
    }

    /// The kernel's number of a map or data section, which no other map gets while the machine runs.
    ///
    /// # Errors
    /// `NoSuchItem`, `MapAccess`.
    pub fn map_id(&self, name: &str) -> Result<u32, InstallError> {
        map_id(name, self.map_fd(name)?)
    }
}

fn map_id(name: &str, map: BorrowedFd<'_>) -> Result<u32, InstallError> {
    let info = sys::map_info(map);
    let problem =
        |errno: Errno| InstallError::MapAccess { map: name.to_string(), problem: errno.to_string() };
    info.map(|info| info.id).map_err(problem)
}

/// A map that was pinned.
#[derive(Debug)]
pub struct PinnedMap {
    map: OwnedFd,
    id: u32,
}

impl PinnedMap {
    /// # Errors
    /// `PinFailed`; `MapAccess` if it is no map.
    pub fn open(path: &Path) -> Result<PinnedMap, InstallError> {
        let map = sys::pinned(path).map_err(|errno| failed(path, errno))?;
        let id = map_id(&path.to_string_lossy(), map.as_fd())?;
        Ok(PinnedMap { map, id })
    }

    /// As [`Program::map_id`].
    pub fn id(&self) -> u32 {
        self.id
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

/// The bytes of a data section, by its descriptor; also of one that this process has not loaded.
///
/// # Errors
/// `MapAccess`.
pub fn section_bytes(map: BorrowedFd<'_>) -> Result<Vec<u8>, InstallError> {
    let read = sys::map_info(map).and_then(|info| match info.type_ {
        libbpf_sys::BPF_MAP_TYPE_ARRAY => sys::first_value(map, info.value_size as usize),
        _ => Err(Errno::EINVAL),
    });
    read.map_err(|errno| InstallError::MapAccess {
        map: "data section".to_string(),
        problem: errno.to_string(),
    })
}
