//! A socket for messages of nfnetlink (netlink(7), `NETLINK_NETFILTER`), in the network namespace of the thread that opens it.

use crate::QueueError;
use crate::message::{self, Received};
use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket as Netlink, SocketAddr};
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, NetlinkAddr, sendto};
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Room for the longest message: a packet of 65,535 bytes with its attributes.
const LONGEST: usize = 0x1_2000;

/// How long the kernel may take to answer; it answers before the request's system call is over.
const ANSWER: Duration = Duration::from_secs(5);

pub struct Socket {
    netlink: Netlink,
    buffer: Vec<u8>,
    sequence: u32,
}

impl Socket {
    /// # Errors
    /// `Refused`.
    pub fn open() -> Result<Socket, QueueError> {
        let opened = Netlink::new(NETLINK_NETFILTER).and_then(|mut netlink| {
            netlink.bind_auto()?;
            netlink.set_non_blocking(true)?;
            Ok(netlink)
        });
        let refused = |error: std::io::Error| QueueError::refused("opening a netlink socket", errno(&error));
        let netlink = opened.map_err(refused)?;
        Ok(Socket { netlink, buffer: vec![0; LONGEST], sequence: 0 })
    }

    /// Room for messages that nobody has taken yet, in bytes; as much as the system allows without the right to more.
    pub fn set_room(&self, bytes: i32) {
        let socket = self.netlink.as_raw_fd();
        for option in [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF] {
            let size = size_of::<i32>() as libc::socklen_t;
            // SAFETY: the kernel reads one integer, as long as is said.
            let set = unsafe {
                libc::setsockopt(socket, libc::SOL_SOCKET, option, (&raw const bytes).cast(), size)
            };
            if set == 0 {
                break;
            }
        }
    }

    /// A number for the next message.
    pub fn sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    /// # Errors
    /// The kernel's.
    pub fn send(&self, bytes: &[u8]) -> Result<(), Errno> {
        self.netlink.send_to(bytes, &SocketAddr::new(0, 0), 0).map(drop).map_err(|error| errno(&error))
    }

    /// What sends by the same socket, from any thread: to the kernel it is the same process.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn sender(&self) -> Result<Sender, Errno> {
        // SAFETY: the socket lives as long as this borrows it.
        let socket = unsafe { BorrowedFd::borrow_raw(self.netlink.as_raw_fd()) };
        socket.try_clone_to_owned().map(Sender).map_err(|error| errno(&error))
    }

    /// Sends a request whose message wants an answer and has this number, and waits for what it comes to. Other messages that come
    /// meanwhile are none that somebody waits for.
    ///
    /// # Errors
    /// The kernel's.
    pub fn request(&mut self, bytes: &[u8], sequence: u32) -> Result<(), Errno> {
        self.send(bytes)?;
        let deadline = Instant::now() + ANSWER;
        let mut outcome = None;
        while outcome.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Errno::ETIMEDOUT);
            }
            self.receive(left, |message| match message.outcome() {
                Some(code) if message.sequence == sequence || code != 0 => outcome = Some(code),
                _ => {}
            })?;
        }
        match outcome {
            None | Some(0) => Ok(()),
            Some(code) => Err(Errno::from_raw(code)),
        }
    }

    /// Waits for messages, at most so long, and gives each of those that came at once.
    ///
    /// # Errors
    /// The kernel's. That some were lost for want of room (`ENOBUFS`) is none: others come.
    pub fn receive(&mut self, timeout: Duration, mut each: impl FnMut(Received<'_>)) -> Result<(), Errno> {
        // SAFETY: the socket lives as long as this borrows it.
        let socket = unsafe { BorrowedFd::borrow_raw(self.netlink.as_raw_fd()) };
        let milliseconds = u16::try_from(timeout.as_millis()).unwrap_or(u16::MAX);
        let mut polled = [PollFd::new(socket, PollFlags::POLLIN)];
        match poll(&mut polled, PollTimeout::from(milliseconds)) {
            Ok(0) | Err(Errno::EINTR) => return Ok(()),
            Ok(_) => {}
            Err(errno) => return Err(errno),
        }
        let mut room = self.buffer.as_mut_slice();
        let length = match self.netlink.recv(&mut room, 0) {
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if errno(&error) == Errno::ENOBUFS => return Ok(()),
            Err(error) => return Err(errno(&error)),
        };
        message::messages(&self.buffer[..length.min(LONGEST)]).for_each(&mut each);
        Ok(())
    }
}

/// A socket that nothing is received by.
pub struct Sender(OwnedFd);

impl Sender {
    /// # Errors
    /// The kernel's.
    pub fn send(&self, bytes: &[u8]) -> Result<(), Errno> {
        sendto(self.0.as_raw_fd(), bytes, &NetlinkAddr::new(0, 0), MsgFlags::empty()).map(drop)
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}
