//! Maps of an earlier program in the place of an object's own.

use crate::arena::is_arena;
use crate::map::access;
use crate::raw::{NewMap, make_map};
use crate::test_run::page_size;
use crate::{InstallError, Program, sys};
use libbpf_rs::{AsRawLibbpf, MapCore, OpenObject};
use nix::errno::Errno;
use nix::libc::{self, c_void};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The place of the map or data section `name` among the object's. It has to be asked for before any map is used again: such a map goes by
/// the name that it was made with from then on (`bpf_map__reuse_fd`, libbpf.c), which may be that of another one.
pub(crate) fn place(opened: &OpenObject, name: &str) -> Result<usize, InstallError> {
    let existing = || opened.maps().map(|map| map.name().to_string_lossy().into_owned()).collect();
    let place = opened.maps().position(|own| own.name() == name);
    place.ok_or_else(|| InstallError::NoSuchItem {
        kind: "map",
        name: name.to_string(),
        existing: existing(),
    })
}

/// Puts `map` in the place of the map or data section there, which must be of its type and sizes.
pub(crate) fn reuse(opened: &mut OpenObject, at: usize, map: BorrowedFd<'_>) -> Result<(), InstallError> {
    let Some(mut own) = opened.maps_mut().nth(at) else { return Ok(()) };
    let name = &own.name().to_string_lossy().into_owned();
    let there = sys::map_info(map).map_err(|errno| failed(name, errno))?;
    let pointer = own.as_libbpf_object().as_ptr();
    // SAFETY: the map belongs to the object, which is borrowed.
    let (map_type, key_size, value_size) = unsafe {
        let key_size = libbpf_sys::bpf_map__key_size(pointer);
        (libbpf_sys::bpf_map__type(pointer), key_size, libbpf_sys::bpf_map__value_size(pointer))
    };
    if (map_type, key_size, value_size) != (there.type_, there.key_size, there.value_size) {
        let problem = "the map to be used again is of another type or size".to_string();
        return Err(InstallError::MapAccess { map: name.to_string(), problem });
    }
    own.reuse_fd(map).map_err(|error| access(name, &error))
}

/// `BPF_F_MMAPABLE` (include/uapi/linux/bpf.h).
const MAPPABLE: u32 = 1 << 10;

/// Makes the maps of sections that begin with zeros, but of those in `given`, which have been made: libbpf would write all their bytes
/// into them, and they may have millions.
pub(crate) fn make_zeros(opened: &mut OpenObject, given: &[&str]) -> Result<(), InstallError> {
    let sections: Vec<_> =
        opened.maps().map(|map| (map.name().to_string_lossy().into_owned(), map.value_size())).collect();
    for (at, (name, value_size)) in sections.iter().enumerate() {
        if !name.starts_with(".bss.") || given.contains(&name.as_str()) {
            continue;
        }
        let map = make_map(&NewMap {
            // libbpf goes on with the name that the kernel has.
            name,
            map_type: libbpf_sys::BPF_MAP_TYPE_ARRAY,
            key_size: 4,
            value_size: *value_size,
            max_entries: 1,
            flags: MAPPABLE,
            value: None,
            frozen: false,
        })?;
        reuse(opened, at, map.as_fd())?;
    }
    Ok(())
}

/// Makes [`Program::data_section`] show the section at that place of the object, which was used again: libbpf maps only those into memory
/// that it made.
pub(crate) fn show(program: &Program, at: usize) -> Result<(), InstallError> {
    let Some(map) = program.object.maps().nth(at) else { return Ok(()) };
    let name = map.name().to_string_lossy().into_owned();
    if is_arena(map.as_libbpf_object().as_ptr()) {
        return Ok(());
    }
    let mut length = 0;
    // SAFETY: the map belongs to the program's object.
    let start =
        unsafe { libbpf_sys::bpf_map__initial_value(map.as_libbpf_object().as_ptr(), &raw mut length) };
    if start.is_null() {
        return Ok(());
    }
    let (whole, flags) =
        ((length as usize).next_multiple_of(page_size()), libc::MAP_SHARED | libc::MAP_FIXED);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: `start` is libbpf's private mapping of the section's initial bytes, of that many pages; nobody refers to it,
    // and libbpf unmaps what is there when the object is closed.
    let mapped =
        unsafe { libc::mmap(start.cast::<c_void>(), whole, access, flags, map.as_fd().as_raw_fd(), 0) };
    match mapped == libc::MAP_FAILED {
        true => Err(failed(&name, Errno::last())),
        false => Ok(()),
    }
}

fn failed(name: &str, errno: Errno) -> InstallError {
    InstallError::MapAccess { map: name.to_string(), problem: errno.desc().to_string() }
}
