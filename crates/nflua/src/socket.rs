//! Sockets whose messages arrive as they were sent (unix(7), `SOCK_SEQPACKET`).

use crate::NfluaError;
use crate::protocol::LONGEST;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, UnixAddr, accept4, bind, connect, listen, recv,
    send, socket,
};
use std::fs::{self, DirBuilder, File, Permissions};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names the socket in the place of the usual one.
const VARIABLE: &str = "MOONHOOK_NFLUA";

/// Where the sockets are, one for each network namespace.
const FOLDER: &str = "/run/moonhook/nflua";

/// The socket for the network namespace of this process.
pub fn path() -> PathBuf {
    if let Some(path) = std::env::var_os(VARIABLE) {
        return path.into();
    }
    let number = fs::metadata("/proc/self/ns/net").map_or(0, |namespace| namespace.ino());
    Path::new(FOLDER).join(number.to_string())
}

/// One end of a connection.
pub struct Connection {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Connection {
    fn of(socket: OwnedFd) -> Connection {
        Connection { socket, buffer: vec![0; LONGEST] }
    }

    /// # Errors
    /// `NoProcess`, `Socket`.
    pub fn open(path: &Path) -> Result<Connection, NfluaError> {
        let failed = |errno| match errno {
            Errno::ENOENT | Errno::ECONNREFUSED => NfluaError::NoProcess { path: path.to_path_buf() },
            errno => NfluaError::Socket { path: path.to_path_buf(), errno },
        };
        let socket = new().map_err(failed)?;
        let address = UnixAddr::new(path).map_err(failed)?;
        connect(socket.as_raw_fd(), &address).map_err(failed)?;
        Ok(Connection::of(socket))
    }

    /// # Errors
    /// The system's.
    pub fn send(&self, message: &[u8]) -> Result<(), Errno> {
        send(self.socket.as_raw_fd(), message, MsgFlags::MSG_NOSIGNAL).map(drop)
    }

    /// The next message, which is empty at the end; `None` if there is none in that time (`None`: any time).
    ///
    /// # Errors
    /// The system's; `EMSGSIZE` for a message that is too long.
    pub fn receive(&mut self, timeout: Option<Duration>) -> Result<Option<&[u8]>, Errno> {
        if !has_arrived(&self.socket, timeout)? {
            return Ok(None);
        }
        let length = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_TRUNC)?;
        self.buffer.get(..length).map(Some).ok_or(Errno::EMSGSIZE)
    }

    /// Another descriptor for the same end.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn duplicate(&self) -> Result<OwnedFd, Errno> {
        self.socket.try_clone().map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))
    }
}

/// A socket that connections come to. Its file goes with it.
pub struct Listener {
    socket: OwnedFd,
    path: PathBuf,
    /// Held as long as the socket is.
    _lock: Flock<File>,
}

impl Listener {
    /// # Errors
    /// `Taken`, `Socket`.
    pub fn open(path: &Path) -> Result<Listener, NfluaError> {
        let failed = |errno| NfluaError::Socket { path: path.to_path_buf(), errno };
        let of_files = |error: std::io::Error| failed(Errno::from_raw(error.raw_os_error().unwrap_or(0)));
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(of_files)?;
        }
        let lock = File::create(path.with_extension("lock")).map_err(of_files)?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock)
            .map_err(|_| NfluaError::Taken { path: path.to_path_buf() })?;
        // Nobody listens at what is there.
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(of_files(error)),
            _ => {}
        }
        let socket = new().map_err(failed)?;
        bind(socket.as_raw_fd(), &UnixAddr::new(path).map_err(failed)?).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(of_files)?;
        listen(&socket, Backlog::new(64).map_err(failed)?).map_err(failed)?;
        Ok(Listener { socket, path: path.to_path_buf(), _lock: lock })
    }

    /// The next connection, if one comes in that time. Where it cannot be taken this waits as long, for it is there the next time, too.
    ///
    /// # Errors
    /// `Socket`; the next one may come all the same (accept(2): no descriptors, no memory, what the network has failed of).
    pub fn accept(&self, timeout: Duration) -> Result<Option<Connection>, NfluaError> {
        let taken = has_arrived(&self.socket, Some(timeout)).and_then(|has_arrived| {
            has_arrived.then(|| accept4(self.socket.as_raw_fd(), SockFlag::SOCK_CLOEXEC)).transpose()
        });
        match taken {
            // SAFETY: the descriptor is new, and nobody else's.
            Ok(taken) => Ok(taken.map(|socket| Connection::of(unsafe { OwnedFd::from_raw_fd(socket) }))),
            Err(Errno::ECONNABORTED | Errno::EINTR) => Ok(None),
            Err(errno) => {
                std::thread::sleep(timeout);
                Err(NfluaError::Socket { path: self.path.clone(), errno })
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension("lock"));
    }
}

fn new() -> Result<OwnedFd, Errno> {
    socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)
}

/// Whether something is to be read, in that time.
fn has_arrived(socket: &OwnedFd, timeout: Option<Duration>) -> Result<bool, Errno> {
    let timeout = timeout.map_or(Ok(PollTimeout::NONE), PollTimeout::try_from).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], timeout) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_connection_that_cannot_be_taken_is_not_tried_at_once_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut listener = Listener::open(&folder.path().join("socket")).unwrap();
        // At such a one nobody arrives: the system says that of each attempt.
        listener.socket = new().unwrap();
        let (begun, nap) = (Instant::now(), Duration::from_millis(50));
        for _ in 0..3 {
            assert!(!matches!(listener.accept(nap), Ok(Some(_))));
        }
        assert!(begun.elapsed() >= nap * 3);
    }
}
