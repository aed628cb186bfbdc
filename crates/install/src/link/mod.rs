//! Programs in hooks: a [`Link`] is a kernel object that goes with the process.
//!
//! What links have in common is here. A kind of link is a file with what attaching to its hook takes, and a row of [`KINDS`].

mod pinned;
mod tcx;
mod xdp;

use crate::interface::{self, Interface, InterfaceName};
use crate::privilege::{Capability, LOAD};
use crate::{InstallError, Program, messages, netns, sys};
use libbpf_sys::bpf_link_info;
use moonhook_hook::Hook;
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

pub use xdp::{Mode, RequestedMode};

/// A kind of link.
struct LinkKind {
    hook: &'static Hook,
    /// Whether a link is of this kind.
    is: fn(&bpf_link_info) -> bool,
    /// Puts a program into the hook of an interface of the calling thread's namespace, which errors call by the name.
    attach: fn(BorrowedFd<'_>, &Interface, RequestedMode, Option<&str>) -> Result<Made, InstallError>,
    /// How a link's program runs that is found on an interface of the calling thread's namespace, at hooks with several ways.
    mode: fn(&Interface) -> Option<Mode>,
    /// Whether the program of such a link is at an interface of the calling thread's namespace: other namespaces have interfaces of the
    /// same number.
    is_at: fn(&bpf_link_info, &Interface) -> bool,
    /// The interface's index in the information on such a link; 0 when the interface is gone.
    interface: fn(&bpf_link_info) -> u32,
}

/// All of them.
const KINDS: &[LinkKind] = &[xdp::KIND, tcx::INGRESS, tcx::EGRESS];

/// A link that was made.
struct Made {
    link: OwnedFd,
    mode: Option<Mode>,
    /// Why native mode was not to be had, if it was wanted.
    native_refused: Option<String>,
}

impl LinkKind {
    fn of_hook(hook: &Hook) -> Option<&'static LinkKind> {
        KINDS.iter().find(|kind| kind.hook == hook)
    }

    fn of_link(info: &bpf_link_info) -> Option<&'static LinkKind> {
        KINDS.iter().find(|kind| (kind.is)(info))
    }
}

/// A program in a hook of an interface. Dropping it detaches, and so does the end of the process, unless the link is pinned;
/// so does the end of the interface.
#[derive(Debug)]
pub struct Link {
    hook: &'static Hook,
    link: OwnedFd,
    /// The link has a pin, which keeps the program in its hook.
    pinned: AtomicBool,
    /// The program that was put there last; `None` if this process may not know which one is.
    program: Option<OwnedFd>,
    interface: Interface,
    mode: Option<Mode>,
    native_refused: Option<String>,
}

impl Program {
    /// Puts `program` into the hook of `interface` in the namespace `netns` (`None`: the caller's).
    ///
    /// # Errors
    /// `NoSuchItem`, `UnknownNetns`, `Netns`, `UnknownInterface`, `Privilege`, `BpfRefused`, `HookBusy`, `HookFull`;
    /// `NoEthernet`; `NativeRefused` and `MtuTooLarge` only if native mode was asked for; `AttachFailed` for what is left, a program of another
    /// type among it. Nothing is attached then.
    pub fn attach(
        &self,
        program: &str,
        hook: &'static Hook,
        interface: impl Into<InterfaceName>,
        mode: RequestedMode,
        netns: Option<&str>,
    ) -> Result<Link, InstallError> {
        messages::silence();
        let program = self.program_fd(program)?;
        let wanted = interface.into();
        let fits = sys::program_info(program).is_ok_and(|info| info.type_ == hook.program_type);
        netns::within(netns, move || {
            let interface = interface::find(&wanted, netns)?;
            let Some(kind) = LinkKind::of_hook(hook).filter(|_| fits) else {
                return Err(InstallError::AttachFailed { interface: interface.name, errno: Errno::EINVAL });
            };
            if !interface::carries_ethernet(&interface) {
                return Err(InstallError::NoEthernet { interface: interface.name });
            }
            let Made { link, mode, native_refused } = (kind.attach)(program, &interface, mode, netns)?;
            let (program, pinned) = (program.try_clone_to_owned().ok(), AtomicBool::new(false));
            Ok(Link { hook, link, pinned, program, interface, mode, native_refused })
        })?
    }
}

impl Link {
    pub fn hook(&self) -> &'static Hook {
        self.hook
    }

    /// The mode that the program got, at hooks with several.
    pub fn mode(&self) -> Option<Mode> {
        self.mode
    }

    /// Why native mode was not to be had, if generic mode is the second choice.
    pub fn native_refused(&self) -> Option<&str> {
        self.native_refused.as_deref()
    }

    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The descriptor, for polling or pinning.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }

    /// Whether the interface still exists.
    pub fn is_attached(&self) -> bool {
        sys::link_info(self.as_fd()).is_ok_and(|info| attached_to(&info).is_some_and(|index| index != 0))
    }

    /// Puts another program in the place of the present one, between two packets; gives the one that was there, as far as this process
    /// has it.
    ///
    /// # Errors
    /// `NoSuchItem`, `UpdateFailed`, `Privilege`; `Replaced` if somebody else has updated the link. The present program stays.
    pub fn update(&mut self, with: &Program, program: &str) -> Result<Option<OwnedFd>, InstallError> {
        let fd = with.program_fd(program)?.try_clone_to_owned();
        let fd = fd.map_err(|_| self.update_error(Errno::EMFILE))?;
        self.replace(fd)
    }

    /// Puts a program back that [`Link::update`] has given.
    ///
    /// # Errors
    /// As [`Link::update`].
    pub fn restore(&mut self, program: OwnedFd) -> Result<(), InstallError> {
        self.replace(program).map(drop)
    }

    fn replace(&mut self, program: OwnedFd) -> Result<Option<OwnedFd>, InstallError> {
        let before = self.program.as_ref().map(OwnedFd::as_fd);
        sys::link_update(self.as_fd(), program.as_fd(), before).map_err(|errno| self.update_error(errno))?;
        Ok(self.program.replace(program))
    }

    fn update_error(&self, errno: Errno) -> InstallError {
        let interface = self.interface.name.clone();
        let present = sys::link_info(self.as_fd()).map(|info| info.prog_id);
        let ours = self.program.as_ref().map(|program| sys::program_info(program.as_fd()));
        match (errno, present, ours) {
            // What the kernel says where the link has another program than the one to be replaced (`bpf_xdp_link_update`).
            (Errno::EPERM, Ok(present), Some(Ok(ours))) if present != ours.id => {
                InstallError::Replaced { interface, program_id: present }
            }
            (Errno::EPERM, ..) => InstallError::permission("replacing a program", &[Capability::Bpf], errno),
            (errno, ..) => InstallError::UpdateFailed { interface, errno },
        }
    }

    /// Detaches now, and says if that failed.
    ///
    /// # Errors
    /// `AttachFailed` with the errno.
    pub fn detach(&self) -> Result<(), InstallError> {
        sys::link_detach(self.as_fd())
            .map_err(|errno| InstallError::AttachFailed { interface: self.interface.name.clone(), errno })
    }
}

/// What an errno of `BPF_LINK_CREATE` means at every hook.
fn attach_error(errno: Errno, interface: &Interface, netns: Option<&str>) -> InstallError {
    // An interface that went meanwhile is EINVAL or ENODEV.
    if let Err(gone) = interface::find(&InterfaceName::Index(interface.index), netns) {
        return gone;
    }
    match errno {
        Errno::EPERM => InstallError::permission("attaching to an interface", &LOAD[..2], errno),
        _ => InstallError::AttachFailed { interface: interface.name.clone(), errno },
    }
}

/// The index of the interface of which a link has a hook, 0 when the interface is gone; `None` for links of other kinds.
fn attached_to(info: &bpf_link_info) -> Option<u32> {
    LinkKind::of_link(info).map(|kind| (kind.interface)(info))
}

impl Drop for Link {
    /// Closing the descriptor would detach only if no one else has one: whoever lists the links of the system holds each for a
    /// moment, and somebody may keep it.
    fn drop(&mut self) {
        if !self.pinned.load(Ordering::Relaxed) {
            let _ = sys::link_detach(self.link.as_fd());
        }
    }
}
