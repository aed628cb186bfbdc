//! Records that programs put into a ring buffer.

use crate::map::access;
use crate::{InstallError, Program};
use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fmt::{self, Debug, Formatter};
use std::os::fd::{BorrowedFd, RawFd};
use std::time::Duration;

/// Records that are handed over at once, at most, where there is no end of them.
const BATCH: usize = 4096;

/// The consumer of one ring buffer. It stays usable when the [`Program`] is gone.
pub struct Events {
    ring: RingBuffer<'static>,
    name: String,
    /// Keeps the ring in the set that `ring` waits for; dropped after it.
    _map: MapHandle,
}

impl Program {
    /// Starts to consume the ring buffer `map`: [`Events::poll`] calls `receive` with each record. There should be one
    /// consumer a ring: two would share the records between them.
    ///
    /// # Errors
    /// `NoSuchItem`; `MapAccess` if it is not a ring buffer or cannot be mapped into memory.
    pub fn events(
        &self,
        map: &str,
        mut receive: impl FnMut(&[u8]) + Send + 'static,
    ) -> Result<Events, InstallError> {
        let handle = MapHandle::try_from(&self.map(map)?).map_err(|error| access(map, &error))?;
        let mut builder = RingBufferBuilder::new();
        let callback = move |record: &[u8]| {
            receive(record);
            0
        };
        builder.add(&handle, callback).map_err(|error| access(map, &error))?;
        let ring = builder.build().map_err(|error| access(map, &error))?;
        Ok(Events { ring, name: map.to_string(), _map: handle })
    }
}

impl Events {
    /// Waits up to `timeout` for records and hands over those that there are, `BATCH` at most; returns how many. An interruption by
    /// a signal counts as none.
    ///
    /// # Errors
    /// `MapAccess`.
    pub fn poll(&mut self, timeout: Duration) -> Result<usize, InstallError> {
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        let waited = poll(&mut [PollFd::new(self.as_fd(), PollFlags::POLLIN)], timeout);
        match waited {
            Ok(0) | Err(Errno::EINTR) => Ok(0),
            Ok(_) => self.consume_some(),
            Err(errno) => Err(access(&self.name, &libbpf_rs::Error::from_raw_os_error(errno as i32))),
        }
    }

    /// Hands over what is there, without waiting, but `BATCH` records at most: where they come in faster than they are seen to, there
    /// are always more. Returns how many.
    ///
    /// # Errors
    /// `MapAccess`.
    pub fn consume_some(&mut self) -> Result<usize, InstallError> {
        self.count(self.ring.consume_raw_n(BATCH))
    }

    /// Hands over all there is, without waiting, until there is no more.
    ///
    /// # Errors
    /// `MapAccess`.
    pub fn consume(&mut self) -> Result<usize, InstallError> {
        self.count(self.ring.consume_raw())
    }

    /// Readable when there are records: for an event loop.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        let fd: RawFd = self.ring.epoll_fd();
        // SAFETY: the ring buffer owns its epoll descriptor and outlives the result.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }

    fn count(&self, result: i32) -> Result<usize, InstallError> {
        const INTERRUPTED: i32 = -nix::libc::EINTR;
        match result {
            INTERRUPTED => Ok(0),
            count => usize::try_from(count)
                .map_err(|_| access(&self.name, &libbpf_rs::Error::from_raw_os_error(-count))),
        }
    }
}

impl Debug for Events {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("map", &self.name).finish_non_exhaustive()
    }
}
