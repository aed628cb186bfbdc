//! Reading the frames that a raw socket keeps (packet(7)).

use crate::InstallError;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// A frame that a filter has kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFrame {
    /// From the Ethernet header on. A VLAN tag that the kernel has taken out is in its place again.
    pub bytes: Vec<u8>,
    /// Nanoseconds since 1970 when it came in or went out.
    pub time: u64,
}

/// Where frames come from that this process is to see.
pub trait FrameSource: Send {
    /// The next frame, for which it waits as long as `timeout`.
    ///
    /// # Errors
    /// `MapAccess` with what the socket says.
    fn next(&mut self, timeout: Duration) -> Result<Option<KeptFrame>, InstallError>;

    /// Frames that found no room since the last time that this was asked.
    fn lost(&mut self) -> u64;
}

/// The reader of a socket's frames.
#[derive(Debug)]
pub struct Frames {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// The longest frame: 64 KiB, or what the kernel puts together of segments (`GSO_MAX_SIZE`), with headers.
const LONGEST: usize = (512 << 10) + 256;

/// Where the type is in an Ethernet header, and a VLAN tag in front of it.
const TYPE: usize = 12;

impl Frames {
    /// Of such a socket.
    pub(super) fn of(socket: OwnedFd) -> Frames {
        Frames { socket, buffer: vec![0; LONGEST] }
    }

    fn receive(&mut self) -> Result<KeptFrame, Errno> {
        let mut part = libc::iovec { iov_base: self.buffer.as_mut_ptr().cast(), iov_len: self.buffer.len() };
        let mut control = MaybeUninit::<[u64; 32]>::uninit();
        // SAFETY: integers and pointers, of which none is followed before it is set.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        // SAFETY: the buffers are writable, as long as is said, and live through the call.
        let length =
            Errno::result(unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, 0) })? as usize;
        let mut bytes = self.buffer[..length.min(self.buffer.len())].to_vec();
        // SAFETY: the kernel has filled in what `message` says that there is.
        let (time, tag) = unsafe { beside(&message) };
        if let Some(tag) = tag.filter(|_| bytes.len() >= TYPE) {
            bytes.splice(TYPE..TYPE, tag);
        }
        Ok(KeptFrame { bytes, time })
    }
}

impl FrameSource for Frames {
    /// What comes of the interface's end is no frame.
    fn next(&mut self, timeout: Duration) -> Result<Option<KeptFrame>, InstallError> {
        match self.receive() {
            Ok(frame) => return Ok(Some(frame)),
            Err(Errno::EAGAIN) if timeout.is_zero() => return Ok(None),
            Err(Errno::EAGAIN) => {}
            Err(errno) => return passing(errno),
        }
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) | Err(Errno::EINTR) => Ok(None),
            Ok(_) => self.receive().map(Some).or_else(passing),
            Err(errno) => passing(errno),
        }
    }

    /// `PACKET_STATISTICS`.
    fn lost(&mut self) -> u64 {
        // SAFETY: two integers.
        let mut counts: libc::tpacket_stats = unsafe { zeroed() };
        let mut size = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the kernel writes as many bytes as is said.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &raw mut size,
            )
        };
        if result == 0 { counts.tp_drops.into() } else { 0 }
    }
}

/// What does not end a reader: an interface that goes down or away, of which others tell.
fn passing(errno: Errno) -> Result<Option<KeptFrame>, InstallError> {
    match errno {
        Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN | Errno::ENXIO => Ok(None),
        errno => Err(InstallError::MapAccess { map: "socket".to_string(), problem: errno.to_string() }),
    }
}

/// What the kernel says beside a frame: when it came, and the VLAN tag that it has taken out of it.
///
/// # Safety
/// `message` is one that `recvmsg` has filled in.
unsafe fn beside(message: &libc::msghdr) -> (u64, Option<[u8; 4]>) {
    let (mut time, mut tag) = (0, None);
    // SAFETY: the caller's promise; data of each kind are as long as their structure.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = at.as_ref() {
            let data = libc::CMSG_DATA(header);
            match (header.cmsg_level, header.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let stamp: libc::timespec = data.cast::<libc::timespec>().read_unaligned();
                    time = stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64;
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    let found: libc::tpacket_auxdata = data.cast::<libc::tpacket_auxdata>().read_unaligned();
                    if found.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                        let [a, b] = found.tp_vlan_tpid.to_be_bytes();
                        let [c, d] = found.tp_vlan_tci.to_be_bytes();
                        tag = Some([a, b, c, d]);
                    }
                }
                _ => {}
            }
            at = libc::CMSG_NXTHDR(message, at);
        }
    }
    (time, tag)
}
