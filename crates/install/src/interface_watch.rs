//! Hearing of network interfaces that come, go or get another name (rtnetlink(7)).

use crate::{InstallError, netns};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use std::os::fd::{AsRawFd, OwnedFd};

/// `RTMGRP_LINK` of include/uapi/linux/rtnetlink.h: the group of those who hear of interfaces.
const LINKS: u32 = 1;

/// Whoever has one hears of the interfaces of a network namespace.
#[derive(Debug)]
pub struct InterfaceWatch {
    socket: OwnedFd,
}

impl InterfaceWatch {
    /// Begins to listen in the namespace `netns` (`None`: the caller's).
    ///
    /// # Errors
    /// `UnknownNetns`, `Netns`, `Privilege`; `AttachFailed` where there is no such socket.
    pub fn new(netns: Option<&str>) -> Result<InterfaceWatch, InstallError> {
        let listen = || {
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
            bind(socket.as_raw_fd(), &NetlinkAddr::new(0, LINKS))?;
            Ok(InterfaceWatch { socket })
        };
        netns::within(netns, listen)?
            .map_err(|errno| InstallError::AttachFailed { place: "netlink".to_string(), errno })
    }

    /// Whether something has changed since this was asked last.
    pub fn has_changed(&self) -> bool {
        let mut changed = false;
        let mut message = [0; 4096];
        loop {
            match recv(self.socket.as_raw_fd(), &mut message, MsgFlags::MSG_DONTWAIT) {
                // So many messages that some are lost: `ENOBUFS`.
                Ok(_) | Err(Errno::ENOBUFS) => changed = true,
                Err(Errno::EINTR) => {}
                Err(_) => return changed,
            }
        }
    }
}
