//! Maps as tables: single entries, batches and walks, of each type of map.

use crate::support::{kernel, load_c};
use moonhook_install::{Batch, Cursor, InstallError, TableMap};
use std::collections::BTreeMap;

/// Entries with the keys `0..count` (as `key` makes them) and the values key × 3.
fn batch(table: &TableMap, count: u64, key: impl Fn(u64) -> Vec<u8>) -> Batch {
    let mut batch = Batch::default();
    for number in 0..count {
        let each = table.value_size() / table.cpus();
        let value = (number * 3).to_ne_bytes()[..each.min(8)].to_vec();
        batch.push(&key(number), &value.repeat(table.cpus()));
    }
    batch
}

fn word(number: u64) -> Vec<u8> {
    number.to_ne_bytes().to_vec()
}

/// All entries; none comes twice.
fn all(table: &TableMap) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (mut cursor, mut entries) = (Cursor::default(), BTreeMap::new());
    loop {
        let batch = table.read(&mut cursor).unwrap();
        if batch.keys.is_empty() {
            return entries;
        }
        let keys = batch.keys.chunks_exact(table.key_size());
        for (key, value) in keys.zip(batch.values.chunks_exact(table.value_size())) {
            assert!(entries.insert(key.to_vec(), value.to_vec()).is_none());
        }
    }
}

#[test]
fn batches_of_a_hash_table_come_back() {
    if !kernel() {
        return;
    }
    let program = load_c("tables.c");
    let many = program.table("many").unwrap();
    drop(program);
    assert!(all(&many).is_empty());
    assert_eq!(many.fill(&batch(&many, 100_000, word)).unwrap(), 100_000);
    let entries = all(&many);
    assert_eq!(entries.len(), 100_000);
    assert!((0..100_000).all(|number| entries[&word(number)] == word(number * 3)));
    assert!(!many.update(&word(100_000), &word(0)).unwrap());
    let twin = many.twin().unwrap();
    assert_eq!((twin.key_size(), twin.value_size(), twin.name()), (8, 8, many.name()));
    assert_eq!(twin.lookup(&word(7)).unwrap(), None);
    assert!(twin.update(&word(7), &word(8)).unwrap());
    assert_eq!(twin.lookup(&word(7)).unwrap().unwrap(), word(8));
    assert_eq!(many.lookup(&word(7)).unwrap().unwrap(), word(21));
    assert_eq!(many.fill(&batch(&many, 100_001, word)).unwrap(), 100_000);
    assert!(many.delete(&word(7)).unwrap() && !many.delete(&word(7)).unwrap());
    assert_eq!((many.lookup(&word(7)).unwrap(), many.lookup(&word(8)).unwrap()), (None, Some(word(24))));
    assert_eq!(many.clear().unwrap(), 99_999);
    assert!(all(&many).is_empty());
}

#[test]
fn per_cpu_tables_have_values_of_all_cpus() {
    if !kernel() {
        return;
    }
    let program = load_c("tables.c");
    let each = program.table("each").unwrap();
    assert_eq!(each.value_size(), 8 * each.cpus());
    assert_eq!(each.fill(&batch(&each, 2000, word)).unwrap(), 2000);
    let entries = all(&each);
    assert_eq!((entries.len(), &entries[&word(5)]), (2000, &word(15).repeat(each.cpus())));
    let value: Vec<u8> = (0..each.cpus() as u64).flat_map(word).collect();
    assert!(each.update(&word(5), &value).unwrap());
    assert_eq!(each.lookup(&word(5)).unwrap(), Some(value));
}

#[test]
fn tables_that_evict_are_never_full() {
    if !kernel() {
        return;
    }
    let program = load_c("tables.c");
    let recent = program.table("recent").unwrap();
    assert_eq!(recent.fill(&batch(&recent, 5000, word)).unwrap(), 5000);
    let left = all(&recent).len();
    assert!(left > 0 && left <= 512, "{left}");
}

#[test]
fn tries_give_the_longest_prefix() {
    if !kernel() {
        return;
    }
    let program = load_c("tables.c");
    let prefixes = program.table("prefixes").unwrap();
    let prefix = |length: u32, address: [u8; 4]| [length.to_ne_bytes(), address].concat();
    let numbered = |number: u64| prefix(32, (number as u32).to_be_bytes());
    prefixes.update(&prefix(8, [10, 0, 0, 0]), &word(8)).unwrap();
    prefixes.update(&prefix(16, [10, 1, 0, 0]), &word(16)).unwrap();
    let found = |address| prefixes.lookup(&prefix(32, address)).unwrap();
    assert_eq!((found([10, 1, 2, 3]), found([10, 2, 2, 3])), (Some(word(16)), Some(word(8))));
    assert_eq!(found([11, 0, 0, 1]), None);
    assert_eq!(prefixes.fill(&batch(&prefixes, 2998, numbered)).unwrap(), 2998);
    assert!(!prefixes.update(&prefix(8, [12, 0, 0, 0]), &word(0)).unwrap());
    assert_eq!(all(&prefixes).len(), 3000);
    assert!(prefixes.delete(&prefix(16, [10, 1, 0, 0])).unwrap());
    assert_eq!(found([10, 1, 2, 3]), Some(word(8)));
    assert_eq!(prefixes.clear().unwrap(), 2999);
}

#[test]
fn sizes_are_checked() {
    if !kernel() {
        return;
    }
    let program = load_c("tables.c");
    let many = program.table("many").unwrap();
    for result in [
        many.lookup(&[1]).map(drop),
        many.update(&word(1), &[1]).map(drop),
        many.delete(&[]).map(drop),
        many.fill(&Batch { keys: word(1), values: vec![1] }).map(drop),
    ] {
        assert!(matches!(result, Err(InstallError::MapAccess { .. })), "{result:?}");
    }
    assert!(matches!(program.table("absent"), Err(InstallError::NoSuchItem { .. })));
}
