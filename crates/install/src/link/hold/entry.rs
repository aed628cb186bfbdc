//! A program in an array, where programs that go on with it find it.

use crate::pin::unpin;
use crate::sys;
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

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
