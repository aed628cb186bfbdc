//! The other ends of veth interfaces: what XDP sends out of a veth arrives only where the other end is made for it, which it is with an XDP
//! program in native mode. One that passes everything will do.

mod other_end;
mod route;

use crate::instructions::returning;
use crate::interface::{self, Interface};
use crate::link::{Mode, create_xdp};
use crate::{InstallError, sys};
use libbpf_sys::{BPF_PROG_TYPE_XDP, BPF_XDP};
use nix::errno::Errno;
use other_end::OtherEnd;
use std::os::fd::{AsFd, OwnedFd};

/// `XDP_PASS` (include/uapi/linux/bpf.h).
const PASS: i32 = 2;

/// The other end of a veth interface, with a program that passes everything, which goes with this value.
#[derive(Debug)]
pub struct Peer {
    /// The interface whose other end it is.
    pub of: String,
    /// Its name in its own network namespace.
    pub interface: String,
    /// Its number there.
    index: u32,
    /// That namespace, by name or path, if it is not the one of the interface.
    pub netns: Option<String>,
    /// `None` where a program is there already.
    link: Option<OwnedFd>,
}

impl Peer {
    /// Puts a program to the other end of the interface in the namespace `netns` (`None`: the caller's), if it has none in native mode.
    ///
    /// # Errors
    /// `NoPeer`; `UnknownInterface`, `UnknownNetns`, and what the kernel refuses of a program that is attached.
    pub fn attach(name: &str, netns: Option<&str>) -> Result<Peer, InstallError> {
        let there = OtherEnd::find(name, netns)?;
        let (interface, link) = there.within(netns, |interface| {
            let link = if has_program(&interface) { None } else { Some(attach(&interface, netns)?) };
            Ok((interface.name, link))
        })?;
        Ok(Peer { of: name.to_string(), interface, index: there.index, netns: there.netns, link })
    }

    /// Whether an interface has an other end.
    ///
    /// # Errors
    /// As of [`Peer::attach`].
    pub fn check(name: &str, netns: Option<&str>) -> Result<(), InstallError> {
        OtherEnd::find(name, netns).map(drop)
    }

    /// Whether it is the other end still: an interface that has been made anew has another one.
    pub fn is_there(&self, netns: Option<&str>) -> bool {
        OtherEnd::find(&self.of, netns)
            .is_ok_and(|there| there.index == self.index && there.netns == self.netns)
    }

    /// Whether the program there is this one's.
    pub fn is_ours(&self) -> bool {
        self.link.is_some()
    }
}

/// How packets get out of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// By `XDP_TX`, which the other end takes with a program only (`veth_xdp_flush`, drivers/net/veth.c).
    Back,
    /// By a redirect, for which receiving by NAPI is enough (`veth_xdp_xmit`), as it does where segments are put together.
    Elsewhere,
}

/// Whether that is a veth interface whose other end, as far as it can be found, does not take what is sent there.
pub fn is_lost(name: &str, netns: Option<&str>, sent: Sent) -> bool {
    let takes = |interface: Interface| {
        Ok(has_program(&interface) || sent == Sent::Elsewhere && interface::has_gro(&interface))
    };
    OtherEnd::find(name, netns).and_then(|there| there.within(netns, takes)).is_ok_and(|takes| !takes)
}

/// Whether that is a veth interface whose other end, as far as it can be found, takes what is sent back, and leaves the TCP and UDP checksums of
/// what it sends to the network card. As a frame of XDP's, none completes them.
pub fn sends_partial_checksums(name: &str, netns: Option<&str>) -> bool {
    let leaves =
        |interface: Interface| Ok(has_program(&interface) && interface::has_tx_checksums(&interface));
    OtherEnd::find(name, netns).and_then(|there| there.within(netns, leaves)).is_ok_and(|leaves| leaves)
}

fn has_program(interface: &Interface) -> bool {
    sys::xdp_query(interface.index).is_ok_and(|found| found.drv_prog_id != 0)
}

fn attach(interface: &Interface, netns: Option<&str>) -> Result<OwnedFd, InstallError> {
    let code = returning(PASS);
    let program = sys::program_load(BPF_PROG_TYPE_XDP, BPF_XDP, c"moonhook_peer", &code)
        .map_err(|errno| failed(interface, errno))?;
    create_xdp(program.as_fd(), interface, Mode::Native, netns)
}

fn failed(interface: &Interface, errno: Errno) -> InstallError {
    InstallError::AttachFailed { place: interface.name.clone(), errno }
}
