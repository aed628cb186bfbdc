//! Attaching to the XDP hook of an interface, by a link that goes with the process.

use crate::interface::{self, Interface, InterfaceName};
use crate::privilege::{Capability, LOAD};
use crate::{InstallError, Program, holder, messages, netns, sys};
use moonhook_hook::XDP;
use nix::errno::Errno;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// In the driver, before the kernel has made an skb.
    Native,
    /// In the network stack, on skbs: any interface, slower.
    Generic,
}

/// Where a program is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestedMode {
    Native,
    Generic,
    /// Native if the interface can, else generic.
    #[default]
    Auto,
}

impl Display for Mode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Native => "native",
            Mode::Generic => "generic",
        })
    }
}

impl Mode {
    /// `XDP_FLAGS_DRV_MODE` and `XDP_FLAGS_SKB_MODE` (include/uapi/linux/if_link.h).
    fn flag(self) -> u32 {
        match self {
            Mode::Native => libbpf_sys::XDP_FLAGS_DRV_MODE,
            Mode::Generic => libbpf_sys::XDP_FLAGS_SKB_MODE,
        }
    }
}

/// A program in the XDP hook of an interface. Dropping it detaches, and so does the end of the process, unless the link is pinned;
/// so does the end of the interface.
#[derive(Debug)]
pub struct XdpLink {
    link: OwnedFd,
    /// The link has a pin, which keeps the program in its hook.
    pinned: AtomicBool,
    /// The program that was put there last; `None` if this process may not know which one is.
    program: Option<OwnedFd>,
    interface: Interface,
    mode: Mode,
    native_refused: Option<String>,
}

impl Program {
    /// Puts `program` into the XDP hook of `interface` in the namespace `netns` (`None`: the caller's).
    ///
    /// # Errors
    /// `NoSuchItem`, `UnknownNetns`, `Netns`, `UnknownInterface`, `Privilege`, `BpfRefused`, `HookBusy`;
    /// `NativeRefused` and `MtuTooLarge` only if native mode was asked for; `AttachFailed` for what is left. Nothing is
    /// attached then.
    pub fn attach_xdp(
        &self,
        program: &str,
        interface: impl Into<InterfaceName>,
        mode: RequestedMode,
        netns: Option<&str>,
    ) -> Result<XdpLink, InstallError> {
        messages::silence();
        let program = self.program_fd(program)?;
        let wanted = interface.into();
        let is_xdp = sys::program_info(program).is_ok_and(|info| info.type_ == XDP.program_type);
        netns::within(netns, move || {
            let interface = interface::find(&wanted, netns)?;
            if !is_xdp {
                return Err(InstallError::AttachFailed { interface: interface.name, errno: Errno::EINVAL });
            }
            attach_here(program, interface, mode, netns)
        })?
    }
}

fn attach_here(
    program: BorrowedFd<'_>,
    interface: Interface,
    wanted: RequestedMode,
    netns: Option<&str>,
) -> Result<XdpLink, InstallError> {
    let link = |mode| create(program, &interface, mode, netns);
    let (link, mode, native_refused) = match wanted {
        RequestedMode::Native => (link(Mode::Native)?, Mode::Native, None),
        RequestedMode::Generic => (link(Mode::Generic)?, Mode::Generic, None),
        RequestedMode::Auto => match link(Mode::Native) {
            Ok(link) => (link, Mode::Native, None),
            Err(error) => match native_refusal(&error) {
                None => return Err(error),
                Some(why) => (link(Mode::Generic)?, Mode::Generic, Some(why)),
            },
        },
    };
    let (program, pinned) = (program.try_clone_to_owned().ok(), AtomicBool::new(false));
    Ok(XdpLink { link, pinned, program, interface, mode, native_refused })
}

/// Why native mode is out of the question, if that is what the error says: then generic mode is worth a try.
fn native_refusal(error: &InstallError) -> Option<String> {
    match error {
        InstallError::NativeRefused { why, .. } => Some(why.clone()),
        InstallError::MtuTooLarge { .. } => Some(error.to_string()),
        _ => None,
    }
}

fn create(
    program: BorrowedFd<'_>,
    interface: &Interface,
    mode: Mode,
    netns: Option<&str>,
) -> Result<OwnedFd, InstallError> {
    let index = i32::try_from(interface.index).unwrap_or(i32::MAX);
    sys::link_create(program, index, libbpf_sys::BPF_XDP, mode.flag())
        .map_err(|errno| attach_error(errno, interface, mode, netns))
}

/// What an errno of `BPF_LINK_CREATE` means: `dev_xdp_attach` and `generic_xdp_install` in net/core/dev.c, and the
/// drivers' `ndo_bpf` (for veth `veth_xdp_set`).
fn attach_error(errno: Errno, interface: &Interface, mode: Mode, netns: Option<&str>) -> InstallError {
    let name = interface.name.clone();
    // An interface that went meanwhile is EINVAL or ENODEV.
    if let Err(gone) = interface::find(&InterfaceName::Index(interface.index), netns) {
        return gone;
    }
    match errno {
        Errno::EPERM => InstallError::permission("attaching to an interface", &LOAD[..2], errno),
        Errno::EBUSY | Errno::EEXIST => InstallError::HookBusy {
            interface: name,
            netns: netns.map(str::to_string),
            holder: holder::of_xdp(interface).map(Box::new),
        },
        _ if mode == Mode::Native => native_error(errno, interface),
        _ => InstallError::AttachFailed { interface: name, errno },
    }
}

fn native_error(errno: Errno, interface: &Interface) -> InstallError {
    let name = interface.name.clone();
    let driver = interface::driver(interface);
    let veth = driver.as_deref() == Some("veth");
    let driver = driver.map_or_else(|| "its driver".to_string(), |driver| format!("the driver '{driver}'"));
    let mtu = interface::mtu(interface).unwrap_or(0);
    // What a 4 KiB page holds of a frame after headroom and tailroom; drivers differ by a few dozen bytes.
    let large = mtu as usize > crate::frame_max_linear() - 100;
    let why = match errno {
        Errno::ERANGE if veth => return InstallError::MtuTooLarge { interface: name, mtu, peer: true },
        Errno::EINVAL | Errno::ERANGE | Errno::E2BIG if large => {
            return InstallError::MtuTooLarge { interface: name, mtu, peer: false };
        }
        Errno::EOPNOTSUPP => {
            format!("{driver} has no native XDP, or not with the interface's present settings")
        }
        Errno::ENOTCONN if veth => "its peer is gone".to_string(),
        Errno::ENOSPC if veth => "its peer has more transmit queues than it has receive queues".to_string(),
        Errno::ENOMEM | Errno::ENOSPC => format!("{driver} lacks the queues or the memory ({errno})"),
        errno => format!("{driver} refuses ({errno})"),
    };
    InstallError::NativeRefused { interface: name, why, errno }
}

impl XdpLink {
    /// A link that is pinned, with whatever program it has.
    pub(crate) fn found(link: OwnedFd, interface: Interface, mode: Mode) -> XdpLink {
        let info = sys::link_info(link.as_fd());
        let program = info.and_then(|info| sys::program_by_id(info.prog_id)).ok();
        XdpLink { link, pinned: AtomicBool::new(true), program, interface, mode, native_refused: None }
    }

    /// From now on the link outlives this value.
    pub(crate) fn note_pin(&self) {
        self.pinned.store(true, Ordering::Relaxed);
    }

    /// The mode that the program got.
    pub fn mode(&self) -> Mode {
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
        sys::xdp_link_interface(self.as_fd()).is_ok_and(|index| index != 0)
    }

    /// Puts another program in the place of the present one, between two frames.
    ///
    /// # Errors
    /// `NoSuchItem`, `UpdateFailed`, `Privilege`; `Replaced` if somebody else has updated the link. The present program stays.
    pub fn update(&mut self, with: &Program, program: &str) -> Result<(), InstallError> {
        let fd = with.program_fd(program)?;
        let before = self.program.as_ref().map(OwnedFd::as_fd);
        sys::link_update(self.as_fd(), fd, before).map_err(|errno| self.update_error(errno))?;
        self.program = fd.try_clone_to_owned().ok();
        Ok(())
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
            (Errno::EPERM, ..) => {
                InstallError::permission("replacing an XDP program", &[Capability::Bpf], errno)
            }
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

impl Drop for XdpLink {
    /// Closing the descriptor would detach only if no one else has one: whoever lists the links of the system holds each for a
    /// moment, and somebody may keep it.
    fn drop(&mut self) {
        if !self.pinned.load(Ordering::Relaxed) {
            let _ = sys::link_detach(self.link.as_fd());
        }
    }
}
