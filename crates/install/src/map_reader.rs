//! Maps of a running program, read by who does not have the program: the descriptor is the reader's own.

use crate::map::{access, type_name_of};
use crate::pin::pin;
use crate::{InstallError, Program};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use std::os::fd::AsFd;
use std::path::Path;

/// A map that is read; it lives on as long as this does.
#[derive(Debug)]
pub struct MapReader {
    name: String,
    map: MapHandle,
}

/// What is at a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapValue {
    One(Vec<u8>),
    /// One for each CPU that the machine can have, by its number.
    PerCpu(Vec<Vec<u8>>),
}

impl Program {
    /// The map or data section of that name, for others to read.
    ///
    /// # Errors
    /// `NoSuchItem`; `MapAccess` where there are no descriptors left.
    pub fn reader(&self, name: &str) -> Result<MapReader, InstallError> {
        let map = MapHandle::try_from(&self.map(name)?).map_err(|error| access(name, &error))?;
        Ok(MapReader { name: name.to_string(), map })
    }
}

impl MapReader {
    /// As the program's object calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel's name of the type, as bpftool shows it.
    pub fn map_type(&self) -> String {
        type_name_of(self.map.map_type())
    }

    /// In bytes.
    pub fn key_size(&self) -> usize {
        self.map.key_size() as usize
    }

    /// In bytes, of one CPU.
    pub fn value_size(&self) -> usize {
        self.map.value_size() as usize
    }

    /// Whether it has entries with values that are bytes: not programs, rings or other maps.
    pub fn has_entries(&self) -> bool {
        matches!(
            self.map.map_type(),
            MapType::Hash
                | MapType::Array
                | MapType::PercpuHash
                | MapType::PercpuArray
                | MapType::LruHash
                | MapType::LruPercpuHash
                | MapType::LpmTrie
        )
    }

    /// What is at a key; `None` if nothing is.
    ///
    /// # Errors
    /// `MapAccess`, also for a key of another size.
    pub fn lookup(&self, key: &[u8]) -> Result<Option<MapValue>, InstallError> {
        let found = match self.map.map_type().is_percpu() {
            true => self.map.lookup_percpu(key, MapFlags::ANY).map(|found| found.map(MapValue::PerCpu)),
            false => self.map.lookup(key, MapFlags::ANY).map(|found| found.map(MapValue::One)),
        };
        found.map_err(|error| access(&self.name, &error))
    }

    /// The keys, as they come; entries that come or go meanwhile may be there or not, and a map that changes all the time has no end of them.
    pub fn keys(&self) -> impl Iterator<Item = Vec<u8>> {
        self.map.keys()
    }

    /// Pins the map; a pin that is there gives way.
    ///
    /// # Errors
    /// `PinFailed`.
    pub fn pin(&self, path: &Path) -> Result<(), InstallError> {
        pin(self.map.as_fd(), path)
    }
}
