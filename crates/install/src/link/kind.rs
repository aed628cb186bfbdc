//! What a kind of link is.

use super::hold::Hold;
use super::site::Site;
use super::xdp::{Mode, RequestedMode};
use crate::InstallError;
use crate::interface::InterfaceName;
use libbpf_sys::bpf_link_info;
use moonhook_hook::{Hook, Order, Place, Point};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// A kind of link.
pub trait Kind: Sync {
    fn hook(&self) -> &'static Hook;

    /// Whether a link is of this kind.
    fn is(&self, info: &bpf_link_info) -> bool;

    /// Finds the place, and puts a program into its hook. In the namespace of the target.
    fn attach(
        &self,
        program: BorrowedFd<'_>,
        point: &Point,
        target: &Target<'_>,
    ) -> Result<Made, InstallError>;

    /// Where a link is whose information is this; `None` if what it was attached to is gone. An error if that is not the place. In the
    /// namespace of the target.
    fn find(
        &self,
        info: &bpf_link_info,
        place: &Place,
        target: &Target<'_>,
    ) -> Result<Option<(Site, Option<Mode>)>, Elsewhere>;

    /// Whether the kernel puts another program into such a link; else a link is replaced as a whole.
    fn takes_programs(&self) -> bool {
        true
    }

    /// The numbers of the programs where the link is, in the order in which they are asked; none at hooks without lists of them.
    fn programs(&self, _: &Site) -> Vec<u32> {
        Vec::new()
    }

    /// Whether what the link is attached to still exists.
    fn is_attached(&self, info: &bpf_link_info) -> bool;
}

/// Why there is no link at a place.
pub enum Elsewhere {
    /// It is attached to something else, of that number.
    At(u64),
    Error(InstallError),
}

/// How a program is to be attached to an interface.
pub(super) struct Wanted<'a> {
    pub mode: RequestedMode,
    pub order: &'a Order,
    /// What errors call the interface's network namespace; `None`: the caller's.
    pub netns: Option<&'a str>,
}

/// A link that was made.
pub struct Made {
    pub hold: Hold,
    pub site: Site,
    pub mode: Option<Mode>,
    /// Why native mode was not to be had, if it was wanted.
    pub native_refused: Option<String>,
}

/// What a person says of where programs are to be put.
#[derive(Clone, Debug)]
pub struct Target<'a> {
    /// For the hooks of interfaces.
    pub interface: Option<InterfaceName>,
    pub mode: RequestedMode,
    /// The network namespace; `None`: the caller's.
    pub netns: Option<&'a str>,
    /// The script's folder in a BPF file system, where others find what they are to use; it need not exist.
    pub folder: Option<&'a Path>,
}
