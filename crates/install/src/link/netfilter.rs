//! Links of netfilter (net/netfilter/nf_bpf_link.c): a program at a point of the network stack, for one family, with a priority that nobody
//! else has there.

use super::hold::Hold;
use super::kind::{Elsewhere, Kind, Made, Target};
use super::site::{Netfilter, Site};
use super::xdp::Mode;
use crate::privilege::LOAD;
use crate::{InstallError, sys};
use libbpf_sys::{BPF_LINK_TYPE_NETFILTER, bpf_link_info};
use moonhook_hook::{Hook, NETFILTER, NetfilterPlace, Place, Point};
use nix::errno::Errno;
use std::os::fd::{BorrowedFd, OwnedFd};

pub(super) struct OfNetfilter;

/// How far behind the wanted priority one is looked for that is free.
const FURTHEST: i32 = 64;

impl Kind for OfNetfilter {
    fn hook(&self) -> &'static Hook {
        &NETFILTER
    }

    fn is(&self, info: &bpf_link_info) -> bool {
        info.type_ == BPF_LINK_TYPE_NETFILTER
    }

    fn attach(&self, program: BorrowedFd<'_>, point: &Point, _: &Target<'_>) -> Result<Made, InstallError> {
        let wanted = wanted(&point.place)?;
        for priority in wanted.priority..=wanted.priority.saturating_add(FURTHEST).min(i32::MAX - 1) {
            let place = NetfilterPlace { priority, ..wanted };
            match create(program, &place) {
                Ok(link) => {
                    let site = Site::Netfilter(Netfilter { wanted, place });
                    return Ok(Made { hold: Hold::Link(link), site, mode: None, native_refused: None });
                }
                // Tables of nft and iptables, and other links, hold theirs.
                Err(Errno::EBUSY) => {}
                Err(Errno::EPERM) => {
                    return Err(InstallError::permission("attaching to netfilter", &LOAD[..2], Errno::EPERM));
                }
                Err(errno) => return Err(InstallError::AttachFailed { place: place.to_string(), errno }),
            }
        }
        Err(InstallError::AttachFailed { place: wanted.to_string(), errno: Errno::EBUSY })
    }

    fn find(
        &self,
        info: &bpf_link_info,
        place: &Place,
        _: &Target<'_>,
    ) -> Result<Option<(Site, Option<Mode>)>, Elsewhere> {
        let wanted = wanted(place).map_err(Elsewhere::Error)?;
        // SAFETY: for a link of netfilter the kernel has filled in this member.
        let found = unsafe { info.__bindgen_anon_1.netfilter };
        if (found.pf, found.hooknum) != (wanted.family as u32, wanted.number) {
            return Err(Elsewhere::At(found.hooknum.into()));
        }
        let place = NetfilterPlace { priority: found.priority, ..wanted };
        Ok(Some((Site::Netfilter(Netfilter { wanted, place }), None)))
    }

    /// `bpf_nf_link_update` of net/netfilter/nf_bpf_link.c refuses it.
    fn takes_programs(&self) -> bool {
        false
    }

    /// The information on a link does not say whether somebody has detached it. Its namespace exists as long as it does.
    fn is_attached(&self, _: &bpf_link_info) -> bool {
        true
    }
}

fn wanted(place: &Place) -> Result<NetfilterPlace, InstallError> {
    match place {
        Place::Netfilter(place) => Ok(*place),
        _ => Err(InstallError::AttachFailed {
            place: "no point of netfilter".to_string(),
            errno: Errno::EINVAL,
        }),
    }
}

fn create(program: BorrowedFd<'_>, place: &NetfilterPlace) -> Result<OwnedFd, Errno> {
    sys::netfilter_link_create(program, place.family as u32, place.number, place.priority, place.defragments)
}
