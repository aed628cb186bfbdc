//! Maps as tables: entries that user space and running programs share, one at a time and in bulk.
//!
//! Keys and values are bytes, as the map has them. In a per-CPU map a value is that of every CPU, one after another, each
//! padded to 8 bytes. A [`TableMap`] stays usable when the program is gone.

use crate::{InstallError, Program, sys};
use libbpf_rs::{MapCore, libbpf_sys as bpf};
use nix::errno::Errno;
use std::ffi::c_void;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A map of keys and values: hash, LRU hash or trie of prefixes, per CPU or not.
#[derive(Debug)]
pub struct TableMap {
    map: OwnedFd,
    name: String,
    key_size: usize,
    /// Of all CPUs together.
    value_size: usize,
    cpus: usize,
    is_trie: bool,
}

/// Entries, one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub keys: Vec<u8>,
    /// As many values as keys.
    pub values: Vec<u8>,
}

/// Where a walk through a map stands.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    /// The kernel's own note; `None` before the first batch.
    position: Option<Vec<u8>>,
    ended: bool,
    /// Entries to ask for: at least those of the fullest bucket so far.
    size: usize,
}

/// Entries that one call moves, if a bucket does not have more.
const BATCH: usize = 1024;

impl Program {
    /// The map `name` as a table.
    ///
    /// # Errors
    /// `NoSuchItem`; `MapAccess` where the kernel gives no second descriptor.
    pub fn table(&self, name: &str) -> Result<TableMap, InstallError> {
        let map = self.map(name)?;
        let kind = map.map_type();
        let cpus = if kind.is_percpu() { libbpf_rs::num_possible_cpus() } else { Ok(1) };
        let cpus = cpus.map_err(|error| crate::map::access(name, &error))?;
        let each = map.value_size() as usize;
        let value_size = if kind.is_percpu() { each.next_multiple_of(8) * cpus } else { each };
        let (key_size, is_trie) = (map.key_size() as usize, kind == libbpf_rs::MapType::LpmTrie);
        let map = map.as_fd().try_clone_to_owned();
        let map = map.map_err(|error| failed(name, Errno::from_raw(error.raw_os_error().unwrap_or(0))))?;
        Ok(TableMap { map, name: name.to_string(), key_size, value_size, cpus, is_trie })
    }
}

impl TableMap {
    /// An empty map of the same definition, which belongs to no program yet ([`crate::load_with_maps`] takes it).
    ///
    /// # Errors
    /// `MapAccess`, also for want of memory.
    pub fn twin(&self) -> Result<TableMap, InstallError> {
        let map = sys::map_info(self.as_fd()).and_then(|info| sys::map_like(&info));
        let map = map.map_err(|errno| self.failed(errno))?;
        Ok(TableMap { map, name: self.name.clone(), ..*self })
    }

    /// The map's descriptor.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }

    /// The map's name in the object.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of a key.
    pub fn key_size(&self) -> usize {
        self.key_size
    }

    /// Bytes of a value, of all CPUs together.
    pub fn value_size(&self) -> usize {
        self.value_size
    }

    /// How many values stand in one: the number of possible CPUs, or 1.
    pub fn cpus(&self) -> usize {
        self.cpus
    }

    /// The value at `key`; in a trie, that of the longest prefix that contains it.
    ///
    /// # Errors
    /// `MapAccess`, also for a key of the wrong size.
    pub fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>, InstallError> {
        self.check(key, self.key_size)?;
        let mut value = vec![0; self.value_size];
        // SAFETY: the key is as long as the map's keys, `value` has room for the values of all CPUs.
        let result =
            unsafe { bpf::bpf_map_lookup_elem(self.fd(), key.as_ptr().cast(), value.as_mut_ptr().cast()) };
        match errno(result) {
            Ok(()) => Ok(Some(value)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(self.failed(errno)),
        }
    }

    /// Sets the value at `key`. `false`, and nothing done, if the map is full.
    ///
    /// # Errors
    /// As [`TableMap::lookup`].
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, InstallError> {
        self.put(key, value, bpf::BPF_ANY.into())
    }

    fn put(&self, key: &[u8], value: &[u8], flags: u64) -> Result<bool, InstallError> {
        self.check(key, self.key_size)?;
        self.check(value, self.value_size)?;
        // SAFETY: both have the sizes that the map wants.
        let result =
            unsafe { bpf::bpf_map_update_elem(self.fd(), key.as_ptr().cast(), value.as_ptr().cast(), flags) };
        match errno(result) {
            Ok(()) => Ok(true),
            Err(errno) if is_full(errno) || errno == Errno::EEXIST => Ok(false),
            Err(errno) => Err(self.failed(errno)),
        }
    }

    /// Removes the entry at `key`, in a trie that of exactly this prefix; says whether there was one.
    ///
    /// # Errors
    /// As [`TableMap::lookup`].
    pub fn delete(&self, key: &[u8]) -> Result<bool, InstallError> {
        self.check(key, self.key_size)?;
        // SAFETY: the key is as long as the map's keys.
        let result = unsafe { bpf::bpf_map_delete_elem(self.fd(), key.as_ptr().cast()) };
        match errno(result) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(errno) => Err(self.failed(errno)),
        }
    }

    /// Removes the entry at `key` and gives what it was in the end: nothing that a program writes in between is lost unseen. Of a
    /// trie, where the kernel has no such operation, the value is not known, and an empty one is given.
    ///
    /// # Errors
    /// As [`TableMap::lookup`].
    pub fn take(&self, key: &[u8]) -> Result<Option<Vec<u8>>, InstallError> {
        if self.is_trie {
            return Ok(self.delete(key)?.then(Vec::new));
        }
        self.check(key, self.key_size)?;
        let mut value = vec![0; self.value_size];
        // SAFETY: the key is as long as the map's keys, `value` has room for the values of all CPUs.
        let result = unsafe {
            bpf::bpf_map_lookup_and_delete_elem(self.fd(), key.as_ptr().cast(), value.as_mut_ptr().cast())
        };
        match errno(result) {
            Ok(()) => Ok(Some(value)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(self.failed(errno)),
        }
    }

    /// Sets the value at `key` if there is none. `false`, and nothing done, if there is one, or if the map is full.
    ///
    /// # Errors
    /// As [`TableMap::lookup`].
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<bool, InstallError> {
        self.put(key, value, bpf::BPF_NOEXIST.into())
    }

    /// The entries behind the cursor, some at a time; an empty batch at the end. Entries that come or go meanwhile may be
    /// there or not; those of a trie are all in the first batch.
    ///
    /// # Errors
    /// `MapAccess`.
    pub fn read(&self, cursor: &mut Cursor) -> Result<Batch, InstallError> {
        let mut batch = self.read_some(cursor)?;
        // Where a trie has lost the key at which a batch ended, the next batch begins anew.
        while self.is_trie && !cursor.ended {
            let more = self.read_some(cursor)?;
            batch.keys.extend(more.keys);
            batch.values.extend(more.values);
        }
        Ok(batch)
    }

    fn read_some(&self, cursor: &mut Cursor) -> Result<Batch, InstallError> {
        cursor.size = cursor.size.max(BATCH);
        while !cursor.ended {
            let mut count = cursor.size as u32;
            let mut next = vec![0; self.key_size.max(size_of::<u64>())];
            let mut batch = Batch {
                keys: vec![0; cursor.size * self.key_size],
                values: vec![0; cursor.size * self.value_size],
            };
            let from =
                cursor.position.as_mut().map_or(std::ptr::null_mut(), |position| position.as_mut_ptr());
            // SAFETY: there is room for `count` keys and values, and for a position, which is a key or a word.
            let result = unsafe {
                bpf::bpf_map_lookup_batch(
                    self.fd(),
                    from.cast::<c_void>(),
                    next.as_mut_ptr().cast(),
                    batch.keys.as_mut_ptr().cast(),
                    batch.values.as_mut_ptr().cast(),
                    &raw mut count,
                    std::ptr::null(),
                )
            };
            match errno(result) {
                Ok(()) => cursor.position = Some(next),
                Err(Errno::ENOENT) => cursor.ended = true,
                // A bucket has more entries than were asked for.
                Err(Errno::ENOSPC) => {
                    cursor.size *= 2;
                    continue;
                }
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(self.failed(errno)),
            }
            if count > 0 {
                batch.keys.truncate(count as usize * self.key_size);
                batch.values.truncate(count as usize * self.value_size);
                return Ok(batch);
            }
        }
        Ok(Batch::default())
    }

    /// Sets the entries of a batch, in order; gives how many were set: fewer than there are if the map became full.
    ///
    /// # Errors
    /// `MapAccess`, also for a batch that is not made of whole keys and values.
    pub fn fill(&self, batch: &Batch) -> Result<usize, InstallError> {
        let entries = batch.keys.len() / self.key_size;
        self.check(&batch.keys, entries * self.key_size)?;
        self.check(&batch.values, entries * self.value_size)?;
        let mut set = 0;
        while set < entries {
            let mut count = (entries - set).min(BATCH) as u32;
            // SAFETY: behind `set` there are at least `count` keys and values.
            let result = unsafe {
                let keys = batch.keys.as_ptr().add(set * self.key_size);
                let values = batch.values.as_ptr().add(set * self.value_size);
                bpf::bpf_map_update_batch(
                    self.fd(),
                    keys.cast(),
                    values.cast(),
                    &raw mut count,
                    std::ptr::null(),
                )
            };
            match errno(result) {
                Ok(()) => set += count as usize,
                Err(errno) if is_full(errno) => return Ok(set + count as usize),
                Err(errno) => return Err(self.failed(errno)),
            }
        }
        Ok(set)
    }

    /// Removes all entries; those that come meanwhile may stay. Gives how many there were.
    ///
    /// # Errors
    /// `MapAccess`.
    pub fn clear(&self) -> Result<usize, InstallError> {
        let (mut cursor, mut cleared) = (Cursor::default(), 0);
        loop {
            let batch = self.read(&mut cursor)?;
            if batch.keys.is_empty() {
                return Ok(cleared);
            }
            for key in batch.keys.chunks_exact(self.key_size) {
                cleared += usize::from(self.delete(key)?);
            }
        }
    }

    fn fd(&self) -> i32 {
        self.map.as_raw_fd()
    }

    fn check(&self, bytes: &[u8], size: usize) -> Result<(), InstallError> {
        if bytes.len() == size {
            return Ok(());
        }
        let problem = format!("{} bytes where the map has {size}", bytes.len());
        Err(InstallError::MapAccess { map: self.name.clone(), problem })
    }

    fn failed(&self, errno: Errno) -> InstallError {
        failed(&self.name, errno)
    }
}

impl Batch {
    /// Appends an entry.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.keys.extend_from_slice(key);
        self.values.extend_from_slice(value);
    }
}

fn failed(map: &str, errno: Errno) -> InstallError {
    InstallError::MapAccess { map: map.to_string(), problem: errno.desc().to_string() }
}

fn errno(result: i32) -> Result<(), Errno> {
    if result < 0 { Err(Errno::from_raw(-result)) } else { Ok(()) }
}

/// What a hash map (`E2BIG`) and a trie (`ENOSPC`) say when there is no room for a new key.
fn is_full(errno: Errno) -> bool {
    matches!(errno, Errno::E2BIG | Errno::ENOSPC)
}
