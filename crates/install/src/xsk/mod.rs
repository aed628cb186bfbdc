//! Sockets that XDP programs send frames to (AF_XDP, Documentation/networking/af_xdp.rst): each has one queue of one interface, memory
//! for frames, and rings by which the kernel gets memory and gives frames.
//!
//! Frames are copied where the driver cannot write them into our memory. Only receiving is here: what goes out is a matter of packet(7)
//! ([`FrameSender`](crate::FrameSender)).

mod ring;
mod socket;

use self::ring::{Mapping, Ring};
use self::socket::Parts;
use crate::link::{FrameSource, KeptFrame};
use crate::privilege::Capability;
use crate::{InstallError, Interface, netns};
use nix::errno::Errno;
use nix::libc::{self, xdp_desc};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes of memory for a frame, or for a part of one in several buffers: a page, the most that the kernel takes.
const CHUNK: u32 = 4096;
/// Frames that the kernel can have in the socket's memory at once.
const FRAMES: u32 = 2048;

/// More of the frame is in the next descriptor (`XDP_PKT_CONTD`).
const CONTINUED: u32 = 1;

/// How a socket is bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct XskMode {
    /// Frames are copied even where the driver could do without: for programs that run in generic mode.
    pub copies: bool,
    /// Frames may come in several buffers.
    pub frags: bool,
}

/// The receiving side of a socket.
#[derive(Debug)]
pub struct XskSocket {
    socket: OwnedFd,
    memory: Mapping,
    /// Gives the kernel memory: offsets of chunks.
    fill: Ring<u64>,
    /// The kernel does not bind sockets without. Nothing is sent by this one.
    _sent: Ring<u64>,
    received: Ring<xdp_desc>,
    /// What was lost when that was asked last.
    lost: u64,
}

impl XskSocket {
    /// A socket of a queue of an interface in the network namespace `netns` (`None`: the caller's).
    ///
    /// # Errors
    /// `NoQueue`, `QueueBusy`, `Privilege`; those of [`netns::within`]; `AttachFailed` for what is left.
    pub fn open(
        interface: &Interface,
        queue: u32,
        mode: XskMode,
        netns: Option<&str>,
    ) -> Result<XskSocket, InstallError> {
        let opened = netns::within(netns, || open_patiently(interface.index, queue, mode))?;
        let name = || interface.name.clone();
        let parts = opened.map_err(|errno| match errno {
            Errno::EINVAL => InstallError::NoQueue { interface: name(), queue },
            Errno::EBUSY => InstallError::QueueBusy { interface: name(), queue },
            Errno::EPERM => {
                InstallError::permission("opening an AF_XDP socket", &[Capability::NetRaw], errno)
            }
            errno => InstallError::AttachFailed { place: format!("queue {queue} of {}", name()), errno },
        })?;
        let Parts { socket, memory, mut fill, sent, received } = parts;
        let chunks: Vec<u64> = (0..FRAMES).map(|number| u64::from(number * CHUNK)).collect();
        fill.put(&chunks);
        Ok(XskSocket { socket, memory, fill, _sent: sent, received, lost: 0 })
    }

    /// A descriptor of its own for the socket, by which programs find it in maps.
    ///
    /// # Errors
    /// `AttachFailed` where there are no more.
    pub fn descriptor(&self) -> Result<OwnedFd, InstallError> {
        self.socket.try_clone().map_err(|error| InstallError::AttachFailed {
            place: "AF_XDP socket".to_string(),
            errno: Errno::from_raw(error.raw_os_error().unwrap_or(0)),
        })
    }

    /// The frame that came next, if it is there as a whole.
    fn take(&mut self) -> Option<Vec<u8>> {
        let mut frame = Vec::new();
        loop {
            // The kernel tells of all parts at once.
            let part = self.received.take()?;
            let offset = usize::try_from(part.addr).unwrap_or(usize::MAX);
            frame.extend(self.memory.copy(offset, part.len as usize));
            self.fill.put(&[part.addr & !u64::from(CHUNK - 1)]);
            if part.options & CONTINUED == 0 {
                return Some(frame);
            }
        }
    }
}

impl FrameSource for XskSocket {
    fn next(&mut self, timeout: Duration) -> Result<Option<KeptFrame>, InstallError> {
        if let Some(bytes) = self.take() {
            return Ok(Some(KeptFrame { bytes, time: now() }));
        }
        if timeout.is_zero() {
            return Ok(None);
        }
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(_) | Err(Errno::EINTR) => Ok(self.take().map(|bytes| KeptFrame { bytes, time: now() })),
            Err(errno) => {
                Err(InstallError::MapAccess { map: "socket".to_string(), problem: errno.to_string() })
            }
        }
    }

    /// What found no memory or no room in the ring (`xdp_statistics`).
    fn lost(&mut self) -> u64 {
        let Ok(all) = socket::lost(self.socket.as_fd()) else { return 0 };
        let new = all.saturating_sub(self.lost);
        self.lost = all;
        new
    }
}

impl AsFd for XskSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// For how long a queue may be busy with a socket that is closed: the kernel lets go of its memory behind the reading of all CPUs
/// (`xp_put_pool`, net/xdp/xsk_buff_pool.c).
const CLOSING: Duration = Duration::from_millis(500);
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Opens a socket; one that was there a moment ago may take a while to go.
fn open_patiently(interface: u32, queue: u32, mode: XskMode) -> Result<Parts, Errno> {
    let end = Instant::now() + CLOSING;
    loop {
        match Parts::open(interface, queue, mode) {
            Err(Errno::EBUSY) if Instant::now() < end => std::thread::sleep(BETWEEN_TRIES),
            opened => return opened,
        }
    }
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Whether there are such sockets.
pub(crate) fn probe() -> Result<(), Errno> {
    // SAFETY: takes no pointers.
    let socket =
        Errno::result(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: nobody else has it.
    drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(socket) });
    Ok(())
}
