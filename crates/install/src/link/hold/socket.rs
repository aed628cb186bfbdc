//! A raw socket with a program that says what it keeps (packet(7)).

use super::entry::Entry;
use nix::errno::Errno;
use nix::libc;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The kernel counts the whole of a filter as memory of its socket, which may have `net.core.optmem_max` bytes, 128 KiB, for the one that goes
/// and the one that comes together (`__sk_attach_prog`, net/core/filter.c). So the socket's own is always the same small program, which goes
/// on with the one in the entry.
#[derive(Debug)]
pub(in crate::link) struct Socket {
    socket: OwnedFd,
    entry: Entry,
}

impl Socket {
    /// One that gets nothing: it is for no protocol, and there is no program yet.
    pub(in crate::link) fn open() -> Result<Socket, Errno> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes no pointers.
        let socket = Errno::result(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: a descriptor that the kernel has just made, and nobody else has.
        let socket = Socket { socket: unsafe { OwnedFd::from_raw_fd(socket) }, entry: Entry::of_filter()? };
        socket.set(libc::SOL_SOCKET, libc::SO_ATTACH_BPF, socket.entry.first()?.as_raw_fd())?;
        socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        // A burst should fit in. Whoever may not have as much as that has what the system allows.
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, ROOM);
        Ok(socket)
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> Result<(), Errno> {
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the value is as long as is said.
        let result = unsafe {
            libc::setsockopt(self.socket.as_raw_fd(), level, option, (&raw const value).cast(), size)
        };
        Errno::result(result).map(drop)
    }

    pub(in crate::link) fn bind(&self, index: u32) -> Result<(), Errno> {
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
            sll_ifindex: i32::try_from(index).map_err(|_| Errno::ENODEV)?,
            // SAFETY: a structure of integers.
            ..unsafe { std::mem::zeroed() }
        };
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is as long as is said.
        let result = unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), size) };
        Errno::result(result).map(drop)
    }

    pub(in crate::link) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(in crate::link) fn replace(&self, program: BorrowedFd<'_>) -> Result<(), Errno> {
        self.entry.put(program)
    }

    /// Nothing comes in any more, while what has come in can be read.
    pub(in crate::link) fn detach(&self) -> Result<(), Errno> {
        self.entry.detach()
    }

    /// The socket of an interface that is gone is bound to none (`packet_notifier`, net/packet/af_packet.c).
    pub(in crate::link) fn is_attached(&self) -> bool {
        // SAFETY: a structure of integers, which the kernel fills in.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is writable and as long as is said.
        let result =
            unsafe { libc::getsockname(self.socket.as_raw_fd(), (&raw mut address).cast(), &raw mut size) };
        result == 0 && address.sll_ifindex > 0
    }
}

/// Bytes of frames that wait to be read, with what the kernel needs for each.
const ROOM: libc::c_int = 16 << 20;
