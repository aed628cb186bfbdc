//! Maps of simulated memory: arrays and hash tables, of one CPU, with the helpers that look up, update and delete. Tries are not modelled.

use super::{FIRST_DATA, FIRST_ENTRY, Frame, Machine, Trap};
use crate::{MapDefinition, MapId, MapKind, MapType, Module, helper};

/// An entry of a map; its region is [`FIRST_ENTRY`] and its place among all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub map: MapId,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub deleted: bool,
}

/// What the helpers give, as include/uapi/asm-generic/errno-base.h numbers it.
const ENOENT: i64 = -2;
const E2BIG: i64 = -7;
const EEXIST: i64 = -17;

/// `BPF_NOEXIST` and `BPF_EXIST` of include/uapi/linux/bpf.h.
const NO_EXIST: u64 = 1;
const EXIST: u64 = 2;

impl Machine {
    /// Does what a helper does with a map; 0 for other helpers and other maps.
    pub(super) fn map_helper(
        &mut self,
        module: &Module,
        frame: &mut Frame,
        id: u32,
        args: &[u64],
    ) -> Result<u64, Trap> {
        let [map, key, ..] = *args else { return Ok(0) };
        let map = MapId((map >> 32).wrapping_sub(FIRST_DATA) as u32);
        let Some(MapKind::Map(definition)) = module.maps.get(map.0 as usize).map(|map| &map.kind) else {
            return Ok(0);
        };
        if definition.map_type == MapType::LpmTrie
            || !matches!(id, helper::MAP_LOOKUP_ELEM | helper::MAP_UPDATE_ELEM | helper::MAP_DELETE_ELEM)
        {
            return Ok(0);
        }
        let key = self.bytes(frame, key, definition.key_size as usize)?.to_vec();
        let found = self.entry(map, definition, &key);
        Ok(match (id, args) {
            (helper::MAP_LOOKUP_ELEM, _) => found.map_or(0, |entry| (FIRST_ENTRY + entry as u64) << 32),
            (helper::MAP_UPDATE_ELEM, [_, _, value, flags]) => {
                let value = self.bytes(frame, *value, definition.value_size as usize)?.to_vec();
                self.update(map, definition, key, value, *flags, found) as u64
            }
            _ => match found {
                Some(entry) => {
                    self.entries[entry].deleted = true;
                    0
                }
                None => ENOENT as u64,
            },
        })
    }

    /// The place of the entry with that key. All entries of an array are there from the start.
    fn entry(&mut self, map: MapId, definition: &MapDefinition, key: &[u8]) -> Option<usize> {
        let is = |entry: &Entry| entry.map == map && !entry.deleted && entry.key == key;
        if let Some(found) = self.entries.iter().position(is) {
            return Some(found);
        }
        let index = u32::from_ne_bytes(key.try_into().ok()?);
        if !is_array(definition) || index >= definition.max_entries {
            return None;
        }
        let value = vec![0; definition.value_size as usize];
        self.entries.push(Entry { map, key: key.to_vec(), value, deleted: false });
        Some(self.entries.len() - 1)
    }

    fn update(
        &mut self,
        map: MapId,
        definition: &MapDefinition,
        key: Vec<u8>,
        value: Vec<u8>,
        flags: u64,
        found: Option<usize>,
    ) -> i64 {
        let of_map = |entry: &&Entry| entry.map == map && !entry.deleted;
        match found {
            Some(_) if flags == NO_EXIST => EEXIST,
            None if flags == EXIST => ENOENT,
            None if self.entries.iter().filter(of_map).count() >= definition.max_entries as usize => E2BIG,
            Some(entry) if is_array(definition) => {
                self.entries[entry].value = value;
                0
            }
            // A hash table puts another element in the place of the present one.
            found => {
                found.into_iter().for_each(|entry| self.entries[entry].deleted = true);
                self.entries.push(Entry { map, key, value, deleted: false });
                0
            }
        }
    }
}

fn is_array(definition: &MapDefinition) -> bool {
    matches!(definition.map_type, MapType::Array | MapType::PerCpuArray)
}
