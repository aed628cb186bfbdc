//! Maps and data sections of a loaded object, from user space.
//!
//! Names are those of the object: a map by its own, a data section as `.data.NAME` or `.rodata.NAME` (the plain sections
//! `.data`, `.rodata` and `.bss` too). Integers are in the machine's byte order.

use crate::arena::is_arena;
use crate::{InstallError, Program};
use libbpf_rs::{AsRawLibbpf, Map, MapCore, MapFlags, MapType};
use serde::Serialize;
use std::marker::PhantomData;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// A map's schema and cost; sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapInfo {
    pub name: String,
    /// The kernel's name of the type (`hash`, `array`, `percpu_array`, `ringbuf` …).
    #[serde(rename = "type")]
    pub map_type: String,
    pub key_size: u32,
    pub value_size: u32,
    /// Entries; bytes for a ring buffer, pages for an arena.
    pub max_entries: u32,
    /// What the kernel has allocated for it.
    pub memory: u64,
}

impl Program {
    /// All maps, data sections included, in the object's order.
    pub fn maps(&self) -> Vec<MapInfo> {
        self.object.maps().map(|map| info(&map)).collect()
    }

    /// The names of [`Program::maps`]: what each has allocated is read from a file, which takes longer.
    pub fn map_names(&self) -> impl Iterator<Item = String> {
        self.object.maps().map(|map| map.name().to_string_lossy().into_owned())
    }

    pub fn has_map(&self, name: &str) -> bool {
        self.map_names().any(|own| own == name)
    }

    pub(crate) fn map(&self, name: &str) -> Result<Map<'_>, InstallError> {
        self.object.maps().find(|map| is_called(map, name)).ok_or_else(|| InstallError::NoSuchItem {
            kind: "map",
            name: name.to_string(),
            existing: self.map_names().collect(),
        })
    }

    /// The descriptor of a map or data section.
    ///
    /// # Errors
    /// `NoSuchItem`.
    pub fn map_fd(&self, name: &str) -> Result<BorrowedFd<'_>, InstallError> {
        let fd = self.map(name)?.as_fd().as_raw_fd();
        // SAFETY: the object owns the descriptor and `self` is borrowed for as long as the result lives.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// The value at `key`; for a per-CPU map that of every CPU, one after another, each padded to 8 bytes.
    ///
    /// # Errors
    /// `NoSuchItem`; `MapAccess`, also for a key of the wrong size.
    pub fn map_lookup(&self, name: &str, key: &[u8]) -> Result<Option<Vec<u8>>, InstallError> {
        let map = self.map(name)?;
        let found = if map.map_type().is_percpu() {
            map.lookup_percpu(key, MapFlags::ANY)
                .map(|values| values.map(|values| values.iter().flat_map(|value| padded(value)).collect()))
        } else {
            map.lookup(key, MapFlags::ANY)
        };
        found.map_err(|error| access(name, &error))
    }

    /// Sets the value at `key`, on every CPU for a per-CPU map.
    ///
    /// # Errors
    /// As [`Program::map_lookup`]; also where the map is full.
    pub fn map_update(&self, name: &str, key: &[u8], value: &[u8]) -> Result<(), InstallError> {
        let map = self.map(name)?;
        let updated = if map.map_type().is_percpu() {
            let cpus = libbpf_rs::num_possible_cpus().map_err(|error| access(name, &error))?;
            map.update_percpu(key, &vec![value.to_vec(); cpus], MapFlags::ANY)
        } else {
            map.update(key, value, MapFlags::ANY)
        };
        updated.map_err(|error| access(name, &error))
    }

    /// Removes the entry at `key`; says whether there was one.
    ///
    /// # Errors
    /// As [`Program::map_lookup`]. Arrays refuse it.
    pub fn map_delete(&self, name: &str, key: &[u8]) -> Result<bool, InstallError> {
        match self.map(name)?.delete(key) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == libbpf_rs::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(access(name, &error)),
        }
    }

    /// The keys there are; entries that come or go meanwhile may be there or not.
    ///
    /// # Errors
    /// `NoSuchItem`.
    pub fn map_keys(&self, name: &str) -> Result<Vec<Vec<u8>>, InstallError> {
        Ok(self.map(name)?.keys().collect())
    }

    /// The entry of a per-CPU map at `key` as `u64` words, each summed over all CPUs, wrapping. `None` without entry.
    ///
    /// # Errors
    /// As [`Program::map_lookup`]; `MapAccess` if the values are not whole words or the map is not per CPU.
    pub fn counters(&self, name: &str, key: &[u8]) -> Result<Option<Vec<u64>>, InstallError> {
        let map = self.map(name)?;
        let words = map.value_size() as usize / 8;
        if !map.map_type().is_percpu() || !map.value_size().is_multiple_of(8) {
            let problem = "not a per-CPU map of 64-bit words".to_string();
            return Err(InstallError::MapAccess { map: name.to_string(), problem });
        }
        let values = map.lookup_percpu(key, MapFlags::ANY).map_err(|error| access(name, &error))?;
        Ok(values.map(|values| sum(words, &values)))
    }

    /// All entries of a per-CPU array as [`Program::counters`] gives them, by index.
    ///
    /// # Errors
    /// As [`Program::counters`].
    pub fn counter_array(&self, name: &str) -> Result<Vec<Vec<u64>>, InstallError> {
        let entries = self.map(name)?.max_entries();
        let entry = |index: u32| Ok(self.counters(name, &index.to_ne_bytes())?.unwrap_or_default());
        (0..entries).map(entry).collect()
    }

    /// The live bytes of a data section, or of the arena, shared with the running programs.
    ///
    /// # Errors
    /// `NoSuchItem`; `MapAccess` if it is neither.
    pub fn data_section(&self, name: &str) -> Result<DataSection<'_>, InstallError> {
        let map = self.map(name)?;
        if let Some(arena) = self.arena.as_ref().filter(|_| is_arena(map.as_libbpf_object().as_ptr())) {
            let (start, length) = (arena.start().cast(), arena.length());
            return Ok(DataSection { start, length, writable: true, object: PhantomData });
        }
        let mut length = 0;
        // SAFETY: the map belongs to the object that `self` owns.
        let start =
            unsafe { libbpf_sys::bpf_map__initial_value(map.as_libbpf_object().as_ptr(), &raw mut length) };
        // Of an arena that another program has, libbpf gives the bytes that it would begin with.
        if start.is_null() || is_arena(map.as_libbpf_object().as_ptr()) {
            let problem = "not a data section that user space can see".to_string();
            return Err(InstallError::MapAccess { map: name.to_string(), problem });
        }
        let writable = !map.name().to_string_lossy().contains(".rodata");
        Ok(DataSection { start: start.cast(), length: length as usize, writable, object: PhantomData })
    }
}

/// A data section or an arena, mapped into this process. Programs read and write it meanwhile.
#[derive(Debug)]
pub struct DataSection<'program> {
    start: *mut u8,
    length: usize,
    writable: bool,
    object: PhantomData<&'program Program>,
}

impl DataSection<'_> {
    /// The `length` bytes at `start`.
    ///
    /// # Safety
    /// They are a section that is mapped, writable and from the start of a page, for as long as the result lives.
    pub(crate) unsafe fn over(start: *mut u8, length: usize) -> Self {
        DataSection { start, length, writable: true, object: PhantomData }
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// A copy of all bytes; words that change meanwhile are whole.
    pub fn bytes(&self) -> Vec<u8> {
        self.part(0..self.length).unwrap_or_default()
    }

    /// A copy of the bytes in `range`; words that change meanwhile are whole. `None` if it is not within the section.
    pub fn part(&self, range: Range<usize>) -> Option<Vec<u8>> {
        if range.start > range.end || range.end > self.length {
            return None;
        }
        let words = range.start / 8..range.end.div_ceil(8);
        let bytes: Vec<u8> = words.flat_map(|word| self.word(word).to_ne_bytes()).collect();
        let first = range.start % 8;
        Some(bytes[first..first + range.len()].to_vec())
    }

    /// The word at byte `offset`; `None` if it is not a multiple of 8 or not within the section.
    pub fn load(&self, offset: usize) -> Option<u64> {
        self.within(offset).then(|| self.word(offset / 8))
    }

    /// Sets the word at byte `offset`, atomically. False, and nothing done, where [`DataSection::load`] gives `None`
    /// and for read-only data.
    pub fn store(&self, offset: usize, value: u64) -> bool {
        let possible = self.writable && self.within(offset);
        if possible {
            self.atomic(offset / 8).store(value, Ordering::Relaxed);
        }
        possible
    }

    /// Adds to the word at byte `offset`, atomically, as [`DataSection::store`] stores.
    pub fn add(&self, offset: usize, number: u64) -> bool {
        let possible = self.writable && self.within(offset);
        if possible {
            self.atomic(offset / 8).fetch_add(number, Ordering::Relaxed);
        }
        possible
    }

    fn within(&self, offset: usize) -> bool {
        offset.is_multiple_of(8) && offset.checked_add(8).is_some_and(|end| end <= self.length)
    }

    fn word(&self, index: usize) -> u64 {
        self.atomic(index).load(Ordering::Relaxed)
    }

    /// `index` must be below the length in words, rounded up.
    fn atomic(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the mapping starts at a page, is as long as the section rounded up to pages, and lives as long as the
        // program, which outlives `self`. Others change it through atomic or whole-word accesses only.
        unsafe { AtomicU64::from_ptr(self.start.cast::<u64>().add(index)) }
    }
}

/// libbpf calls custom data sections by their whole name and the plain ones `OBJECT.data`, `OBJECT.bss`.
fn is_called(map: &Map<'_>, name: &str) -> bool {
    let own = map.name().to_string_lossy();
    let plain = [".data", ".rodata", ".bss"].contains(&name);
    own == name || (plain && !own.starts_with('.') && own.ends_with(name))
}

fn info(map: &Map<'_>) -> MapInfo {
    MapInfo {
        name: map.name().to_string_lossy().into_owned(),
        map_type: type_name(map),
        key_size: map.key_size(),
        value_size: map.value_size(),
        max_entries: map.max_entries(),
        memory: map.query_fdinfo().ok().and_then(|info| info.memlock).unwrap_or(0),
    }
}

fn type_name(map: &Map<'_>) -> String {
    type_name_of(map.map_type())
}

/// libbpf's name of the type, which is what bpftool shows.
pub(crate) fn type_name_of(map_type: MapType) -> String {
    // SAFETY: libbpf returns null or a static string for any number.
    let name = unsafe {
        let name = libbpf_sys::libbpf_bpf_map_type_str(map_type as u32);
        (!name.is_null()).then(|| std::ffi::CStr::from_ptr(name))
    };
    name.map_or_else(|| format!("{map_type:?}"), |name| name.to_string_lossy().into_owned())
}

fn padded(value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    value.resize(value.len().next_multiple_of(8), 0);
    value
}

fn sum(words: usize, values: &[Vec<u8>]) -> Vec<u64> {
    let mut total = vec![0u64; words];
    for value in values {
        for (total, word) in total.iter_mut().zip(value.as_chunks().0) {
            *total = total.wrapping_add(u64::from_ne_bytes(*word));
        }
    }
    total
}

pub(crate) fn access(map: &str, error: &libbpf_rs::Error) -> InstallError {
    InstallError::MapAccess { map: map.to_string(), problem: error.to_string() }
}
