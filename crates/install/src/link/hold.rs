//! What keeps a program where it is: a descriptor of the kernel's.

mod entry;
mod socket;

use crate::pin::failed;
use crate::{InstallError, pin, sys};
use libbpf_sys::bpf_link_info;
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

pub(super) use entry::{Entry, release};
pub(super) use socket::Socket;

/// What keeps a program where it is.
#[derive(Debug)]
pub(super) enum Hold {
    /// A link of the kernel's.
    Link(OwnedFd),
    Entry(Entry),
    Socket(Socket),
}

impl Hold {
    /// What was pinned at a path; `None` if nothing was.
    pub(super) fn open(path: &Path) -> Result<Option<Hold>, InstallError> {
        match sys::pinned(path) {
            Ok(map) if sys::is_map(map.as_fd()) => Ok(Some(Hold::Entry(Entry::new(map, None)))),
            Ok(link) => Ok(Some(Hold::Link(link))),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(failed(path, errno)),
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Hold::Link(link) => link.as_fd(),
            Hold::Entry(entry) => entry.as_fd(),
            Hold::Socket(socket) => socket.as_fd(),
        }
    }

    /// What the kernel says of a link; that of no kind where it is none.
    pub(super) fn info(&self) -> Result<bpf_link_info, Errno> {
        match self {
            Hold::Link(link) => sys::link_info(link.as_fd()),
            Hold::Entry(_) | Hold::Socket(_) => Ok(bpf_link_info::default()),
        }
    }

    /// The kernel's number of the program that is there, where it says so.
    pub(super) fn program(&self) -> Result<u32, Errno> {
        match self {
            Hold::Link(link) => Ok(sys::link_info(link.as_fd())?.prog_id),
            Hold::Entry(entry) => entry.program(),
            Hold::Socket(_) => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Puts a program in the place of the one that is there, `before` if that is known.
    pub(super) fn replace(
        &self,
        program: BorrowedFd<'_>,
        before: Option<BorrowedFd<'_>>,
    ) -> Result<(), Errno> {
        match self {
            Hold::Link(link) => sys::link_update(link.as_fd(), program, before),
            Hold::Entry(entry) => entry.replace(program, before),
            Hold::Socket(socket) => socket.replace(program),
        }
    }

    /// The program is there no longer when this returns.
    pub(super) fn detach(&self) -> Result<(), Errno> {
        match self {
            // Of some kinds the kernel only lets go of links that nobody has: when the descriptor is closed.
            Hold::Link(link) => match sys::link_detach(link.as_fd()) {
                Err(Errno::EOPNOTSUPP) => Ok(()),
                other => other,
            },
            Hold::Entry(entry) => entry.detach(),
            Hold::Socket(socket) => socket.detach(),
        }
    }

    /// Whether what it is attached to still exists, and nobody has detached it; `is_attached` says it of a link.
    pub(super) fn is_attached(&self, is_attached: impl Fn(&bpf_link_info) -> bool) -> bool {
        match self {
            Hold::Link(link) => sys::link_info(link.as_fd()).is_ok_and(|info| is_attached(&info)),
            Hold::Entry(entry) => entry.program().is_ok(),
            Hold::Socket(socket) => socket.is_attached(),
        }
    }

    /// Pins it in the place of what is pinned there.
    pub(super) fn replace_pin(&self, path: &Path) -> Result<(), InstallError> {
        match self {
            Hold::Link(link) => pin::replace(link.as_fd(), path),
            Hold::Entry(_) | Hold::Socket(_) => self.pin(path),
        }
    }

    pub(super) fn pin(&self, path: &Path) -> Result<(), InstallError> {
        match self {
            Hold::Link(_) | Hold::Entry(_) => pin::pin(self.as_fd(), path),
            Hold::Socket(_) => Err(InstallError::NotPinned),
        }
    }
}
