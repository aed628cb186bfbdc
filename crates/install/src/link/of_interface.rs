//! Links of network interfaces.

use super::hold::Hold;
use super::kind::{Elsewhere, Kind, Made, Target, Wanted};
use super::site::Site;
use super::xdp::Mode;
use crate::interface::{self, Interface, InterfaceName};
use crate::privilege::LOAD;
use crate::{InstallError, sys};
use libbpf_sys::bpf_link_info;
use moonhook_hook::{Hook, Place, Point};
use nix::errno::Errno;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A kind of link that interfaces have.
pub(super) struct OfInterface {
    pub hook: &'static Hook,
    /// Whether a link is of this kind.
    pub is: fn(&bpf_link_info) -> bool,
    /// Puts a program into the hook of an interface of the calling thread's namespace, which errors call by the name.
    pub attach: fn(BorrowedFd<'_>, &Interface, &Wanted<'_>) -> Result<Attached, InstallError>,
    /// How a link's program runs that is found on an interface of the calling thread's namespace, at hooks with several ways.
    pub mode: fn(&Interface) -> Option<Mode>,
    /// Whether the program of such a link is at an interface of the calling thread's namespace: other namespaces have interfaces of the
    /// same number.
    pub is_at: fn(&bpf_link_info, &Interface) -> bool,
    /// The numbers of the programs at an interface of the calling thread's namespace, in order, at hooks with lists of them.
    pub programs: fn(&Interface) -> Vec<u32>,
    /// The interface's index in the information on such a link; 0 when the interface is gone.
    pub index: fn(&bpf_link_info) -> u32,
}

/// A link that was made, and how its program runs.
pub(super) struct Attached {
    pub link: OwnedFd,
    pub mode: Option<Mode>,
    /// Why native mode was not to be had, if it was wanted.
    pub native_refused: Option<String>,
}

impl Kind for OfInterface {
    fn hook(&self) -> &'static Hook {
        self.hook
    }

    fn is(&self, info: &bpf_link_info) -> bool {
        (self.is)(info)
    }

    fn attach(
        &self,
        program: BorrowedFd<'_>,
        point: &Point,
        target: &Target<'_>,
    ) -> Result<Made, InstallError> {
        let interface = self.interface(&point.place, target)?;
        if !interface::carries_ethernet(&interface) {
            return Err(InstallError::NoEthernet { interface: interface.name });
        }
        let wanted = Wanted { mode: target.mode, order: &point.order, netns: target.netns };
        let attached = (self.attach)(program, &interface, &wanted)?;
        let Attached { link, mode, native_refused } = attached;
        Ok(Made { hold: Hold::Link(link), site: Site::Interface(interface), mode, native_refused })
    }

    fn find(
        &self,
        info: &bpf_link_info,
        place: &Place,
        target: &Target<'_>,
    ) -> Result<Option<(Site, Option<Mode>)>, Elsewhere> {
        let index = (self.index)(info);
        if index == 0 {
            return Ok(None);
        }
        let interface = self.interface(place, target).map_err(Elsewhere::Error)?;
        if interface.index != index || !(self.is_at)(info, &interface) {
            return Err(Elsewhere::At(index.into()));
        }
        let mode = (self.mode)(&interface);
        Ok(Some((Site::Interface(interface), mode)))
    }

    fn is_attached(&self, info: &bpf_link_info) -> bool {
        (self.index)(info) != 0
    }

    fn programs(&self, site: &Site) -> Vec<u32> {
        site.interface().map(self.programs).unwrap_or_default()
    }
}

impl OfInterface {
    fn interface(&self, place: &Place, target: &Target<'_>) -> Result<Interface, InstallError> {
        wanted(self.hook, place, target)
    }
}

/// The interface that a hook is at.
pub(super) fn wanted(
    hook: &'static Hook,
    place: &Place,
    target: &Target<'_>,
) -> Result<Interface, InstallError> {
    let none = || InstallError::NoInterface { hook: hook.name };
    match place {
        Place::Named(name) => interface::find(&InterfaceName::from(&**name), target.netns),
        _ => interface::find(target.interface.as_ref().ok_or_else(none)?, target.netns),
    }
}

/// What an errno of `BPF_LINK_CREATE` means at the hooks of interfaces.
pub(super) fn attach_error(errno: Errno, interface: &Interface, netns: Option<&str>) -> InstallError {
    // An interface that went meanwhile is EINVAL or ENODEV.
    if let Err(gone) = interface::find(&InterfaceName::Index(interface.index), netns) {
        return gone;
    }
    match errno {
        Errno::EPERM => InstallError::permission("attaching to an interface", &LOAD[..2], errno),
        _ => InstallError::AttachFailed { place: interface.name.clone(), errno },
    }
}

/// Whether the program that a link has is one of these.
pub(super) fn has_program(info: &bpf_link_info, programs: &[u32]) -> bool {
    programs.contains(&info.prog_id)
}

/// Puts a program into a hook whose target is an interface.
pub(super) fn create(
    program: BorrowedFd<'_>,
    interface: &Interface,
    attach_type: u32,
    flags: u32,
) -> Result<OwnedFd, Errno> {
    let index = i32::try_from(interface.index).unwrap_or(i32::MAX);
    sys::link_create(program, index, attach_type, flags)
}
