//! Raw sockets of ours on an interface (packet(7)): the program says which frames a socket gets a copy of.

use super::hold::{Hold, Socket};
use super::kind::{Elsewhere, Kind, Made, Target};
use super::of_interface::{attach_error, wanted};
use super::site::Site;
use super::xdp::Mode;
use crate::InstallError;
use libbpf_sys::bpf_link_info;
use moonhook_hook::{Hook, Place, Point, SOCKET};
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
        let refused = |errno| attach_error(errno, &interface, target.netns);
        let socket = Socket::open().map_err(refused)?;
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
