//! Tables of load time as bytes of arena memory, in the layout of `lua/table.lua`.

use crate::layout::*;

/// Where the texts of routines stand ([`crate::texts`]); what is below is no address, and the nil at [`ADDR_NIL`].
pub const TEXTS: usize = 64;

/// A value: tag and payload.
pub type Value = (i64, u64);

/// What is in a table.
#[derive(Clone, Debug, Default)]
pub struct TableContent {
    /// The values of the keys 1 to n.
    pub array: Vec<Value>,
    /// The other entries: key, the key's hash, value; none of the keys is n + 1.
    pub entries: Vec<(Value, u64, Value)>,
    /// Address of the metatable, or 0.
    pub metatable: u64,
    /// `FLAG_…`.
    pub flags: u64,
}

/// How many slots the index of so many entries has; 0 for none.
fn slots(entries: usize) -> usize {
    if entries <= INDEX_FREE as usize { 0 } else { (2 * entries).next_power_of_two().max(16) }
}

/// The bytes that a table takes.
pub fn table_size(array: usize, entries: usize) -> usize {
    TABLE_SIZE as usize + VALUE_SIZE as usize * array + ENTRY_SIZE as usize * entries + 4 * slots(entries)
}

/// A table that is to stand at `address`.
pub fn write_table(address: u64, content: &TableContent) -> Vec<u8> {
    let (count, used) = (content.array.len(), content.entries.len());
    let integers = content.entries.iter().filter(|((tag, _), ..)| *tag == TAG_INT).count();
    let array = address + TABLE_SIZE as u64;
    let entries = array + VALUE_SIZE as u64 * count as u64;
    let index = entries + ENTRY_SIZE as u64 * used as u64;
    let slots = slots(used);
    let mut words = vec![0u64; TABLE_SIZE as usize / 8];
    let fields = [
        (T_META, content.metatable),
        (T_ARRAY, array),
        (T_COUNT, count as u64),
        (T_ARRAY_CAP, count as u64),
        (T_ENTRIES, entries),
        (T_USED, ENTRY_SIZE as u64 * used as u64),
        (T_ENTRY_CAP, ENTRY_SIZE as u64 * used as u64),
        (T_INDEX, if slots == 0 { 0 } else { index }),
        (T_INDEX_MASK, slots.saturating_sub(1) as u64),
        (T_FLAGS, content.flags),
        (T_LIVE, used as u64),
        (T_INTS, integers as u64),
        (T_FILTER, filter(content)),
    ];
    for (offset, word) in fields {
        words[offset as usize / 8] = word;
    }
    words.extend(content.array.iter().flat_map(|(tag, payload)| [*tag as u64, *payload]));
    for ((key_tag, key), hash, (tag, value)) in &content.entries {
        words.extend([*key_tag as u64, *key, *tag as u64, *value, *hash]);
    }
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(index_of(content, slots).iter().flat_map(|slot| slot.to_le_bytes()));
    bytes
}

/// The bits of texts that are keys (`T_FILTER`).
fn filter(content: &TableContent) -> u64 {
    let texts = content.entries.iter().filter(|((tag, _), ..)| *tag == TAG_STRING);
    texts.fold(0, |bits, (_, hash, _)| bits | 1 << (hash >> 58))
}

/// Open addressing: each slot holds an eighth of the entry's distance from the first one in bytes, and 1 more; or 0.
fn index_of(content: &TableContent, slots: usize) -> Vec<u32> {
    let mut index = vec![0u32; slots];
    if slots == 0 {
        return index;
    }
    for (number, (_, hash, _)) in content.entries.iter().enumerate() {
        let mut slot = *hash as usize & (slots - 1);
        while index[slot] != 0 {
            slot = (slot + 1) & (slots - 1);
        }
        index[slot] = slot_of(number);
    }
    index
}

/// What the slot of the entry with a number holds.
fn slot_of(entry: usize) -> u32 {
    entry as u32 * (ENTRY_SIZE as u32 / 8) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_the_bytes_that_it_is_said_to_take() {
        for (array, entries) in [(0, 0), (3, 0), (0, 8), (2, 9), (0, 1000)] {
            let entries: Vec<_> = (0..entries)
                .map(|key| ((TAG_INT, key), crate::value_hash(TAG_INT, key), (TAG_TRUE, 0)))
                .collect();
            let content =
                TableContent { array: vec![(TAG_INT, 7); array], entries, ..TableContent::default() };
            let size = table_size(content.array.len(), content.entries.len());
            assert_eq!(write_table(4096, &content).len(), size);
        }
    }

    #[test]
    fn every_entry_is_found_through_the_index() {
        let hash = |key: u64| crate::value_hash(TAG_INT, key);
        let entries = (0..100).map(|key| ((TAG_INT, key), hash(key), (TAG_INT, key))).collect();
        let content = TableContent { entries, ..TableContent::default() };
        let index = index_of(&content, slots(100));
        for key in 0..100u64 {
            let mut slot = hash(key) as usize & (index.len() - 1);
            while index[slot] != slot_of(key as usize) {
                assert_ne!(index[slot], 0, "{key}");
                slot = (slot + 1) & (index.len() - 1);
            }
        }
    }
}
