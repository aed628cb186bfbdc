//! Calls about tracepoints and functions of the kernel.

use super::{check, link_create, link_info, owned};
use libbpf_sys as bpf;
use nix::errno::Errno;
use nix::libc;
use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `BPF_RAW_TRACEPOINT_OPEN`: a link of the raw tracepoint of that name.
pub(crate) fn raw_tracepoint_open(program: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let name = CString::new(name).map_err(|_| Errno::EINVAL)?;
    // SAFETY: the descriptor is open, and the name outlives the call.
    owned(unsafe { bpf::bpf_raw_tracepoint_open(name.as_ptr(), program.as_raw_fd()) })
}

/// A perf event of the tracepoint with that number, on all CPUs: programs of any such event are run on each (perf_event_open(2)).
pub(crate) fn tracepoint_event(number: u64) -> Result<OwnedFd, Errno> {
    let attributes = bpf::perf_event_attr {
        type_: bpf::PERF_TYPE_TRACEPOINT,
        size: size_of::<bpf::perf_event_attr>() as u32,
        config: number,
        ..Default::default()
    };
    // SAFETY: the attributes have no pointers in them.
    unsafe { open_event(&attributes) }
}

/// The same of a function of the kernel: of calls of it or of its returns, by the configuration of that type of events.
pub(crate) fn function_event(type_: u32, config: u64, function: &CStr) -> Result<OwnedFd, Errno> {
    let mut attributes = bpf::perf_event_attr {
        type_,
        size: size_of::<bpf::perf_event_attr>() as u32,
        config,
        ..Default::default()
    };
    attributes.__bindgen_anon_3.kprobe_func = function.as_ptr() as u64;
    // SAFETY: the name outlives the call.
    unsafe { open_event(&attributes) }
}

/// # Safety
/// What the attributes point to has to be what their type wants.
unsafe fn open_event(attributes: &bpf::perf_event_attr) -> Result<OwnedFd, Errno> {
    const EVERY_PROCESS: i32 = -1;
    const FIRST_CPU: i32 = 0;
    const NO_GROUP: i32 = -1;
    let flags = bpf::PERF_FLAG_FD_CLOEXEC;
    // SAFETY: the attributes outlive the call; the rest is the caller's.
    let event = unsafe {
        let attributes = std::ptr::from_ref(attributes);
        libc::syscall(libc::SYS_perf_event_open, attributes, EVERY_PROCESS, FIRST_CPU, NO_GROUP, flags)
    };
    // SAFETY: a result that is not negative is a new descriptor that nothing else owns.
    Errno::result(event).map(|fd| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// `BPF_LINK_CREATE` of a perf event, which is enabled and stays with the link.
pub(crate) fn perf_link_create(program: BorrowedFd<'_>, event: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    /// `PERF_EVENT_IOC_ENABLE` (include/uapi/linux/perf_event.h).
    const ENABLE: libc::c_ulong = 0x2400;
    let link = link_create(program, event.as_raw_fd(), bpf::BPF_PERF_EVENT, 0)?;
    // SAFETY: the descriptor is open, and the request takes no argument.
    Errno::result(unsafe { libc::ioctl(event.as_raw_fd(), ENABLE as _, 0) })?;
    Ok(link)
}

/// Bytes of a name at most, with the NUL.
const NAME: usize = 128;

/// The tracepoint's name, of a link of a raw one.
pub(crate) fn raw_tracepoint_name(link: BorrowedFd<'_>) -> Result<String, Errno> {
    named(link, |info, name| {
        info.__bindgen_anon_1.raw_tracepoint.tp_name = name.as_mut_ptr() as u64;
        info.__bindgen_anon_1.raw_tracepoint.tp_name_len = NAME as u32;
    })
}

/// The tracepoint's name without its group, of a link of a perf event; empty where the kernel does not say.
pub(crate) fn perf_tracepoint_name(link: BorrowedFd<'_>) -> Result<String, Errno> {
    let known = link_info(link)?;
    // SAFETY: for a link of a perf event the kernel has filled in this member; those before 6.6 leave the zeros that were there.
    if unsafe { known.__bindgen_anon_1.perf_event.type_ } != bpf::BPF_PERF_EVENT_TRACEPOINT {
        return Ok(String::new());
    }
    named(link, |info, name| {
        // SAFETY: all members of the union are numbers.
        let tracepoint = unsafe { &mut info.__bindgen_anon_1.perf_event.__bindgen_anon_1.tracepoint };
        (tracepoint.tp_name, tracepoint.name_len) = (name.as_mut_ptr() as u64, NAME as u32);
    })
}

/// The function's name, of a link of a perf event of that type; empty where the kernel does not say, or says an address alone.
pub(crate) fn perf_function_name(link: BorrowedFd<'_>, kind: u32) -> Result<String, Errno> {
    let known = link_info(link)?;
    // SAFETY: as above.
    if unsafe { known.__bindgen_anon_1.perf_event.type_ } != kind {
        return Ok(String::new());
    }
    named(link, |info, name| {
        // SAFETY: all members of the union are numbers.
        let function = unsafe { &mut info.__bindgen_anon_1.perf_event.__bindgen_anon_1.kprobe };
        (function.func_name, function.name_len) = (name.as_mut_ptr() as u64, NAME as u32);
    })
}

/// `BPF_OBJ_GET_INFO_BY_FD` of a link, with the name for which `point_to` says where it goes.
fn named(
    link: BorrowedFd<'_>,
    point_to: impl FnOnce(&mut bpf::bpf_link_info, &mut [u8; NAME]),
) -> Result<String, Errno> {
    let (mut info, mut name) = (bpf::bpf_link_info::default(), [0; NAME]);
    point_to(&mut info, &mut name);
    let mut size = size_of::<bpf::bpf_link_info>() as u32;
    // SAFETY: `info` is writable for `size` bytes, and says of `name` how long it is.
    check(unsafe { bpf::bpf_link_get_info_by_fd(link.as_raw_fd(), &raw mut info, &raw mut size) })?;
    let name = CStr::from_bytes_until_nul(&name).map_err(|_| Errno::EINVAL)?;
    Ok(name.to_string_lossy().into_owned())
}
