//! The table as the process that writes it sees it.

use crate::layout::{DELETED, ENTRY_MASK, HEADER, HashKeys, Layout, MOST_KEYS, PROBES};
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What there is to know of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The words of its key.
    pub key: Vec<u64>,
    /// The number of its function.
    pub function: u32,
    pub packets: u64,
    pub errors: u32,
    /// How many ticks ago its last packet was handled, or its function was set.
    pub idle: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    #[error("the table has room for {capacity} flows")]
    Full { capacity: u32 },
    /// Many keys have met at one place of the index.
    #[error("too many keys meet at one place of the table")]
    Crowded,
}

/// How long a program may hold an entry that it has found: whatever it does, no CPU takes as long for a packet.
pub const GRACE: Duration = Duration::from_millis(50);

/// A table in `memory`, which is as long as its [`Layout`] says and was all zeros when the table was made.
#[derive(Debug)]
pub struct FlowTable<M> {
    memory: M,
    layout: Layout,
    keys: HashKeys,
    count: u32,
    /// Entries that were never used.
    unused: u32,
    /// Entries that were removed, with the time when they were.
    removed: VecDeque<(Instant, u32)>,
}

impl<M: Deref<Target = [AtomicU64]>> FlowTable<M> {
    /// A table without flows; `seed` is random. The memory has to be as long as the layout says.
    pub fn new(memory: M, layout: Layout, seed: [u64; 2]) -> FlowTable<M> {
        assert!(memory.len() * 8 >= layout.bytes() && (1..=MOST_KEYS).contains(&layout.key_words));
        let keys = HashKeys::from_seed(seed);
        for (word, key) in memory[1..].iter().zip(keys.0) {
            word.store(key, Ordering::Relaxed);
        }
        FlowTable { memory, layout, keys, count: 0, unused: 0, removed: VecDeque::new() }
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How many flows there are.
    pub fn len(&self) -> u32 {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Lets a tick pass; gives the number of the present one.
    pub fn tick(&self) -> u32 {
        (self.memory[0].fetch_add(1, Ordering::Relaxed) + 1) as u32
    }

    /// Gives a flow a function, in one store if it is there already; gives the number of the one that it had.
    ///
    /// # Errors
    /// `Full`, `Crowded`; then nothing has changed.
    pub fn insert(&mut self, key: &[u64], function: u32) -> Result<Option<u32>, FlowError> {
        if let Some((_, entry)) = self.find(key) {
            let word = self.word(entry, self.layout.function());
            let before = word.swap(function.into(), Ordering::Release);
            self.see(entry);
            return Ok(Some(before as u32));
        }
        if self.count == self.layout.capacity {
            return Err(FlowError::Full { capacity: self.layout.capacity });
        }
        let place = self.free_place(key).ok_or(FlowError::Crowded)?;
        let entry = self.free_entry();
        for (number, word) in key.iter().enumerate() {
            self.word(entry, 8 * number).store(*word, Ordering::Relaxed);
        }
        self.word(entry, self.layout.function()).store(function.into(), Ordering::Relaxed);
        self.word(entry, self.layout.seen()).store(u64::from(self.now()), Ordering::Relaxed);
        self.word(entry, self.layout.packets()).store(0, Ordering::Relaxed);
        // Who finds the entry finds all of it.
        self.index(place).store(Layout::index_word(self.keys.hash(key), entry), Ordering::Release);
        self.count += 1;
        Ok(None)
    }

    /// The flow is not idle. Programs may count its errors meanwhile, in the same word.
    fn see(&self, entry: u32) {
        let now = u64::from(self.now());
        let seen = |word: u64| Some(word & !u64::from(u32::MAX) | now);
        let _ = self.word(entry, self.layout.seen()).fetch_update(Ordering::Relaxed, Ordering::Relaxed, seen);
    }

    /// Adds to what a flow has counted.
    pub fn add_counts(&self, key: &[u64], packets: u64, errors: u32) {
        if let Some((_, entry)) = self.find(key) {
            self.word(entry, self.layout.packets()).fetch_add(packets, Ordering::Relaxed);
            self.word(entry, self.layout.seen()).fetch_add(u64::from(errors) << 32, Ordering::Relaxed);
        }
    }

    /// Removes a flow; gives what there was to know of it.
    pub fn remove(&mut self, key: &[u64]) -> Option<Flow> {
        let (place, entry) = self.find(key)?;
        let flow = self.flow(entry);
        let words = self.layout.index_words();
        let next_is_free = self.index((place + 1) % words).load(Ordering::Relaxed) == 0;
        self.index(place).store(if next_is_free { 0 } else { DELETED }, Ordering::Release);
        if next_is_free {
            // Nothing lies behind the places before, either.
            let mut before = (place + words - 1) % words;
            while self.index(before).load(Ordering::Relaxed) == DELETED {
                self.index(before).store(0, Ordering::Release);
                before = (before + words - 1) % words;
            }
        }
        self.removed.push_back((Instant::now(), entry));
        self.count -= 1;
        Some(flow)
    }

    /// What there is to know of a flow.
    pub fn get(&self, key: &[u64]) -> Option<Flow> {
        self.find(key).map(|(_, entry)| self.flow(entry))
    }

    /// All flows, in no order.
    pub fn flows(&self) -> impl Iterator<Item = Flow> {
        self.indexed().map(|entry| self.flow(entry))
    }

    /// So many flows that are found from a place of the index on, and the place where to go on; `None` at the end.
    pub fn some_flows(&self, from: usize, most: usize) -> (Vec<Flow>, Option<usize>) {
        let mut flows = Vec::new();
        for place in from..self.layout.index_words() {
            if flows.len() == most {
                return (flows, Some(place));
            }
            let word = self.index(place).load(Ordering::Relaxed);
            if !matches!(word, 0 | DELETED) {
                flows.push(self.flow((word & ENTRY_MASK) as u32 - 1));
            }
        }
        (flows, None)
    }

    /// The keys of flows that had no packet for more than so many ticks.
    pub fn idle(&self, ticks: u32) -> Vec<Vec<u64>> {
        let is_idle = |entry: &u32| self.idle_for(*entry) > ticks;
        self.indexed().filter(is_idle).map(|entry| self.flow(entry).key).collect()
    }

    fn indexed(&self) -> impl Iterator<Item = u32> {
        let words = (0..self.layout.index_words()).map(|place| self.index(place).load(Ordering::Relaxed));
        words.filter(|word| !matches!(*word, 0 | DELETED)).map(|word| (word & ENTRY_MASK) as u32 - 1)
    }

    fn now(&self) -> u32 {
        self.memory[0].load(Ordering::Relaxed) as u32
    }

    fn index(&self, place: usize) -> &AtomicU64 {
        &self.memory[HEADER / 8 + place]
    }

    fn word(&self, entry: u32, offset: usize) -> &AtomicU64 {
        &self.memory[(self.layout.entries() + entry as usize * self.layout.stride() + offset) / 8]
    }

    fn flow(&self, entry: u32) -> Flow {
        let load = |offset| self.word(entry, offset).load(Ordering::Relaxed);
        let seen = load(self.layout.seen());
        Flow {
            key: (0..self.layout.key_words).map(|number| load(8 * number)).collect(),
            function: load(self.layout.function()) as u32,
            packets: load(self.layout.packets()),
            errors: (seen >> 32) as u32,
            idle: self.idle_for(entry),
        }
    }

    fn idle_for(&self, entry: u32) -> u32 {
        self.now().wrapping_sub(self.word(entry, self.layout.seen()).load(Ordering::Relaxed) as u32)
    }

    /// The place in the index, and the entry, of a key.
    fn find(&self, key: &[u64]) -> Option<(usize, u32)> {
        if key.len() != self.layout.key_words {
            return None;
        }
        let hash = self.keys.hash(key);
        for place in self.places(hash) {
            let word = self.index(place).load(Ordering::Acquire);
            if word == 0 {
                return None;
            }
            let entry = (word & ENTRY_MASK) as u32;
            if word != DELETED && word & !ENTRY_MASK == hash & !ENTRY_MASK && self.has_key(entry - 1, key) {
                return Some((place, entry - 1));
            }
        }
        None
    }

    fn has_key(&self, entry: u32, key: &[u64]) -> bool {
        key.iter().enumerate().all(|(n, word)| self.word(entry, 8 * n).load(Ordering::Relaxed) == *word)
    }

    /// The places of the index at which a key with that hash may be, in order.
    fn places(&self, hash: u64) -> impl Iterator<Item = usize> + use<M> {
        let (first, mask) = (self.layout.first(hash), self.layout.index_words() - 1);
        (0..PROBES).map(move |step| (first + step) & mask)
    }

    fn free_place(&self, key: &[u64]) -> Option<usize> {
        let is_free = |place: &usize| matches!(self.index(*place).load(Ordering::Relaxed), 0 | DELETED);
        self.places(self.keys.hash(key)).find(is_free)
    }

    /// An entry that no program can hold any more, for which it waits where there is no other. There are more entries than flows.
    fn free_entry(&mut self) -> u32 {
        if self.unused < self.layout.entry_count() {
            self.unused += 1;
            return self.unused - 1;
        }
        let (since, entry) = self.removed.pop_front().unwrap_or((Instant::now(), 0));
        if let Some(rest) = GRACE.checked_sub(since.elapsed()) {
            std::thread::sleep(rest);
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn table(key_words: usize, capacity: u32) -> FlowTable<Box<[AtomicU64]>> {
        let layout = Layout { key_words, capacity };
        let memory = (0..layout.bytes() / 8).map(|_| AtomicU64::new(0)).collect();
        FlowTable::new(memory, layout, [3, 4])
    }

    /// What an ordinary map has after the same changes.
    #[test]
    fn flows_are_those_of_a_map_with_the_same_changes() {
        let mut table = table(2, 500);
        let mut map: HashMap<Vec<u64>, u32> = HashMap::new();
        let mut random = 1u64;
        for step in 0..6000u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = vec![random >> 55, 5];
            if random >> 40 & 1 == 0 {
                assert_eq!(table.insert(&key, step + 1), Ok(map.insert(key, step + 1)));
            } else {
                assert_eq!(table.remove(&key).map(|flow| flow.function), map.remove(&key));
            }
            assert_eq!(table.len() as usize, map.len());
        }
        let mut flows: Vec<_> = table.flows().map(|flow| (flow.key, flow.function)).collect();
        let mut expected: Vec<_> = map.into_iter().collect();
        flows.sort();
        expected.sort();
        assert_eq!(flows, expected);
        let (mut paged, mut from) = (0, Some(0));
        while let Some(place) = from {
            let (flows, next) = table.some_flows(place, 7);
            assert!(flows.len() <= 7);
            (paged, from) = (paged + flows.len(), next);
        }
        assert_eq!(paged, expected.len());
        for (key, function) in expected {
            assert_eq!(table.get(&key).map(|flow| flow.function), Some(function));
        }
    }

    #[test]
    fn a_full_table_takes_no_more_and_loses_nothing() {
        let mut table = table(5, 100_000);
        for number in 0..100_000 {
            assert_eq!(table.insert(&[0, 0xffff << 32 | number, 0, 9, 17], 1), Ok(None));
        }
        let one_more = table.insert(&[0; 5], 1);
        assert_eq!(one_more, Err(FlowError::Full { capacity: 100_000 }));
        assert_eq!(table.insert(&[0, 0xffff << 32, 0, 9, 17], 2), Ok(Some(1)));
        assert!((0..100_000).all(|number| table.get(&[0, 0xffff << 32 | number, 0, 9, 17]).is_some()));
        assert_eq!((table.get(&[0; 5]), table.get(&[0])), (None, None));
    }

    #[test]
    fn tables_of_numbers_that_follow_each_other_can_be_full() {
        for seed in 0..2000 {
            let layout = Layout { key_words: 1, capacity: 400 };
            let memory: Box<[AtomicU64]> = (0..layout.bytes() / 8).map(|_| AtomicU64::new(0)).collect();
            let mut table = FlowTable::new(memory, layout, [seed, !seed << 7]);
            for number in 0..400 {
                assert_eq!(table.insert(&[8000 + number], 1), Ok(None), "seed {seed}");
            }
        }
    }

    #[test]
    fn places_are_free_again_where_nothing_lies_behind() {
        let mut table = table(1, 1000);
        for round in 0..50 {
            (0..900).for_each(|key| assert_eq!(table.insert(&[key + round], 1), Ok(None)));
            (0..900).for_each(|key| assert!(table.remove(&[key + round]).is_some()));
            let left = (0..2048).filter(|place| table.index(*place).load(Ordering::Relaxed) != 0).count();
            assert_eq!((left, table.len()), (0, 0));
        }
    }

    #[test]
    fn entries_are_used_again_after_a_while_only() {
        let mut table = table(1, 1);
        let begin = Instant::now();
        for round in 0..70 {
            table.insert(&[round], 1).unwrap();
            table.remove(&[round]).unwrap();
        }
        // 65 entries, and five of them a second time.
        assert!(begin.elapsed() >= GRACE / 2, "{:?}", begin.elapsed());
        assert!(table.is_empty());
    }

    #[test]
    fn packets_and_ticks_are_counted() {
        let mut table = table(1, 10);
        table.insert(&[7], 3).unwrap();
        assert_eq!((0..5).map(|_| table.tick()).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert_eq!(table.get(&[7]).map(|flow| (flow.idle, flow.packets)), Some((5, 0)));
        assert_eq!((table.idle(4), table.idle(5)), (vec![vec![7]], vec![]));
        table.add_counts(&[7], 10, 2);
        table.add_counts(&[8], 10, 2);
        assert_eq!(table.insert(&[7], 4), Ok(Some(3)));
        assert_eq!((0..3).map(|_| table.tick()).collect::<Vec<_>>(), [6, 7, 8]);
        let flow = Flow { key: vec![7], function: 4, packets: 10, errors: 2, idle: 3 };
        assert_eq!(table.get(&[7]), Some(flow.clone()));
        assert_eq!(table.remove(&[7]), Some(flow));
        assert_eq!(table.remove(&[7]), None);
    }
}
