//! Raw sockets of ours on an interface (packet(7)): the program says which frames a socket gets a copy of.

use super::hold::{Hold, Socket};
use super::kind::{Elsewhere, Kind, Made, Target};
use super::of_interface::{attach_error, wanted};
use super::site::Site;
use super::xdp::Mode;
use crate::privilege::Capability;
use crate::{InstallError, interface};
use libbpf_sys::bpf_link_info;
use moonhook_hook::{Hook, Place, Point, SOCKET};
use nix::errno::Errno;
use std::os::fd::BorrowedFd;

pub(super) struct OfSocket;

impl Kind for OfSocket {
    fn hook(&self) -> &'static Hook {
        &SOCKET
    }

    /// There are no links of this kind.
    fn is(&self, _: &bpf_link_info) -> bool {
        false
    }

    fn attach(
        &self,
        program: BorrowedFd<'_>,
        point: &Point,
        target: &Target<'_>,
    ) -> Result<Made, InstallError> {
        let interface = wanted(&SOCKET, &point.place, target)?;
        if !interface::carries_ethernet(&interface) {
            return Err(InstallError::NoEthernet { interface: interface.name });
        }
        let refused = |errno| attach_error(errno, &interface, target.netns);
        let socket = Socket::open().map_err(|errno| match errno {
            // packet(7).
            Errno::EPERM => InstallError::permission("opening a raw socket", &[Capability::NetRaw], errno),
            errno => refused(errno),
        })?;
        // As long as it is not bound, it gets nothing.
        socket.replace(program).and_then(|()| socket.bind(interface.index)).map_err(refused)?;
        Ok(Made {
            hold: Hold::Socket(socket),
            site: Site::Interface(interface),
            mode: None,
            native_refused: None,
        })
    }

    fn find(
        &self,
        _: &bpf_link_info,
        _: &Place,
        _: &Target<'_>,
    ) -> Result<Option<(Site, Option<Mode>)>, Elsewhere> {
        Err(Elsewhere::Error(InstallError::NotPinned))
    }

    fn is_attached(&self, _: &bpf_link_info) -> bool {
        false
    }
}
