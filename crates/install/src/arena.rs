//! Arenas: memory of programs that is also mapped into this process, from the loading of an object until it is dropped.
//!
//! Programs reach the arena by 32-bit offsets, which are the low halves of its addresses in this process: it has to begin at
//! a multiple of 4 GiB, and the kernel has to know which before the programs are loaded. libbpf maps the arena there with
//! `MAP_FIXED`, over whatever is there. So the place is reserved first, in a way that fails where it is taken, be it by
//! another arena of this process or by anything else.

use crate::map::DataSection;
use crate::test_run::page_size;
use crate::{InstallError, Program};
use libbpf_rs::{AsRawLibbpf, OpenObject, libbpf_sys};
use nix::errno::Errno;
use nix::libc::{self, c_void};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, PoisonError, RwLock};

/// The places are the multiples of 4 GiB from 2^44 on, below 2^45. No kernel that has arenas puts anything there unasked:
/// it allots addresses from the top of user space, or from a third or a quarter of it upwards.
const FIRST: usize = 1 << 44;
const STRIDE: usize = 1 << 32;
const PLACES: usize = 4096;

/// The place of an arena, with a page before it that is kept out of use: that page makes the place taken for others whatever
/// the length of theirs, and also after libbpf has unmapped the arena. To be dropped after the object.
#[derive(Debug)]
pub(crate) struct Arena {
    start: usize,
    length: usize,
    /// What the arena begins with.
    image: Vec<u8>,
    /// Whether an object has the arena mapped there.
    mapped: RwLock<bool>,
}

/// Says that an object has its arena mapped, until it is dropped: before the object.
#[derive(Debug)]
pub(crate) struct Presence(Option<Arc<Arena>>);

impl Presence {
    pub(crate) fn of(arena: Option<&Arc<Arena>>) -> Presence {
        if let Some(arena) = arena {
            arena.set_mapped(true);
        }
        Presence(arena.cloned())
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some(arena) = &self.0 {
            arena.set_mapped(false);
        }
    }
}

/// An arena by itself, for those who may outlive its program.
#[derive(Clone, Debug)]
pub struct ArenaSection(Arc<Arena>);

impl ArenaSection {
    /// Gives the arena's bytes to `use_bytes`; `None` where no program of this process has the arena any more. The program
    /// is not dropped meanwhile.
    pub fn with<R>(&self, use_bytes: impl FnOnce(&DataSection<'_>) -> R) -> Option<R> {
        let mapped = self.0.mapped.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: it is mapped, writable, and from the start of a page, until the lock is released.
        let section = unsafe { DataSection::over(self.0.start().cast(), self.0.length) };
        mapped.then(|| use_bytes(&section))
    }
}

/// Finds a place for the arena of `opened`, if it has one of its own (not among `given`), and tells libbpf.
pub(crate) fn reserve(opened: &mut OpenObject, given: &[&str]) -> Result<Option<Arena>, InstallError> {
    let is_given = |name: &std::ffi::OsStr| given.iter().any(|given| name == *given);
    let mut maps = opened.maps_mut();
    let arena = maps.find(|map| is_arena(map.as_libbpf_object().as_ptr()) && !is_given(map.name()));
    let Some(mut map) = arena else { return Ok(None) };
    let length = map.max_entries() as usize * page_size();
    let mut arena = place(length).map_err(|errno| failed("finding addresses for", errno))?;
    arena.image = map.initial_value().unwrap_or_default().to_vec();
    map.set_map_extra(arena.start as u64).map_err(|_| failed("placing", Errno::EBUSY))?;
    Ok(Some(arena))
}

/// Whether the map is an arena; libbpf-rs does not know the type.
pub(crate) fn is_arena(map: *const libbpf_sys::bpf_map) -> bool {
    // SAFETY: callers pass the pointer of a map whose object they hold.
    unsafe { libbpf_sys::bpf_map__type(map) == libbpf_sys::BPF_MAP_TYPE_ARENA }
}

fn failed(doing: &str, errno: Errno) -> InstallError {
    InstallError::LoadFailed { message: format!("{doing} the arena: {errno}"), messages: String::new() }
}

fn place(length: usize) -> Result<Arena, Errno> {
    for place in 0..PLACES {
        match Arena::at(FIRST + place * STRIDE, length) {
            Err(Errno::EEXIST) => {}
            result => return result,
        }
    }
    Err(Errno::EEXIST)
}

impl Program {
    /// The arena, if the program has one.
    pub fn arena_section(&self) -> Option<ArenaSection> {
        self.arena.clone().map(ArenaSection)
    }

    /// Takes the arena of an earlier program, which this one was loaded with, into this process: the earlier one has it no more.
    /// Does nothing where there is no arena.
    ///
    /// # Errors
    /// `LoadFailed`: the arena is out of this process's reach, and the programs go on with it.
    pub fn succeed(&mut self, earlier: Program) -> Result<(), InstallError> {
        let Program { object, arena, presence, .. } = earlier;
        drop(presence);
        // libbpf unmaps the arena; the page before it keeps the place.
        drop(object);
        let Some(arena) = arena else { return Ok(()) };
        let own = self.object.maps().find(|map| is_arena(map.as_libbpf_object().as_ptr()));
        let Some(map) = own else { return Ok(()) };
        arena.map(map.as_fd().as_raw_fd()).map_err(|errno| failed("taking over", errno))?;
        self.presence = Presence::of(Some(&arena));
        self.arena = Some(arena);
        Ok(())
    }
}

impl Arena {
    /// Maps an arena of this place's into it again.
    fn map(&self, arena: i32) -> Result<(), Errno> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: the place is ours, and nothing is mapped there since libbpf has unmapped the arena.
        let mapped = unsafe { libc::mmap(self.start(), self.length, access, flags, arena, 0) };
        if mapped == libc::MAP_FAILED { Err(Errno::last()) } else { Ok(()) }
    }

    /// Reserves the addresses; `EEXIST` if one of them is in use.
    fn at(start: usize, length: usize) -> Result<Arena, Errno> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let before = start - page_size();
        let whole = length + page_size();
        // SAFETY: maps nothing over what is mapped already, and the new pages cannot be accessed.
        let found = unsafe { libc::mmap(before as *mut c_void, whole, libc::PROT_NONE, flags, -1, 0) };
        match found {
            libc::MAP_FAILED => Err(Errno::last()),
            _ => Ok(Arena { start, length, image: Vec::new(), mapped: RwLock::default() }),
        }
    }

    /// To be called when the object is loaded, and libbpf has thus mapped the arena: gives it all its pages, for a program
    /// cannot, and sees to it that it begins with the image.
    pub(crate) fn populate(&self) -> Result<(), InstallError> {
        // SAFETY: the arena is mapped there and stays so; the advice makes the kernel allocate pages and changes no byte.
        let result = unsafe { libc::madvise(self.start(), self.length, libc::MADV_POPULATE_WRITE) };
        Errno::result(result).map_err(|errno| failed("allocating", errno))?;
        // SAFETY: as above; no program has run yet, so that nobody else accesses these bytes.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.start().cast::<u8>(), self.length) };
        let (head, _) = bytes.split_at_mut(self.image.len());
        if head != self.image {
            // Where the kernel allows it, libbpf puts the image at the end (`arena_data_off` in libbpf.c).
            let size = self.image.len().next_multiple_of(page_size());
            bytes[self.length - size..].fill(0);
            bytes[..self.image.len()].copy_from_slice(&self.image);
        }
        Ok(())
    }

    fn set_mapped(&self, mapped: bool) {
        *self.mapped.write().unwrap_or_else(PoisonError::into_inner) = mapped;
    }

    pub(crate) fn start(&self) -> *mut c_void {
        self.start as *mut c_void
    }

    /// In bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let before = self.start - page_size();
        // SAFETY: the pages are ours since `at`, or libbpf's, which is done with them. Nobody else can have mapped anything
        // there since: the page before the arena keeps others out, and it goes in the same call.
        unsafe { libc::munmap(before as *mut c_void, self.length + page_size()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_until_it_is_dropped() {
        let long = place(64 * page_size()).unwrap();
        for length in [1, 64, 1000] {
            assert_eq!(Arena::at(long.start, length * page_size()).unwrap_err(), Errno::EEXIST);
        }
        // libbpf unmaps the arena itself, but the place stays taken.
        // SAFETY: nothing refers to these pages.
        unsafe { libc::munmap(long.start(), long.length) };
        assert_eq!(Arena::at(long.start, page_size()).unwrap_err(), Errno::EEXIST);
        let start = long.start;
        assert!(start.is_multiple_of(STRIDE));
        drop(long);
        let short = Arena::at(start, page_size()).unwrap();
        assert_eq!((short.start, short.length()), (start, page_size()));
    }
}
