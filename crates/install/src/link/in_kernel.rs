//! Links of places in the kernel's code, which are tracepoints and functions. Other programs there are not asked about: all are told. Such links
//! take no other program: another link comes in their place.

use super::hold::Hold;
use super::kind::{Elsewhere, Kind, Made, Target};
use super::site::Site;
use super::xdp::Mode;
use crate::privilege::LOAD;
use crate::tracing::{Probes, Tracefs, TracingError, When, why_not};
use crate::{InstallError, sys};
use libbpf_sys::{
    BPF_LINK_TYPE_PERF_EVENT, BPF_LINK_TYPE_RAW_TRACEPOINT, BPF_PERF_EVENT_KPROBE, BPF_PERF_EVENT_KRETPROBE,
    BPF_PERF_EVENT_TRACEPOINT, bpf_link_info,
};
use moonhook_hook::{self as hook, Hook, Place, Point};
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A kind of link that such places have.
pub(super) struct InKernel {
    hook: &'static Hook,
    by: By,
    make: fn(BorrowedFd<'_>, &str) -> Result<OwnedFd, Refusal>,
}

/// What the kernel calls a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    RawTracepoint,
    /// Of a perf event of that type (`enum bpf_perf_event_type`), where the kernel says it: from 6.6 on.
    PerfEvent(u32),
}

pub(super) const RAW_TRACEPOINT: InKernel = InKernel {
    hook: &hook::RAW_TRACEPOINT,
    by: By::RawTracepoint,
    make: |program, name| Ok(sys::raw_tracepoint_open(program, name)?),
};

pub(super) const TRACEPOINT: InKernel = InKernel {
    hook: &hook::TRACEPOINT,
    by: By::PerfEvent(BPF_PERF_EVENT_TRACEPOINT),
    make: |program, name| {
        let number = Tracefs::open()?.number(name)?;
        let event = sys::tracepoint_event(number)?;
        Ok(sys::perf_link_create(program, event.as_fd())?)
    },
};

pub(super) const CALL: InKernel = InKernel {
    hook: &hook::KPROBE,
    by: By::PerfEvent(BPF_PERF_EVENT_KPROBE),
    make: |program, name| of_function(program, name, When::Call),
};

pub(super) const RETURN: InKernel = InKernel {
    hook: &hook::KRETPROBE,
    by: By::PerfEvent(BPF_PERF_EVENT_KRETPROBE),
    make: |program, name| of_function(program, name, When::Return),
};

fn of_function(program: BorrowedFd<'_>, name: &str, when: When) -> Result<OwnedFd, Refusal> {
    let probes = Probes::open().map_err(|error| Refusal::NotProbed(error.to_string()))?;
    let event = probes.event(name, when).map_err(|errno| match errno {
        Errno::EPERM | Errno::EACCES => Refusal::Errno(errno),
        errno => Refusal::NotProbed(why_not(name, errno)),
    })?;
    Ok(sys::perf_link_create(program, event.as_fd())?)
}

/// Why there is no link.
enum Refusal {
    Errno(Errno),
    Tracing(TracingError),
    /// Of a function, and why.
    NotProbed(String),
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

impl Kind for InKernel {
    fn hook(&self) -> &'static Hook {
        self.hook
    }

    fn is(&self, info: &bpf_link_info) -> bool {
        match self.by {
            By::RawTracepoint => info.type_ == BPF_LINK_TYPE_RAW_TRACEPOINT,
            By::PerfEvent(own) => {
                // SAFETY: for a link of a perf event the kernel has filled in this member, or left zeros.
                let kind = || unsafe { info.__bindgen_anon_1.perf_event.type_ };
                info.type_ == BPF_LINK_TYPE_PERF_EVENT && [0, own].contains(&kind())
            }
        }
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
        let found = sys::link_by_id(info.id).and_then(|link| self.by.name(link.as_fd()));
        match found {
            // Of links of tracepoints' perf events the kernel has the name without its group, and older ones have none.
            Ok(name) if !name.is_empty() && wanted.rsplit('/').next() != Some(&name) => {
                Err(Elsewhere::At(info.id.into()))
            }
            _ => Ok(Some((Site::Kernel(Point::at(self.hook, place.clone()).to_string()), None))),
        }
    }

    fn takes_programs(&self) -> bool {
        false
    }

    /// What is a module's goes only when its links have gone.
    fn is_attached(&self, _: &bpf_link_info) -> bool {
        true
    }
}

impl InKernel {
    fn error(&self, point: &Point, refusal: Refusal) -> InstallError {
        let place = point.to_string();
        match refusal {
            Refusal::Errno(Errno::EPERM | Errno::EACCES) => {
                InstallError::permission("attaching to the kernel's code", &LOAD, Errno::EPERM)
            }
            Refusal::Errno(Errno::ENOENT) => InstallError::NoTracepoint { name: place, problem: None },
            Refusal::Errno(errno) => InstallError::AttachFailed { place, errno },
            Refusal::NotProbed(why) => InstallError::NotProbed { name: place, why },
            Refusal::Tracing(TracingError::None { .. }) => {
                InstallError::NoTracepoint { name: place, problem: None }
            }
            Refusal::Tracing(error) => {
                InstallError::NoTracepoint { name: place, problem: Some(error.to_string()) }
            }
        }
    }
}

impl By {
    /// The place's name in what the kernel says of a link; empty where it does not say.
    fn name(self, link: BorrowedFd<'_>) -> Result<String, Errno> {
        match self {
            By::RawTracepoint => sys::raw_tracepoint_name(link),
            By::PerfEvent(BPF_PERF_EVENT_TRACEPOINT) => sys::perf_tracepoint_name(link),
            By::PerfEvent(kind) => sys::perf_function_name(link, kind),
        }
    }
}

fn name_of(place: &Place) -> Result<Arc<str>, InstallError> {
    match place {
        Place::Kernel(name) => Ok(name.clone()),
        _ => Err(InstallError::AttachFailed {
            place: "no place of the kernel's".to_string(),
            errno: Errno::EINVAL,
        }),
    }
}
