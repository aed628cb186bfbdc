//! Links of tracepoints. Other programs there are not asked about: all are told. Such links take no other program: another link comes in their
//! place.

use super::hold::Hold;
use super::kind::{Elsewhere, Kind, Made, Target};
use super::site::Site;
use super::xdp::Mode;
use crate::privilege::LOAD;
use crate::tracing::{Tracefs, TracingError};
use crate::{InstallError, sys};
use libbpf_sys::{BPF_LINK_TYPE_PERF_EVENT, BPF_LINK_TYPE_RAW_TRACEPOINT, bpf_link_info};
use moonhook_hook::{Hook, Place, Point, RAW_TRACEPOINT, TRACEPOINT};
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A kind of link that tracepoints have.
pub(super) struct OfTracepoint {
    hook: &'static Hook,
    link_type: u32,
    make: fn(BorrowedFd<'_>, &str) -> Result<OwnedFd, Refusal>,
    /// The tracepoint's name in what the kernel says of a link.
    name: fn(BorrowedFd<'_>) -> Result<String, Errno>,
}

pub(super) const RAW: OfTracepoint = OfTracepoint {
    hook: &RAW_TRACEPOINT,
    link_type: BPF_LINK_TYPE_RAW_TRACEPOINT,
    make: |program, name| Ok(sys::raw_tracepoint_open(program, name)?),
    name: sys::raw_tracepoint_name,
};

pub(super) const BY_PERF: OfTracepoint = OfTracepoint {
    hook: &TRACEPOINT,
    link_type: BPF_LINK_TYPE_PERF_EVENT,
    make: |program, name| {
        let number = Tracefs::open()?.number(name)?;
        let event = sys::tracepoint_event(number)?;
        Ok(sys::perf_link_create(program, event.as_fd())?)
    },
    name: sys::perf_tracepoint_name,
};

/// Why there is no link.
enum Refusal {
    Errno(Errno),
    Tracing(TracingError),
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Refusal {
        Refusal::Errno(errno)
    }
}

impl From<TracingError> for Refusal {
    fn from(error: TracingError) -> Refusal {
        Refusal::Tracing(error)
    }
}

impl Kind for OfTracepoint {
    fn hook(&self) -> &'static Hook {
        self.hook
    }

    fn is(&self, info: &bpf_link_info) -> bool {
        info.type_ == self.link_type
    }

    fn attach(&self, program: BorrowedFd<'_>, point: &Point, _: &Target<'_>) -> Result<Made, InstallError> {
        let name = name_of(&point.place)?;
        let link = (self.make)(program, &name).map_err(|refusal| self.error(point, refusal))?;
        let site = Site::Kernel(point.to_string());
        Ok(Made { hold: Hold::Link(link), site, mode: None, native_refused: None })
    }

    fn find(
        &self,
        info: &bpf_link_info,
        place: &Place,
        _: &Target<'_>,
    ) -> Result<Option<(Site, Option<Mode>)>, Elsewhere> {
        let wanted = name_of(place).map_err(Elsewhere::Error)?;
        let found = sys::link_by_id(info.id).and_then(|link| (self.name)(link.as_fd()));
        match found {
            // Of links of perf events the kernel has the name without its group, and older ones have none.
            Ok(name) if !name.is_empty() && wanted.rsplit('/').next() != Some(&name) => {
                Err(Elsewhere::At(info.id.into()))
            }
            _ => Ok(Some((Site::Kernel(Point::at(self.hook, place.clone()).to_string()), None))),
        }
    }

    fn takes_programs(&self) -> bool {
        false
    }

    /// A tracepoint of a module's goes only when its links have gone.
    fn is_attached(&self, _: &bpf_link_info) -> bool {
        true
    }
}

impl OfTracepoint {
    fn error(&self, point: &Point, refusal: Refusal) -> InstallError {
        let place = point.to_string();
        match refusal {
            Refusal::Errno(Errno::EPERM | Errno::EACCES) => {
                InstallError::permission("attaching to a tracepoint", &LOAD, Errno::EPERM)
            }
            Refusal::Errno(Errno::ENOENT) => InstallError::NoTracepoint { name: place, problem: None },
            Refusal::Errno(errno) => InstallError::AttachFailed { place, errno },
            Refusal::Tracing(TracingError::None { .. }) => {
                InstallError::NoTracepoint { name: place, problem: None }
            }
            Refusal::Tracing(error) => {
                InstallError::NoTracepoint { name: place, problem: Some(error.to_string()) }
            }
        }
    }
}

fn name_of(place: &Place) -> Result<Arc<str>, InstallError> {
    match place {
        Place::Kernel(name) => Ok(name.clone()),
        _ => Err(InstallError::AttachFailed { place: "no tracepoint".to_string(), errno: Errno::EINVAL }),
    }
}
