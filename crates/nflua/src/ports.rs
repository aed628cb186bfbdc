//! Ports: the numbers by which states know the sockets of programs.

use crate::protocol::{GIVEN, LONGEST};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// The ports in use.
#[derive(Debug, Default)]
pub struct Ports(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    ports: BTreeMap<u32, Option<OwnedFd>>,
    last: u32,
}

impl Ports {
    /// Takes a port, any if it is 0; what is sent to it goes to `socket`, if it is one for data.
    ///
    /// # Errors
    /// `EADDRINUSE`.
    pub fn take(&self, port: u32, socket: Option<OwnedFd>) -> Result<u32, Errno> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = port;
        while free == 0 || port == 0 && known.ports.contains_key(&free) {
            known.last = known.last.wrapping_add(1);
            free = GIVEN | known.last;
        }
        if known.ports.contains_key(&free) {
            return Err(Errno::EADDRINUSE);
        }
        known.ports.insert(free, socket);
        Ok(free)
    }

    pub fn leave(&self, port: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ports.remove(&port);
    }

    /// Sends a message of a state to who has a port, if there is room for it.
    ///
    /// # Errors
    /// `ECONNREFUSED` where nobody has it; `EAGAIN`, `EPIPE`.
    pub fn send(&self, port: u32, state: &str, bytes: &[u8]) -> Result<(), Errno> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = known.ports.get(&port).and_then(Option::as_ref).ok_or(Errno::ECONNREFUSED)?;
        let message = [state.as_bytes(), &[0], bytes].concat();
        if message.len() > LONGEST {
            return Err(Errno::EMSGSIZE);
        }
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        send(socket.as_raw_fd(), &message, flags).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_sockets() {
        let ports = Ports::default();
        assert_eq!(ports.take(123, None), Ok(123));
        assert_eq!(ports.take(123, None), Err(Errno::EADDRINUSE));
        ports.leave(123);
        assert_eq!(ports.take(123, None), Ok(123));
        let given = [ports.take(0, None).unwrap(), ports.take(0, None).unwrap()];
        assert!(given[0] != given[1] && given.iter().all(|port| port & GIVEN != 0));
        assert_eq!(ports.send(7, "st", b"x"), Err(Errno::ECONNREFUSED));
        assert_eq!(ports.send(123, "st", b"x"), Err(Errno::ECONNREFUSED), "it is none for data");
    }
}
