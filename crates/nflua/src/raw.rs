//! Sockets that packets are sent by as they are, with their IP headers (raw(7)), in the network namespace of the thread that opens them.

use crate::{datagram, segment};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn, SockaddrIn6, SockaddrLike, sendto,
};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// One for each version of IP, where the system has it.
#[derive(Debug)]
pub struct RawSockets {
    v4: Option<OwnedFd>,
    v6: Option<OwnedFd>,
}

impl RawSockets {
    pub fn open() -> RawSockets {
        RawSockets { v4: open(AddressFamily::Inet).ok(), v6: open(AddressFamily::Inet6).ok() }
    }

    /// Answers a segment of TCP, which has `length` bytes and begins with `head`, with these bytes; says whether that was sent.
    pub fn reply(&self, head: &[u8], length: usize, message: &[u8]) -> bool {
        segment::reply(head, length, message).is_some_and(|answer| self.send(&answer).is_ok())
    }

    /// The same of a datagram of UDP.
    pub fn reply_datagram(&self, head: &[u8], length: usize, message: &[u8]) -> bool {
        datagram::reply(head, length, message).is_some_and(|answer| self.send(&answer).is_ok())
    }

    /// Sends a packet on to where it is for; says whether that was sent.
    pub fn forward(&self, packet: &[u8]) -> bool {
        self.send(&datagram::completed(packet)).is_ok()
    }

    fn send(&self, packet: &[u8]) -> Result<(), Errno> {
        match packet.first().map(|byte| byte >> 4) {
            Some(4) => {
                let to: [u8; 4] = *packet.get(16..20).and_then(<[u8]>::first_chunk).ok_or(Errno::EINVAL)?;
                let to = SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::from(to), 0));
                send(self.v4.as_ref(), packet, &to)
            }
            _ => {
                let to: [u8; 16] = *packet.get(24..40).and_then(<[u8]>::first_chunk).ok_or(Errno::EINVAL)?;
                let to = SockaddrIn6::from(SocketAddrV6::new(Ipv6Addr::from(to), 0, 0, 0));
                send(self.v6.as_ref(), packet, &to)
            }
        }
    }
}

fn send(socket: Option<&OwnedFd>, packet: &[u8], to: &dyn SockaddrLike) -> Result<(), Errno> {
    let socket = socket.ok_or(Errno::EAFNOSUPPORT)?;
    sendto(socket.as_raw_fd(), packet, to, MsgFlags::MSG_DONTWAIT).map(drop)
}

/// `IPPROTO_RAW` means that packets have their headers.
fn open(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let kind = SockType::Raw as i32 | SockFlag::SOCK_CLOEXEC.bits();
    // SAFETY: takes no pointers.
    let socket = unsafe { libc::socket(family as i32, kind, libc::IPPROTO_RAW) };
    // SAFETY: the descriptor is new, and nobody else's.
    Errno::result(socket).map(|socket| unsafe { OwnedFd::from_raw_fd(socket) })
}
