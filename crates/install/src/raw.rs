//! Loading without an object file: what libbpf does for a small program takes longer than verifying it.

use crate::log::Log;
use crate::program::{REJECTION_LOG, failure};
use crate::{InstallError, patience};
use libbpf_rs::libbpf_sys as bpf;
use nix::errno::Errno;
use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A map that is to be made, as `BPF_MAP_CREATE` takes it.
#[derive(Clone, Debug)]
pub struct NewMap<'a> {
    pub name: &'a str,
    /// `enum bpf_map_type`.
    pub map_type: u32,
    pub key_size: u32,
    pub value_size: u32,
    pub max_entries: u32,
    pub flags: u32,
    /// What its first value is.
    pub value: Option<&'a [u8]>,
    /// Nothing changes it from now on.
    pub frozen: bool,
}

/// A program as the kernel takes it.
#[derive(Debug)]
pub struct RawProgram<'a> {
    pub name: &'a str,
    /// The section that it would be in: says what type of program it is.
    pub section: &'a str,
    /// `struct bpf_insn`, of 8 bytes each.
    pub code: &'a [[u8; 8]],
    pub btf: BorrowedFd<'a>,
    /// `struct bpf_func_info` and `struct bpf_line_info`.
    pub functions: &'a [[u32; 2]],
    pub lines: &'a [[u32; 4]],
}

/// What the names of sections end with whose programs take frames in several buffers (libbpf, `SEC_XDP_FRAGS`), and what the kernel is told of
/// these: `BPF_F_XDP_HAS_FRAGS`, include/uapi/linux/bpf.h.
const FRAGS: &str = ".frags";
const HAS_FRAGS: u32 = 1 << 5;

/// The verifier looks at less in no time: nobody needs to see to it that it comes to an end.
const SMALL: usize = 500;

/// Makes a map.
///
/// # Errors
/// `LoadFailed`, `Privilege`.
pub fn make_map(map: &NewMap<'_>) -> Result<OwnedFd, InstallError> {
    let name = c_string(map.name);
    let options = bpf::bpf_map_create_opts {
        sz: size_of::<bpf::bpf_map_create_opts>() as _,
        map_flags: map.flags,
        ..Default::default()
    };
    let (key_size, value_size, entries) = (map.key_size, map.value_size, map.max_entries);
    // SAFETY: the name is a C string, and `options` outlives the call.
    let made = owned(unsafe {
        bpf::bpf_map_create(map.map_type, name.as_ptr(), key_size, value_size, entries, &raw const options)
    });
    let made = made.map_err(|errno| refused(errno, map.name))?;
    if let Some(value) = map.value {
        let mut padded = value.to_vec();
        padded.resize(value_size as usize, 0);
        let key = 0u32;
        // SAFETY: the key is four bytes, and the value as long as the map's values are.
        let set = unsafe {
            bpf::bpf_map_update_elem(made.as_raw_fd(), (&raw const key).cast(), padded.as_ptr().cast(), 0)
        };
        checked(set).map_err(|errno| refused(errno, map.name))?;
    }
    if map.frozen {
        // SAFETY: takes no pointers.
        checked(unsafe { bpf::bpf_map_freeze(made.as_raw_fd()) })
            .map_err(|errno| refused(errno, map.name))?;
    }
    Ok(made)
}

/// Loads types.
///
/// # Errors
/// `LoadFailed`, `Privilege`.
pub fn load_btf(btf: &[u8]) -> Result<OwnedFd, InstallError> {
    // SAFETY: the bytes outlive the call, and no options are given.
    let loaded =
        owned(unsafe { bpf::bpf_btf_load(btf.as_ptr().cast(), btf.len() as _, std::ptr::null_mut()) });
    loaded.map_err(|errno| refused(errno, "BTF"))
}

/// Loads a program, which may take that much processor time if it is not small.
///
/// # Errors
/// As of [`crate::load`].
pub fn load_raw(program: &RawProgram<'_>, patience: Option<Duration>) -> Result<OwnedFd, InstallError> {
    let patience = patience.filter(|_| program.code.len() > SMALL);
    let (loaded, interrupted) = patience::bounded(patience, || attempt(program, None));
    match loaded {
        Ok(loaded) => Ok(loaded),
        Err(Errno::EAGAIN | Errno::EINTR) if interrupted => {
            let program = program.name.to_string();
            Err(InstallError::OutOfPatience { program, patience: patience.unwrap_or_default() })
        }
        Err(errno) => {
            // Once more, to hear why.
            let mut log = Log::new(program.name.to_string(), REJECTION_LOG);
            match attempt(program, Some(&mut log)) {
                Ok(loaded) => Ok(loaded),
                Err(again) if again == errno => Err(failure(errno, "", &[log])),
                Err(again) => Err(failure(again, "", &[log])),
            }
        }
    }
}

fn attempt(program: &RawProgram<'_>, log: Option<&mut Log>) -> Result<OwnedFd, Errno> {
    let (name, section) = (c_string(program.name), c_string(program.section));
    let (mut program_type, mut attach_type) = (0, 0);
    // SAFETY: the section is a C string, and both numbers are writable.
    checked(unsafe {
        bpf::libbpf_prog_type_by_name(section.as_ptr(), &raw mut program_type, &raw mut attach_type)
    })?;
    let mut options = bpf::bpf_prog_load_opts {
        sz: size_of::<bpf::bpf_prog_load_opts>() as _,
        expected_attach_type: attach_type,
        prog_flags: if program.section.ends_with(FRAGS) { HAS_FRAGS } else { 0 },
        prog_btf_fd: program.btf.as_raw_fd() as u32,
        func_info: program.functions.as_ptr().cast(),
        func_info_cnt: program.functions.len() as u32,
        func_info_rec_size: size_of::<[u32; 2]>() as u32,
        line_info: program.lines.as_ptr().cast(),
        line_info_cnt: program.lines.len() as u32,
        line_info_rec_size: size_of::<[u32; 4]>() as u32,
        ..Default::default()
    };
    if let Some(log) = log {
        (options.log_level, options.log_size, options.log_buf) = (1, REJECTION_LOG as u32, log.start());
    }
    let code: *const bpf::bpf_insn = program.code.as_ptr().cast();
    // SAFETY: instructions are 8 bytes, of which nothing but the kernel reads fields; all that is pointed to outlives the call.
    owned(unsafe {
        bpf::bpf_prog_load(
            program_type,
            name.as_ptr(),
            c"Dual MIT/GPL".as_ptr(),
            code,
            program.code.len() as _,
            &raw mut options,
        )
    })
}

/// The text without bytes of 0, which end strings of C.
fn c_string(name: &str) -> CString {
    let bytes: Vec<u8> = name.bytes().filter(|byte| *byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}

fn owned(result: i32) -> Result<OwnedFd, Errno> {
    checked(result)?;
    // SAFETY: the kernel has just made this descriptor for this call.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

fn checked(result: i32) -> Result<(), Errno> {
    if result < 0 { Err(Errno::from_raw(-result)) } else { Ok(()) }
}

fn refused(errno: Errno, what: &str) -> InstallError {
    failure(errno, &format!("libbpf: {what}: {}", errno.desc()), &[])
}
