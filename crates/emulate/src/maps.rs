//! Maps, as one CPU sees them: kinds, capacities and errors are the kernel's (kernel/bpf/hashtab.c, arraymap.c, lpm_trie.c).
//!
//! Elements come in the order of their keys' bytes, those of arrays in that of their numbers. Who is the least recently used is exact; the kernel only
//! comes close to it.

use crate::elements::Elements;
use crate::fault::MapError;
use crate::prefixes;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Flags of an update: only a key that is not there yet, or only one that is.
pub(crate) const NO_EXIST: u64 = 1;
pub(crate) const EXIST: u64 = 2;

/// Bytes that the elements of a map can take, at most; and how many each of them takes besides key and value, about.
const MOST_BYTES: u64 = 1 << 32;
const ELEMENT: u64 = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Array,
    /// A value of each CPU is never replaced, but written over. Of an LRU map, the least recently used element makes room.
    Hash {
        is_per_cpu: bool,
        is_lru: bool,
    },
    Prefixes,
    /// Why it cannot be used.
    Other(String),
}

#[derive(Debug)]
pub(crate) struct Map {
    pub definition: moonhook_link::Map,
    kind: Kind,
    pub key: usize,
    pub value: usize,
    most: u32,
    /// By key; of an array, those that have been asked for.
    entries: BTreeMap<Vec<u8>, Entry>,
    /// Of an LRU map, the keys by when they were last used.
    recent: BTreeMap<u64, Vec<u8>>,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    element: u32,
    used: u64,
}

fn kind(map: &moonhook_link::Map) -> Kind {
    let (key, value, most) = (map.key.0, map.value.0, map.max_entries);
    let kind = match map.map_type {
        1 => Kind::Hash { is_per_cpu: false, is_lru: false },
        5 => Kind::Hash { is_per_cpu: true, is_lru: false },
        9 => Kind::Hash { is_per_cpu: false, is_lru: true },
        10 => Kind::Hash { is_per_cpu: true, is_lru: true },
        2 | 6 if key == 4 => Kind::Array,
        11 if (5..=260).contains(&key) => Kind::Prefixes,
        2 | 6 | 11 => return Kind::Other("whose keys have another length than those of its kind".into()),
        other => return Kind::Other(format!("whose kind (number {other}) is not there in user space")),
    };
    let bytes = (u64::from(key) + u64::from(value) + ELEMENT).saturating_mul(u64::from(most));
    match bytes {
        _ if key == 0 || value == 0 || most == 0 => {
            Kind::Other("which has no elements, or empty ones".into())
        }
        MOST_BYTES.. => Kind::Other("which is larger than user space has room for".into()),
        _ => kind,
    }
}

impl Map {
    pub fn new(definition: &moonhook_link::Map) -> Map {
        Map {
            kind: kind(definition),
            key: definition.key.0 as usize,
            value: definition.value.0 as usize,
            most: definition.max_entries,
            entries: BTreeMap::new(),
            recent: BTreeMap::new(),
            clock: 0,
            definition: definition.clone(),
        }
    }

    /// Fails for what user space does not have.
    pub fn check(&self) -> Result<(), MapError> {
        match &self.kind {
            Kind::Other(problem) => Err(MapError::Unsupported(problem.clone())),
            _ => Ok(()),
        }
    }

    /// About how many steps a look-up takes.
    pub fn steps(&self) -> u64 {
        if self.kind == Kind::Prefixes { 8 * self.key as u64 } else { self.key as u64 / 8 + 1 }
    }

    /// The element that a program gets for a key. One of an array begins to exist.
    pub fn lookup(&mut self, elements: &mut Elements, key: &[u8]) -> Result<Option<u32>, MapError> {
        match self.kind {
            Kind::Array => self.array_element(elements, key),
            Kind::Prefixes => Ok(prefixes::longest(key, |prefix| self.element(prefix))),
            _ => {
                self.touch(key);
                Ok(self.element(key))
            }
        }
    }

    /// As [`Map::lookup`], but without leaving a trace.
    pub fn peek<'e>(&self, elements: &'e Elements, key: &[u8]) -> Option<&'e [u8]> {
        let element = match self.kind {
            Kind::Prefixes => prefixes::longest(key, |prefix| self.element(prefix)),
            _ => self.element(key),
        };
        elements.value(element?)
    }

    /// An element of an array that nobody has asked for yet.
    pub fn has_unused(&self, key: &[u8]) -> bool {
        self.kind == Kind::Array && number(key) < self.most && self.element(key).is_none()
    }

    pub fn update(
        &mut self,
        elements: &mut Elements,
        (key, value): (&[u8], Vec<u8>),
        flags: u64,
    ) -> Result<(), MapError> {
        if flags > EXIST {
            return Err(MapError::Invalid);
        }
        if self.kind == Kind::Array {
            let element = self.array_element(elements, key)?.ok_or(MapError::Full)?;
            return match flags {
                NO_EXIST => Err(MapError::Exists),
                _ => overwrite(elements, element, &value),
            };
        }
        let key = if self.kind == Kind::Prefixes {
            prefixes::cut(key).ok_or(MapError::Invalid)?
        } else {
            key.into()
        };
        match (self.element(&key), flags) {
            (Some(_), NO_EXIST) => Err(MapError::Exists),
            (None, EXIST) => Err(MapError::Missing),
            (Some(element), _) => self.replace(elements, key, (element, value)),
            (None, _) => self.insert(elements, key, value),
        }
    }

    pub fn delete(&mut self, elements: &mut Elements, key: &[u8]) -> Result<(), MapError> {
        match self.kind {
            Kind::Array => Err(MapError::Invalid),
            Kind::Prefixes => {
                let key = prefixes::cut(key).ok_or(MapError::Invalid)?;
                self.remove(elements, &key).ok_or(MapError::Missing)
            }
            _ => self.remove(elements, key).ok_or(MapError::Missing),
        }
    }

    /// The key behind another one, or the first.
    pub fn next_key(&self, key: Option<&[u8]>) -> Option<Vec<u8>> {
        if self.kind == Kind::Array {
            let number = key.map_or(0, |key| u64::from(number(key)) + 1);
            return (number < u64::from(self.most)).then(|| (number as u32).to_le_bytes().to_vec());
        }
        let from = key.map_or(Bound::Unbounded, Bound::Excluded);
        self.entries.range::<[u8], _>((from, Bound::Unbounded)).next().map(|(key, _)| key.clone())
    }

    /// The element of a key that a callback is shown.
    pub fn shown(&mut self, elements: &mut Elements, key: &[u8]) -> Result<Option<u32>, MapError> {
        match self.kind {
            Kind::Array => self.array_element(elements, key),
            _ => Ok(self.element(key)),
        }
    }

    fn element(&self, key: &[u8]) -> Option<u32> {
        self.entries.get(key).map(|entry| entry.element)
    }

    fn array_element(&mut self, elements: &mut Elements, key: &[u8]) -> Result<Option<u32>, MapError> {
        if number(key) >= self.most {
            return Ok(None);
        }
        if self.element(key).is_none() {
            let element = elements.add(vec![0; self.value]).ok_or(MapError::Memory)?;
            self.entries.insert(key.into(), Entry { element, used: 0 });
        }
        Ok(self.element(key))
    }

    /// Another element takes the place of the old one, which whoever has looked it up before still sees.
    fn replace(
        &mut self,
        elements: &mut Elements,
        key: Vec<u8>,
        (old, value): (u32, Vec<u8>),
    ) -> Result<(), MapError> {
        self.touch(&key);
        if matches!(self.kind, Kind::Hash { is_per_cpu: true, .. }) {
            return overwrite(elements, old, &value);
        }
        let element = elements.add(value).ok_or(MapError::Memory)?;
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.element = element;
        }
        elements.remove(old);
        Ok(())
    }

    fn insert(&mut self, elements: &mut Elements, key: Vec<u8>, value: Vec<u8>) -> Result<(), MapError> {
        if self.entries.len() as u64 >= u64::from(self.most) {
            match self.kind {
                Kind::Hash { is_lru: true, .. } => self.make_room(elements),
                Kind::Prefixes => return Err(MapError::NoRoom),
                _ => return Err(MapError::Full),
            }
        }
        let element = elements.add(value).ok_or(MapError::Memory)?;
        self.entries.insert(key.clone(), Entry { element, used: 0 });
        self.touch(&key);
        Ok(())
    }

    fn make_room(&mut self, elements: &mut Elements) {
        if let Some((_, key)) = self.recent.pop_first()
            && let Some(entry) = self.entries.remove(&key)
        {
            elements.remove(entry.element);
        }
    }

    fn remove(&mut self, elements: &mut Elements, key: &[u8]) -> Option<()> {
        let entry = self.entries.remove(key)?;
        self.recent.remove(&entry.used);
        elements.remove(entry.element);
        Some(())
    }

    /// Notes that an element is used.
    fn touch(&mut self, key: &[u8]) {
        if !matches!(self.kind, Kind::Hash { is_lru: true, .. }) {
            return;
        }
        let Some(entry) = self.entries.get_mut(key) else { return };
        self.clock += 1;
        let key = self.recent.remove(&entry.used).unwrap_or_else(|| key.to_vec());
        entry.used = self.clock;
        self.recent.insert(self.clock, key);
    }
}

/// The number of an array's element.
fn number(key: &[u8]) -> u32 {
    key.first_chunk().map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes))
}

fn overwrite(elements: &mut Elements, element: u32, value: &[u8]) -> Result<(), MapError> {
    let bytes = elements.value_mut(element).ok_or(MapError::Missing)?;
    bytes.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(map_type: u32, key: u32, value: u32, max_entries: u32) -> Map {
        Map::new(&moonhook_link::Map {
            name: "m".into(),
            map_type,
            key: (key, None),
            value: (value, None),
            max_entries,
            flags: 0,
            is_weak: false,
        })
    }

    fn keys(map: &Map) -> Vec<Vec<u8>> {
        std::iter::successors(map.next_key(None), |key| map.next_key(Some(key))).collect()
    }

    #[test]
    fn hashes_keep_to_their_capacity() {
        for map_type in [1, 5] {
            let (mut map, mut elements) = (map(map_type, 2, 1, 2), Elements::default());
            let mut set = |key: u8, flags| map.update(&mut elements, (&[key, 0], vec![key]), flags);
            assert_eq!(set(1, EXIST), Err(MapError::Missing));
            assert_eq!((set(1, 0), set(1, NO_EXIST)), (Ok(()), Err(MapError::Exists)));
            assert_eq!((set(2, NO_EXIST), set(3, 0), set(2, EXIST)), (Ok(()), Err(MapError::Full), Ok(())));
            assert_eq!(set(2, 4), Err(MapError::Invalid));
            assert_eq!(map.delete(&mut elements, &[1, 0]), Ok(()));
            assert_eq!(map.delete(&mut elements, &[1, 0]), Err(MapError::Missing));
            assert_eq!(keys(&map), [[2, 0]]);
        }
    }

    #[test]
    fn the_least_recently_used_goes() {
        for map_type in [9, 10] {
            let (mut map, mut elements) = (map(map_type, 1, 1, 3), Elements::default());
            for key in 1..=3 {
                map.update(&mut elements, (&[key], vec![key]), 0).unwrap();
            }
            assert!(map.lookup(&mut elements, &[1]).unwrap().is_some());
            map.update(&mut elements, (&[4], vec![4]), 0).unwrap();
            map.update(&mut elements, (&[3], vec![9]), 0).unwrap();
            map.update(&mut elements, (&[5], vec![5]), 0).unwrap();
            assert_eq!(keys(&map), [[3], [4], [5]]);
            map.delete(&mut elements, &[3]).unwrap();
            map.update(&mut elements, (&[6], vec![6]), 0).unwrap();
            assert_eq!(keys(&map), [[4], [5], [6]]);
        }
    }

    #[test]
    fn arrays_have_all_their_elements() {
        let (mut map, mut elements) = (map(2, 4, 2, 2), Elements::default());
        let key = |number: u32| number.to_le_bytes();
        assert_eq!(keys(&map).len(), 2);
        let first = map.lookup(&mut elements, &key(1)).unwrap().unwrap();
        assert_eq!(elements.value(first), Some(&[0, 0][..]));
        assert_eq!(map.lookup(&mut elements, &key(2)), Ok(None));
        assert_eq!(map.update(&mut elements, (&key(1), vec![1, 2]), EXIST), Ok(()));
        assert_eq!(elements.value(first), Some(&[1, 2][..]));
        assert_eq!(map.update(&mut elements, (&key(1), vec![1, 2]), NO_EXIST), Err(MapError::Exists));
        assert_eq!(map.update(&mut elements, (&key(2), vec![1, 2]), 0), Err(MapError::Full));
        assert_eq!(map.delete(&mut elements, &key(1)), Err(MapError::Invalid));
    }

    #[test]
    fn the_longest_prefix_counts() {
        let (mut map, mut elements) = (map(11, 8, 1, 3), Elements::default());
        let key = |length: u8, address: [u8; 4]| [&[length, 0, 0, 0][..], &address].concat();
        for (length, address, value) in
            [(0, [9, 9, 9, 9], 1), (8, [10, 0, 0, 1], 2), (25, [10, 0, 0, 128], 3)]
        {
            map.update(&mut elements, (&key(length, address), vec![value]), 0).unwrap();
        }
        let find = |length, address| map.peek(&elements, &key(length, address)).map(|value| value[0]);
        assert_eq!(find(32, [10, 0, 0, 129]), Some(3));
        assert_eq!(find(32, [10, 0, 0, 127]), Some(2));
        assert_eq!(find(24, [10, 0, 0, 129]), Some(2));
        assert_eq!(find(32, [11, 0, 0, 0]), Some(1));
        assert_eq!(find(33, [11, 0, 0, 0]), None);
        let mut set = |length, address| map.update(&mut elements, (&key(length, address), vec![7]), 0);
        assert_eq!(set(9, [10, 0, 0, 0]), Err(MapError::NoRoom));
        assert_eq!(set(8, [10, 1, 1, 1]), Ok(()));
        assert_eq!(set(33, [10, 1, 1, 1]), Err(MapError::Invalid));
        assert_eq!(map.delete(&mut elements, &key(0, [1, 1, 1, 1])), Ok(()));
        assert_eq!(map.delete(&mut elements, &key(0, [1, 1, 1, 1])), Err(MapError::Missing));
    }

    #[test]
    fn what_is_not_there_says_so() {
        for map in
            [map(27, 0, 0, 4096), map(2, 8, 8, 1), map(1, 4, 1 << 30, 64), map(1, 4, 4, 0), map(1, 0, 4, 4)]
        {
            assert!(matches!(map.check(), Err(MapError::Unsupported(_))));
        }
    }
}
