//! A program in an array, where programs that go on with it find it.

use crate::pin::{failed, pin, unpin};
use crate::{InstallError, instructions, sys};
use libbpf_sys::{BPF_MAP_TYPE_PROG_ARRAY, BPF_PROG_TYPE_SOCKET_FILTER};
use nix::errno::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the kernel may take to let go of a program whose pin is gone: what has read the pin's inode ends first (`bpf_free_inode`,
/// kernel/bpf/inode.c).
const GONE: Duration = Duration::from_millis(300);
const NAP: Duration = Duration::from_millis(5);

/// An array with the program.
#[derive(Debug)]
pub(in crate::link) struct Entry {
    array: OwnedFd,
    /// Where what goes on with it is pinned for as long as the process runs; `None` where that is another one's business.
    pinned: Option<PathBuf>,
}

impl Entry {
    pub(in crate::link) fn new(array: OwnedFd, pinned: Option<PathBuf>) -> Entry {
        Entry { array, pinned }
    }

    /// An empty one for programs that look at what sockets and rules are given.
    pub(in crate::link) fn of_filter() -> Result<Entry, Errno> {
        Ok(Entry::new(sys::map_create(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0)?, None))
    }

    /// A program that goes on with the one that is there, and gives 0 where there is none.
    pub(in crate::link) fn first(&self) -> Result<OwnedFd, Errno> {
        let code = instructions::going_on(self.array.as_raw_fd());
        sys::program_load(BPF_PROG_TYPE_SOCKET_FILTER, 0, c"moonhook_first", &code)
    }

    /// Where what goes on with it is pinned from now on.
    pub(in crate::link) fn pinned_at(self, path: PathBuf) -> Entry {
        Entry { pinned: Some(path), ..self }
    }

    /// Puts a program there, whatever is.
    pub(in crate::link) fn put(&self, program: BorrowedFd<'_>) -> Result<(), Errno> {
        sys::set_program(self.array.as_fd(), program)
    }

    pub(in crate::link) fn as_fd(&self) -> BorrowedFd<'_> {
        self.array.as_fd()
    }

    pub(in crate::link) fn program(&self) -> Result<u32, Errno> {
        sys::program_in(self.array.as_fd())
    }

    pub(in crate::link) fn replace(
        &self,
        program: BorrowedFd<'_>,
        before: Option<BorrowedFd<'_>>,
    ) -> Result<(), Errno> {
        if let Some(before) = before
            && self.program() != Ok(sys::program_info(before)?.id)
        {
            return Err(Errno::EPERM);
        }
        self.put(program)
    }

    /// Where what goes on with it is pinned.
    pub(in crate::link) fn pinned(&self) -> Option<&Path> {
        self.pinned.as_deref()
    }

    /// From now on the pin is nobody's business.
    pub(in crate::link) fn leave_pinned(&mut self) {
        self.pinned = None;
    }

    /// Rules that are left find no packet any more.
    pub(in crate::link) fn detach(&self) -> Result<(), Errno> {
        if let Some(path) = &self.pinned {
            let _ = unpin(path);
            // Others may have pins beside it.
            let _ = path.parent().map(std::fs::remove_dir);
        }
        match sys::remove_program(self.array.as_fd()) {
            Err(errno) if errno != Errno::ENOENT => Err(errno),
            _ => Ok(()),
        }
    }
}

/// Takes pins away, but for those of which somebody has what was pinned: they are there again. Gives of each whether it is gone. Meanwhile `other` is there, a program
/// that finds nothing: who loads rules anew finds one in any case. However many there are, that takes as long as for one.
///
/// # Errors
/// The first that something failed of; the others are seen to.
pub(in crate::link) fn release(paths: &[&Path], other: BorrowedFd<'_>) -> Result<Vec<bool>, InstallError> {
    let taken: Vec<_> = paths.iter().map(|path| take(path, other)).collect();
    let numbers = || taken.iter().flatten().copied().flatten();
    let deadline = Instant::now() + GONE;
    while Instant::now() < deadline && numbers().any(|number| sys::program_by_id(number).is_ok()) {
        sleep(NAP);
    }
    let put_back = |(path, number): (&&Path, Result<Option<u32>, InstallError>)| {
        let Some(number) = number? else { return Ok(true) };
        match sys::program_by_id(number) {
            Ok(first) => exchange(path, first.as_fd()).map(|()| false),
            Err(_) => unpin(path).map(|()| true),
        }
    };
    let outcomes: Vec<_> = paths.iter().zip(taken).map(put_back).collect();
    outcomes.into_iter().collect()
}

/// Puts `other` in the place of what is pinned, and gives the kernel's number of that; `None` where nothing is.
fn take(path: &Path, other: BorrowedFd<'_>) -> Result<Option<u32>, InstallError> {
    match sys::pinned(path).and_then(|first| sys::program_info(first.as_fd())) {
        Ok(info) => exchange(path, other).map(|()| Some(info.id)),
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(failed(path, errno)),
    }
}

/// Pins a program in the place of another one, at once.
fn exchange(path: &Path, program: BorrowedFd<'_>) -> Result<(), InstallError> {
    let mut beside = path.as_os_str().to_os_string();
    // The file system of programs takes no dots.
    beside.push("~");
    let beside = PathBuf::from(beside);
    pin(program, &beside)?;
    std::fs::rename(&beside, path)
        .map_err(|error| failed(path, Errno::from_raw(error.raw_os_error().unwrap_or(0))))
}
