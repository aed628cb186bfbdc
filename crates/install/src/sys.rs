//! The calls into libbpf that libbpf-rs has no safe form of. All other `unsafe` of this crate stands next to its use.

mod tracing;

use libbpf_sys as bpf;
use nix::errno::Errno;
use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(crate) use tracing::*;

/// libbpf's result convention: negative is `-errno`.
fn check(result: i32) -> Result<i32, Errno> {
    match result {
        ENOTSUPP => Err(Errno::EOPNOTSUPP),
        error if error < 0 => Err(Errno::from_raw(-error)),
        result => Ok(result),
    }
}

/// An errno of the kernel's own (include/linux/errno.h) that escapes to user space here and there.
const ENOTSUPP: i32 = -524;

fn owned(result: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: a result that is not negative is a new descriptor that nothing else owns.
    check(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// `BPF_OBJ_GET_INFO_BY_FD` of a program, without its arrays.
pub(crate) fn program_info(program: BorrowedFd<'_>) -> Result<bpf::bpf_prog_info, Errno> {
    let mut info = bpf::bpf_prog_info::default();
    let mut size = size_of::<bpf::bpf_prog_info>() as u32;
    // SAFETY: `info` is writable for `size` bytes and zeroed, so that the kernel takes it as a request without arrays.
    check(unsafe { bpf::bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut size) })?;
    Ok(info)
}

/// `BPF_OBJ_GET_INFO_BY_FD` of a map.
pub(crate) fn map_info(map: BorrowedFd<'_>) -> Result<bpf::bpf_map_info, Errno> {
    let mut info = bpf::bpf_map_info::default();
    let mut size = size_of::<bpf::bpf_map_info>() as u32;
    // SAFETY: as in `program_info`.
    check(unsafe { bpf::bpf_map_get_info_by_fd(map.as_raw_fd(), &raw mut info, &raw mut size) })?;
    Ok(info)
}

/// A new map of the same type, sizes and flags, under the same name, whose keys and values have the same types.
pub(crate) fn map_like(info: &bpf::bpf_map_info) -> Result<OwnedFd, Errno> {
    // SAFETY: takes no pointers.
    let btf = owned(unsafe { bpf::bpf_btf_get_fd_by_id(info.btf_id) }).ok().filter(|_| info.btf_id != 0);
    let types = btf.as_ref().map_or((0, 0), |_| (info.btf_key_type_id, info.btf_value_type_id));
    let options = bpf::bpf_map_create_opts {
        sz: size_of::<bpf::bpf_map_create_opts>() as _,
        map_flags: info.map_flags,
        map_extra: info.map_extra,
        btf_fd: btf.as_ref().map_or(0, |btf| btf.as_raw_fd() as u32),
        btf_key_type_id: types.0,
        btf_value_type_id: types.1,
        ..Default::default()
    };
    let (key_size, value_size, entries) = (info.key_size, info.value_size, info.max_entries);
    // SAFETY: the name in `info` is a C string, as the kernel has written it, and `options` outlives the call.
    owned(unsafe {
        bpf::bpf_map_create(info.type_, info.name.as_ptr(), key_size, value_size, entries, &raw const options)
    })
}

/// The value at index 0 of an array, of `size` bytes.
pub(crate) fn first_value(map: BorrowedFd<'_>, size: usize) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; size];
    let key = 0u32;
    // SAFETY: the key is four bytes, as of every array, and the value has room for `size` bytes, the map's own value size.
    let found = unsafe {
        bpf::bpf_map_lookup_elem(map.as_raw_fd(), (&raw const key).cast(), value.as_mut_ptr().cast())
    };
    check(found).map(|_| value)
}

/// The name in a `bpf_prog_info`: at most 15 bytes, as the kernel keeps it.
pub(crate) fn program_name(info: &bpf::bpf_prog_info) -> String {
    let bytes: Vec<u8> = info.name.iter().map(|c| *c as u8).take_while(|c| *c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The name of a program of that number; empty where there is none, or none can be had.
pub(crate) fn name_of_program(id: u32) -> String {
    let info = program_by_id(id).and_then(|program| program_info(program.as_fd()));
    info.map(|info| program_name(&info)).unwrap_or_default()
}

/// `BPF_OBJ_GET_INFO_BY_FD` of a link, without its strings.
pub(crate) fn link_info(link: BorrowedFd<'_>) -> Result<bpf::bpf_link_info, Errno> {
    let mut info = bpf::bpf_link_info::default();
    let mut size = size_of::<bpf::bpf_link_info>() as u32;
    // SAFETY: as in `program_info`.
    check(unsafe { bpf::bpf_link_get_info_by_fd(link.as_raw_fd(), &raw mut info, &raw mut size) })?;
    Ok(info)
}

/// `BPF_LINK_CREATE` with `flags` only.
pub(crate) fn link_create(
    program: BorrowedFd<'_>,
    target: i32,
    attach_type: bpf::bpf_attach_type,
    flags: u32,
) -> Result<OwnedFd, Errno> {
    let options = bpf::bpf_link_create_opts {
        sz: size_of::<bpf::bpf_link_create_opts>() as _,
        flags,
        ..Default::default()
    };
    // SAFETY: `options` outlives the call and has no pointers in it.
    owned(unsafe { bpf::bpf_link_create(program.as_raw_fd(), target, attach_type, &raw const options) })
}

/// `BPF_LINK_CREATE` of a tcx link, with the number of the program that it is to stand before or behind, 0 for none.
pub(crate) fn tcx_link_create(
    program: BorrowedFd<'_>,
    index: i32,
    attach_type: bpf::bpf_attach_type,
    flags: u32,
    relative: u32,
) -> Result<OwnedFd, Errno> {
    let mut options = bpf::bpf_link_create_opts {
        sz: size_of::<bpf::bpf_link_create_opts>() as _,
        flags,
        ..Default::default()
    };
    options.__bindgen_anon_1.tcx.relative_id = relative;
    // SAFETY: `options` outlives the call and has no pointers in it.
    owned(unsafe { bpf::bpf_link_create(program.as_raw_fd(), index, attach_type, &raw const options) })
}

/// `BPF_LINK_CREATE` of a netfilter link in the caller's network namespace, for `family` (`NFPROTO_…`), at the point of that number.
pub(crate) fn netfilter_link_create(
    program: BorrowedFd<'_>,
    family: u32,
    number: u32,
    priority: i32,
    defragments: bool,
) -> Result<OwnedFd, Errno> {
    let mut options =
        bpf::bpf_link_create_opts { sz: size_of::<bpf::bpf_link_create_opts>() as _, ..Default::default() };
    options.__bindgen_anon_1.netfilter.pf = family;
    options.__bindgen_anon_1.netfilter.hooknum = number;
    options.__bindgen_anon_1.netfilter.priority = priority;
    if defragments {
        options.__bindgen_anon_1.netfilter.flags = bpf::BPF_F_NETFILTER_IP_DEFRAG;
    }
    // SAFETY: `options` outlives the call and has no pointers in it.
    owned(unsafe { bpf::bpf_link_create(program.as_raw_fd(), 0, bpf::BPF_NETFILTER, &raw const options) })
}

/// `BPF_LINK_UPDATE`: atomically puts `program` in the place of the link's program. With `before`, only in the place of that
/// one (`BPF_F_REPLACE`): `EPERM` if the link has another.
pub(crate) fn link_update(
    link: BorrowedFd<'_>,
    program: BorrowedFd<'_>,
    before: Option<BorrowedFd<'_>>,
) -> Result<(), Errno> {
    let options = bpf::bpf_link_update_opts {
        sz: size_of::<bpf::bpf_link_update_opts>() as _,
        flags: if before.is_some() { bpf::BPF_F_REPLACE } else { 0 },
        old_prog_fd: before.map_or(0, |before| before.as_raw_fd() as u32),
        ..Default::default()
    };
    // SAFETY: all descriptors are open, and `options` outlives the call.
    check(unsafe { bpf::bpf_link_update(link.as_raw_fd(), program.as_raw_fd(), &raw const options) })
        .map(drop)
}

/// `BPF_LINK_DETACH`: the hook is free when this returns, whoever else holds the link.
pub(crate) fn link_detach(link: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the descriptor is open.
    check(unsafe { bpf::bpf_link_detach(link.as_raw_fd()) }).map(drop)
}

fn c_path(path: &Path) -> Result<CString, Errno> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)
}

/// `BPF_OBJ_PIN`.
pub(crate) fn pin(object: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
    let path = c_path(path)?;
    // SAFETY: the descriptor is open and the path a C string.
    check(unsafe { bpf::bpf_obj_pin(object.as_raw_fd(), path.as_ptr()) }).map(drop)
}

/// `BPF_OBJ_GET`.
pub(crate) fn pinned(path: &Path) -> Result<OwnedFd, Errno> {
    let path = c_path(path)?;
    // SAFETY: the path is a C string.
    owned(unsafe { bpf::bpf_obj_get(path.as_ptr()) })
}

/// The ids of all links there are. Needs CAP_SYS_ADMIN; without it there are none.
pub(crate) fn link_ids() -> impl Iterator<Item = u32> {
    let mut last = 0;
    std::iter::from_fn(move || {
        let mut next = 0;
        // SAFETY: `next` is writable.
        let found = unsafe { bpf::bpf_link_get_next_id(last, &raw mut next) } == 0;
        last = next;
        found.then_some(next)
    })
}

/// Needs CAP_SYS_ADMIN.
pub(crate) fn link_by_id(id: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: takes no pointers.
    owned(unsafe { bpf::bpf_link_get_fd_by_id(id) })
}

/// Needs CAP_SYS_ADMIN.
pub(crate) fn program_by_id(id: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: takes no pointers.
    owned(unsafe { bpf::bpf_prog_get_fd_by_id(id) })
}

/// The most programs that a hook with a list takes: one less than `BPF_MPROG_MAX` (include/linux/bpf_mprog.h), for the list's end takes
/// a place.
pub(crate) const MOST_AT_ONCE: usize = 63;

/// The numbers of the programs in a list, in order: of an interface's direction (`BPF_TCX_…`; the target is its index, in the caller's
/// network namespace), or of a control group's (its descriptor).
pub(crate) fn programs_at(
    target: i32,
    attach_type: bpf::bpf_attach_type,
    flags: u32,
) -> Result<Vec<u32>, Errno> {
    let mut ids = vec![0; MOST_AT_ONCE];
    let mut query = bpf::bpf_prog_query_opts {
        sz: size_of::<bpf::bpf_prog_query_opts>() as _,
        query_flags: flags,
        prog_ids: ids.as_mut_ptr(),
        ..Default::default()
    };
    query.__bindgen_anon_1.count = MOST_AT_ONCE as u32;
    // SAFETY: `ids` has room for as many numbers as `query` says, and outlives the call.
    check(unsafe { bpf::bpf_prog_query_opts(target, attach_type, &raw mut query) })?;
    // SAFETY: the kernel has filled in the count.
    ids.truncate(unsafe { query.__bindgen_anon_1.count } as usize);
    Ok(ids)
}

/// What is attached to the XDP hook of an interface, asked over netlink in the caller's network namespace.
pub(crate) fn xdp_query(ifindex: u32) -> Result<bpf::bpf_xdp_query_opts, Errno> {
    let mut options =
        bpf::bpf_xdp_query_opts { sz: size_of::<bpf::bpf_xdp_query_opts>() as _, ..Default::default() };
    // SAFETY: `options` is writable and says its size.
    check(unsafe { bpf::bpf_xdp_query(ifindex as i32, 0, &raw mut options) })?;
    Ok(options)
}

/// The outcome of one `BPF_PROG_TEST_RUN`.
pub(crate) struct RawRun {
    pub(crate) verdict: u32,
    /// Average per repetition.
    pub(crate) duration_ns: u32,
    /// How much of the output buffer holds the frame afterwards.
    pub(crate) length: usize,
}

/// `struct xdp_md`, as words of 32 bits. Of a frame that is to be run it says where that ends (the second one); of one that was, also where
/// it starts (the first one), counted from the first byte that comes back.
pub(crate) type XdpContext = [u32; 6];

/// The first word of what netfilter's programs are given beside a packet (`struct nf_hook_state`, include/linux/netfilter.h): the point's number, and the family's, a byte each.
pub(crate) type NetfilterContext = [u32; 1];

/// `BPF_PROG_TEST_RUN` of `program` on `frame`, `repeat` times; what comes back goes to `output`, and to the context, if there is one.
pub(crate) fn test_run(
    program: BorrowedFd<'_>,
    frame: &[u8],
    output: &mut [u8],
    repeat: u32,
    context: Option<&mut [u32]>,
) -> Result<RawRun, Errno> {
    let (context, context_size) = match context {
        Some(context) => (context.as_mut_ptr(), size_of_val(context) as u32),
        None => (std::ptr::null_mut(), 0),
    };
    let mut options = bpf::bpf_test_run_opts {
        sz: size_of::<bpf::bpf_test_run_opts>() as _,
        data_in: frame.as_ptr().cast(),
        data_size_in: u32::try_from(frame.len()).map_err(|_| Errno::EMSGSIZE)?,
        data_out: output.as_mut_ptr().cast(),
        data_size_out: u32::try_from(output.len()).unwrap_or(u32::MAX),
        repeat: i32::try_from(repeat).map_err(|_| Errno::EINVAL)?,
        ctx_in: context.cast_const().cast(),
        ctx_size_in: context_size,
        ctx_out: context.cast(),
        ctx_size_out: context_size,
        ..Default::default()
    };
    // SAFETY: the slices and the context live through the call, and their lengths are the ones given; the kernel has read the context
    // before it writes it.
    check(unsafe { bpf::bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) })?;
    let length = (options.data_size_out as usize).min(output.len());
    Ok(RawRun { verdict: options.retval, duration_ns: options.duration, length })
}

/// `BPF_PROG_LOAD` of hand-made instructions, under a licence that allows every helper.
pub(crate) fn program_load(
    program_type: bpf::bpf_prog_type,
    expected_attach_type: bpf::bpf_attach_type,
    name: &CStr,
    code: &[bpf::bpf_insn],
) -> Result<OwnedFd, Errno> {
    let mut options = bpf::bpf_prog_load_opts {
        sz: size_of::<bpf::bpf_prog_load_opts>() as _,
        expected_attach_type,
        ..Default::default()
    };
    // SAFETY: name, licence and code live through the call; `code.len()` instructions are there.
    owned(unsafe {
        bpf::bpf_prog_load(
            program_type,
            name.as_ptr(),
            c"GPL".as_ptr(),
            code.as_ptr(),
            code.len() as _,
            &raw mut options,
        )
    })
}

/// `BPF_MAP_CREATE` without BTF; sizes in bytes.
pub(crate) fn map_create(
    map_type: bpf::bpf_map_type,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
) -> Result<OwnedFd, Errno> {
    let options = bpf::bpf_map_create_opts {
        sz: size_of::<bpf::bpf_map_create_opts>() as _,
        map_flags: flags,
        ..Default::default()
    };
    let name = c"moonhook_probe".as_ptr();
    // SAFETY: the name is a C string and `options` outlives the call.
    owned(unsafe {
        bpf::bpf_map_create(map_type, name, key_size, value_size, max_entries, &raw const options)
    })
}

/// Whether a descriptor is one of a map: the kernel tells by what it is called.
pub(crate) fn is_map(object: BorrowedFd<'_>) -> bool {
    let name = std::fs::read_link(format!("/proc/self/fd/{}", object.as_raw_fd()));
    name.is_ok_and(|name| name.as_os_str() == "anon_inode:bpf-map")
}

/// Needs CAP_SYS_ADMIN.
pub(crate) fn map_by_id(id: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: takes no pointers.
    owned(unsafe { bpf::bpf_map_get_fd_by_id(id) })
}

/// The numbers of the maps that a program uses, 16 of them at most.
pub(crate) fn maps_of(program: BorrowedFd<'_>) -> Result<Vec<u32>, Errno> {
    let mut ids = [0_u32; 16];
    let mut info = bpf::bpf_prog_info {
        nr_map_ids: ids.len() as u32,
        map_ids: ids.as_mut_ptr() as u64,
        ..Default::default()
    };
    let mut size = size_of::<bpf::bpf_prog_info>() as u32;
    // SAFETY: `info` is writable, says its size, and `ids` has room for as many numbers as it says.
    check(unsafe { bpf::bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut size) })?;
    Ok(ids[..ids.len().min(info.nr_map_ids as usize)].to_vec())
}

/// The first place of an array of programs.
static FIRST: u32 = 0;

/// Puts a program into an array of programs, as its first.
pub(crate) fn set_program(array: BorrowedFd<'_>, program: BorrowedFd<'_>) -> Result<(), Errno> {
    let number = program.as_raw_fd();
    // SAFETY: the array has keys and values of 4 bytes, as these are.
    let result = unsafe {
        bpf::bpf_map_update_elem(array.as_raw_fd(), (&raw const FIRST).cast(), (&raw const number).cast(), 0)
    };
    check(result).map(drop)
}

/// The kernel's number of the first program in an array; `ENOENT` where there is none.
pub(crate) fn program_in(array: BorrowedFd<'_>) -> Result<u32, Errno> {
    let mut number = 0_u32;
    // SAFETY: as in `set_program`.
    let result = unsafe {
        bpf::bpf_map_lookup_elem(array.as_raw_fd(), (&raw const FIRST).cast(), (&raw mut number).cast())
    };
    check(result).map(|_| number)
}

/// Takes the first program out of an array; `ENOENT` where there is none.
pub(crate) fn remove_program(array: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: as in `set_program`.
    check(unsafe { bpf::bpf_map_delete_elem(array.as_raw_fd(), (&raw const FIRST).cast()) }).map(drop)
}
