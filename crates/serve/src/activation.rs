//! Sockets that are given by whoever starts the process (`sd_listen_fds`(3)), and listening where none is.

use crate::ServeError;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// The first of those that are given (`SD_LISTEN_FDS_START`).
const FIRST: RawFd = 3;

/// The socket that the process was given; `None` if it was given none. To be called once, before anything is opened.
///
/// # Errors
/// `Activation`.
pub fn given() -> Result<Option<TcpListener>, ServeError> {
    let variable = |name: &str| std::env::var(name).ok();
    match count(&variable, std::process::id())? {
        0 => Ok(None),
        _ => taken(FIRST).map(Some),
    }
}

/// How many sockets a process with that number was given.
fn count(variable: &dyn Fn(&str) -> Option<String>, process: u32) -> Result<usize, ServeError> {
    let number = |name: &str| {
        let wrong = |text: String| ServeError::Activation { problem: format!("{name} is '{text}'") };
        variable(name).map(|text| text.parse::<u32>().map_err(|_| wrong(text))).transpose()
    };
    // They may be meant for who has started this process.
    let (Some(pid), Some(count)) = (number("LISTEN_PID")?, number("LISTEN_FDS")?) else { return Ok(0) };
    match count {
        _ if pid != process => Ok(0),
        0 | 1 => Ok(count as usize),
        _ => Err(ServeError::Activation { problem: format!("there are {count} sockets") }),
    }
}

/// The socket with that number.
fn taken(number: RawFd) -> Result<TcpListener, ServeError> {
    // SAFETY: whoever gives sockets leaves them open for this process; nothing here has opened or owns this number.
    let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
    let listener = TcpListener::from(descriptor);
    if let Err(error) = listener.local_addr() {
        // What is no socket of TCP may be somebody else's.
        std::mem::forget(listener);
        return Err(ServeError::Activation { problem: format!("it is no socket of TCP ({error})") });
    }
    // It comes open for programs that this one starts: clang and git are not to have it.
    let closed = fcntl(&listener, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
    closed.map_err(|errno| ServeError::Activation { problem: errno.to_string() })?;
    Ok(listener)
}

/// Listens at an address.
///
/// # Errors
/// `Listen`.
pub fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let failed = |error: std::io::Error| ServeError::Listen {
        address: address.to_string(),
        problem: error.to_string(),
    };
    TcpListener::bind(address).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::IntoRawFd;

    fn counted(pid: Option<&str>, sockets: Option<&str>) -> Result<usize, &'static str> {
        let variable = |name: &str| if name == "LISTEN_PID" { pid } else { sockets }.map(str::to_string);
        count(&variable, 7).map_err(|error| error.code())
    }

    #[test]
    fn sockets_are_for_the_process_that_is_named() {
        assert_eq!(counted(None, None), Ok(0));
        assert_eq!(counted(Some("8"), Some("1")), Ok(0));
        assert_eq!(counted(Some("7"), Some("1")), Ok(1));
        assert_eq!(counted(Some("7"), Some("0")), Ok(0));
        assert_eq!(counted(Some("7"), Some("2")), Err("MH1002"));
        assert_eq!(counted(Some("7"), Some("x")), Err("MH1002"));
    }

    #[test]
    fn a_socket_is_taken_over_and_nothing_else() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(listen(address).unwrap_err().code(), "MH1001");
        // As systemd gives it.
        fcntl(&listener, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        let taken_over = taken(listener.into_raw_fd()).unwrap();
        assert_eq!(taken_over.local_addr().unwrap(), address);
        assert_eq!(fcntl(&taken_over, FcntlArg::F_GETFD).unwrap(), FdFlag::FD_CLOEXEC.bits());
        let file = std::fs::File::open("/dev/null").unwrap().into_raw_fd();
        assert_eq!(taken(file).unwrap_err().code(), "MH1002");
    }
}
