//! Links of the XDP hook.

use super::kind::Wanted;
use super::of_interface::{Attached, OfInterface, attach_error, create as create_link, has_program};
use crate::interface::{self, Interface};
use crate::{InstallError, holder, sys};
use moonhook_hook::XDP;
use nix::errno::Errno;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::os::fd::{BorrowedFd, OwnedFd};

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

pub(super) const KIND: OfInterface = OfInterface {
    hook: &XDP,
    is: |info| info.type_ == libbpf_sys::BPF_LINK_TYPE_XDP,
    attach,
    mode: |interface| Some(if holder::is_generic(interface) { Mode::Generic } else { Mode::Native }),
    is_at: |info, interface| {
        sys::xdp_query(interface.index)
            .is_ok_and(|found| has_program(info, &[found.prog_id, found.drv_prog_id, found.skb_prog_id]))
    },
    programs: |_| Vec::new(),
    // SAFETY: for a link of type XDP the kernel has filled in the `xdp` member.
    index: |info| unsafe { info.__bindgen_anon_1.xdp.ifindex },
};

fn attach(
    program: BorrowedFd<'_>,
    interface: &Interface,
    &Wanted { mode: wanted, netns, .. }: &Wanted<'_>,
) -> Result<Attached, InstallError> {
    let made = |mode| {
        let link = create(program, interface, mode, netns)?;
        Ok(Attached { link, mode: Some(mode), native_refused: None })
    };
    match wanted {
        RequestedMode::Native => made(Mode::Native),
        RequestedMode::Generic => made(Mode::Generic),
        RequestedMode::Auto => made(Mode::Native).or_else(|error| match native_refusal(&error) {
            None => Err(error),
            why => Ok(Attached { native_refused: why, ..made(Mode::Generic)? }),
        }),
    }
}

/// Why native mode is out of the question, if that is what the error says: then generic mode is worth a try.
fn native_refusal(error: &InstallError) -> Option<String> {
    match error {
        InstallError::NativeRefused { why, .. } => Some(why.clone()),
        InstallError::MtuTooLarge { .. } => Some(error.to_string()),
        _ => None,
    }
}

pub(crate) fn create(
    program: BorrowedFd<'_>,
    interface: &Interface,
    mode: Mode,
    netns: Option<&str>,
) -> Result<OwnedFd, InstallError> {
    create_link(program, interface, libbpf_sys::BPF_XDP, mode.flag())
        .map_err(|errno| error_of(errno, interface, mode, netns))
}

/// What an errno of `BPF_LINK_CREATE` means: `dev_xdp_attach` and `generic_xdp_install` in net/core/dev.c, and the
/// drivers' `ndo_bpf` (for veth `veth_xdp_set`).
fn error_of(errno: Errno, interface: &Interface, mode: Mode, netns: Option<&str>) -> InstallError {
    match (errno, attach_error(errno, interface, netns)) {
        (Errno::EBUSY | Errno::EEXIST, InstallError::AttachFailed { place: name, .. }) => {
            let (netns, holder) = (netns.map(str::to_string), holder::of_xdp(interface).map(Box::new));
            InstallError::HookBusy { interface: name, netns, holder }
        }
        (_, InstallError::AttachFailed { .. }) if mode == Mode::Native => native_error(errno, interface),
        (_, error) => error,
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
