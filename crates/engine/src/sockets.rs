//! The sockets to which programs send packets.

use crate::{EngineError, Kernel};
use moonhook_ir::targets::{SOCKET_INTERFACES, SOCKETS};
use std::os::fd::{AsRawFd, BorrowedFd};

impl Kernel {
    /// The queues whose frames programs send to sockets: none where no handler does.
    pub fn receivers(&self) -> &[u32] {
        if self.has_map(SOCKETS) { &self.receivers } else { &[] }
    }

    /// Has the programs find the socket of a queue of the interface with that number.
    ///
    /// # Errors
    /// What the kernel refuses: more interfaces than the map has room for.
    pub fn connect_socket(
        &self,
        interface: u32,
        queue: u32,
        socket: BorrowedFd<'_>,
    ) -> Result<(), EngineError> {
        let Some(place) = self.receivers.iter().position(|receiver| *receiver == queue) else {
            return Ok(());
        };
        let first = self.first_socket(interface)?;
        let slot = u32::try_from(first + place as u64).unwrap_or(u32::MAX).to_ne_bytes();
        Ok(self.program.map_update(SOCKETS, &slot, &socket.as_raw_fd().to_ne_bytes())?)
    }

    /// Where the sockets of an interface begin, which get a place if they have none.
    fn first_socket(&self, interface: u32) -> Result<u64, EngineError> {
        let key = u64::from(interface).to_ne_bytes();
        if let Some(known) = self.program.map_lookup(SOCKET_INTERFACES, &key)?
            && let Ok(word) = known.as_slice().try_into()
        {
            return Ok(u64::from_ne_bytes(word));
        }
        let first = (self.program.map_keys(SOCKET_INTERFACES)?.len() * self.receivers.len()) as u64;
        self.program.map_update(SOCKET_INTERFACES, &key, &first.to_ne_bytes())?;
        Ok(first)
    }
}
