//! Calls of the system on sockets of any family, with addresses as the kernel has them.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;

/// Bytes of a `struct sockaddr` of any family.
pub(crate) type Address = Vec<u8>;

/// A socket that does not block.
pub(crate) fn socket(family: i32, kind: i32, protocol: i32) -> nix::Result<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is given; the descriptor that comes back is nobody else's.
    unsafe { Errno::result(libc::socket(family, kind | flags, protocol)).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

pub(crate) fn accept(socket: BorrowedFd<'_>) -> nix::Result<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let (null, none) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: no address is wanted; the descriptor that comes back is nobody else's.
    unsafe {
        Errno::result(libc::accept4(socket.as_raw_fd(), null, none, flags)).map(|fd| OwnedFd::from_raw_fd(fd))
    }
}

pub(crate) fn bind(socket: BorrowedFd<'_>, address: &Address) -> nix::Result<()> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: the address is as long as is said.
    unsafe { Errno::result(libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), length)).map(drop) }
}

pub(crate) fn connect(socket: BorrowedFd<'_>, address: &Address) -> nix::Result<()> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: the address is as long as is said.
    unsafe { Errno::result(libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length)).map(drop) }
}

pub(crate) fn listen(socket: BorrowedFd<'_>, backlog: i32) -> nix::Result<()> {
    // SAFETY: no memory is given.
    unsafe { Errno::result(libc::listen(socket.as_raw_fd(), backlog)).map(drop) }
}

pub(crate) fn shutdown(socket: BorrowedFd<'_>) {
    // SAFETY: no memory is given. A socket that is not connected has nothing to be shut down.
    unsafe {
        libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR);
    }
}

/// Sends what it takes at once; gives how many bytes.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8], address: Option<&Address>) -> nix::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    let (to, length) = address.map_or((std::ptr::null(), 0), |address| (address.as_ptr(), address.len()));
    // SAFETY: bytes and address are as long as is said.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            flags,
            to.cast(),
            length as libc::socklen_t,
        )
    };
    Errno::result(sent).map(|sent| sent as usize)
}

/// Receives what is there, up to the buffer's length; gives how many bytes, and who has sent them.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    flags: i32,
) -> nix::Result<(usize, Address)> {
    let (mut address, mut length) = room();
    let flags = flags | libc::MSG_DONTWAIT;
    // SAFETY: buffer and address are as long as is said.
    let received = unsafe {
        let (to, from) = (buffer.as_mut_ptr().cast(), address.as_mut_ptr().cast());
        libc::recvfrom(socket.as_raw_fd(), to, buffer.len(), flags, from, &raw mut length)
    };
    let received = Errno::result(received)? as usize;
    address.truncate(length as usize);
    // With `MSG_TRUNC` it says how long the message is.
    Ok((received.min(buffer.len()), address))
}

fn room() -> (Address, libc::socklen_t) {
    let room = size_of::<libc::sockaddr_storage>();
    (vec![0; room], room as libc::socklen_t)
}

pub(crate) fn name(socket: BorrowedFd<'_>, of_peer: bool) -> nix::Result<Address> {
    let (mut address, mut length) = room();
    let get = if of_peer { libc::getpeername } else { libc::getsockname };
    // SAFETY: the address is as long as is said.
    Errno::result(unsafe { get(socket.as_raw_fd(), address.as_mut_ptr().cast(), &raw mut length) })?;
    address.truncate(length as usize);
    Ok(address)
}

pub(crate) fn set_option(socket: BorrowedFd<'_>, level: i32, name: i32, value: &[u8]) -> nix::Result<()> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: the value is as long as is said.
    Errno::result(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast(), length) })
        .map(drop)
}

/// The socket's error, which is none behind that.
pub(crate) fn take_error(socket: BorrowedFd<'_>) -> nix::Result<()> {
    let mut error = [0; 4];
    option(socket, libc::SO_ERROR, &mut error)?;
    match i32::from_ne_bytes(error) {
        0 => Ok(()),
        error => Err(Errno::from_raw(error)),
    }
}

/// What a script has set as the longest wait: of `SO_RCVTIMEO` or `SO_SNDTIMEO`.
pub(crate) fn time_limit(socket: BorrowedFd<'_>, name: i32) -> Option<std::time::Duration> {
    let mut time = [0; 16];
    option(socket, name, &mut time).ok()?;
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&time[at..at + 8]);
        i64::from_ne_bytes(bytes)
    };
    let (seconds, micros) = (u64::try_from(number(0)).ok()?, u64::try_from(number(8)).ok()?);
    let time = std::time::Duration::from_secs(seconds) + std::time::Duration::from_micros(micros);
    (!time.is_zero()).then_some(time)
}

fn option(socket: BorrowedFd<'_>, name: i32, value: &mut [u8]) -> nix::Result<()> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the value is as long as is said.
    let got = unsafe {
        let value = value.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, value, &raw mut length)
    };
    Errno::result(got).map(drop)
}
