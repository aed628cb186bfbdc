//! Maps of flow tables: memory that this process shares with programs, and arrays of programs.

use crate::test_run::page_size;
use crate::{InstallError, Program, sys};
use libbpf_rs::libbpf_sys;
use nix::errno::Errno;
use nix::libc;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::AtomicU64;

/// The value of an array of one value, which was made to be mapped (`BPF_F_MMAPABLE`), as words. Programs read and write it meanwhile.
#[derive(Debug)]
pub struct SharedArray {
    start: NonNull<AtomicU64>,
    words: usize,
    mapped: usize,
}

// SAFETY: the mapping belongs to the value, and is accessed through atomic words only.
unsafe impl Send for SharedArray {}
unsafe impl Sync for SharedArray {}

impl Deref for SharedArray {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: so many words are mapped for as long as `self` lives, and everybody changes them as whole words or parts of them.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for SharedArray {
    fn drop(&mut self) {
        // SAFETY: it was mapped in `shared_array`, with this length.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

/// An array of programs, by which programs go on with others.
#[derive(Debug)]
pub struct ProgramArray {
    name: String,
    map: OwnedFd,
}

impl ProgramArray {
    /// Puts a program at `index`; programs that run see the one or the other.
    ///
    /// # Errors
    /// `MapAccess`, also for a program of another kind than those that look there.
    pub fn set(&self, index: u32, program: BorrowedFd<'_>) -> Result<(), InstallError> {
        let number = program.as_raw_fd();
        // SAFETY: key and value are four bytes each, as the kernel wants them of these maps.
        let result = unsafe {
            libbpf_sys::bpf_map_update_elem(
                self.map.as_raw_fd(),
                (&raw const index).cast(),
                (&raw const number).cast(),
                0,
            )
        };
        self.checked(result)
    }

    /// Takes out the program at `index`, if there is one.
    pub fn clear(&self, index: u32) {
        // SAFETY: the key is four bytes, as the kernel wants it. There may be none, which is as well.
        unsafe { libbpf_sys::bpf_map_delete_elem(self.map.as_raw_fd(), (&raw const index).cast()) };
    }

    fn checked(&self, result: i32) -> Result<(), InstallError> {
        match result {
            0 => Ok(()),
            error => Err(failed(&self.name, Errno::from_raw(-error))),
        }
    }
}

impl Program {
    /// The value of the array of that name.
    ///
    /// # Errors
    /// `NoSuchItem`; `MapAccess` where it cannot be mapped.
    pub fn shared_array(&self, name: &str) -> Result<SharedArray, InstallError> {
        let map = self.map_fd(name)?;
        let info = sys::map_info(map).map_err(|errno| failed(name, errno))?;
        let words = info.value_size as usize / 8;
        let mapped = (words * 8).next_multiple_of(page_size());
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: maps as many pages as the kernel has for the array, wherever there is room.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, libc::MAP_SHARED, map.as_raw_fd(), 0) };
        match NonNull::new(start.cast::<AtomicU64>()) {
            Some(pointer) if start != libc::MAP_FAILED => Ok(SharedArray { start: pointer, words, mapped }),
            _ => Err(failed(name, Errno::last())),
        }
    }

    /// The array of programs of that name.
    ///
    /// # Errors
    /// `NoSuchItem`; `MapAccess` where there are no descriptors left.
    pub fn program_array(&self, name: &str) -> Result<ProgramArray, InstallError> {
        let map = self.map_fd(name)?.try_clone_to_owned();
        let map = map.map_err(|error| failed(name, Errno::from_raw(error.raw_os_error().unwrap_or(0))))?;
        Ok(ProgramArray { name: name.to_string(), map })
    }
}

fn failed(name: &str, errno: Errno) -> InstallError {
    InstallError::MapAccess { map: name.to_string(), problem: errno.desc().to_string() }
}

impl AsFd for ProgramArray {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
