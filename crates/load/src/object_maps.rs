//! Maps of C objects for functions in real Lua: at load time they are kept here, and whoever runs the script later puts the real ones in their place.

use moonhook_snapshot::{Leaf, MapContents};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Whoever has the maps. A map is named by the numbers of its object and of the map there; keys and values are its bytes.
pub trait MapsOfObjects {
    /// The value, or one for each CPU where these have values of their own.
    ///
    /// # Errors
    /// What the kernel says.
    fn get(&mut self, map: (usize, usize), key: &[u8]) -> Result<Option<Vec<Vec<u8>>>, String>;

    /// Sets the value; where CPUs have values of their own, those of all together become this one, but at load time each of them. Whether there was room.
    ///
    /// # Errors
    /// What the kernel says.
    fn set(&mut self, map: (usize, usize), key: &[u8], value: &[u8]) -> Result<bool, String>;

    /// Whether there is no such entry now: those of arrays stay.
    ///
    /// # Errors
    /// What the kernel says.
    fn delete(&mut self, map: (usize, usize), key: &[u8]) -> Result<bool, String>;

    /// # Errors
    /// What the kernel says.
    fn keys(&mut self, map: (usize, usize)) -> Result<Vec<Vec<u8>>, String>;
}

/// The maps as functions in real Lua have them. Clones are the same.
#[derive(Clone)]
pub struct ObjectMaps(Rc<RefCell<Box<dyn MapsOfObjects>>>, Rc<RefCell<Entries>>);

type Entries = BTreeMap<(usize, usize), OfMap>;

/// The entries of a map, in the order in which they came.
#[derive(Debug, Default)]
struct OfMap {
    /// Those that were removed have left their places.
    entries: Vec<Option<[Vec<u8>; 2]>>,
    /// Places of keys.
    places: HashMap<Vec<u8>, usize>,
}

impl OfMap {
    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let [_, value] = self.entries[*self.places.get(key)?].as_ref()?;
        Some(value)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        let entry = Some([key.to_vec(), value.to_vec()]);
        match self.places.get(key) {
            Some(place) => self.entries[*place] = entry,
            None => {
                self.places.insert(key.to_vec(), self.entries.len());
                self.entries.push(entry);
            }
        }
    }

    fn remove(&mut self, key: &[u8]) {
        let Some(place) = self.places.remove(key) else { return };
        self.entries[place] = None;
        if self.entries.len() > 2 * self.places.len() {
            self.entries.retain(Option::is_some);
            let keys = self.entries.iter().flatten().enumerate();
            self.places = keys.map(|(place, [key, _])| (key.clone(), place)).collect();
        }
    }
}

impl Default for ObjectMaps {
    fn default() -> ObjectMaps {
        let entries: Rc<RefCell<Entries>> = Rc::default();
        ObjectMaps(Rc::new(RefCell::new(Box::new(AtLoadTime { entries: entries.clone() }))), entries)
    }
}

impl ObjectMaps {
    /// Puts other maps in the place of those of load time.
    pub fn become_those(&self, maps: Box<dyn MapsOfObjects>) {
        *self.0.borrow_mut() = maps;
    }

    /// Calls `body` with the maps.
    pub(crate) fn with<T>(&self, body: impl FnOnce(&mut dyn MapsOfObjects) -> T) -> T {
        body(&mut **self.0.borrow_mut())
    }

    /// What load time has left in them.
    pub(crate) fn contents(&self) -> Vec<MapContents> {
        let entries = self.1.borrow();
        let of_map = |((object, map), of_map): (&(usize, usize), &OfMap)| MapContents {
            object: *object,
            map: *map,
            entries: of_map.entries.iter().flatten().cloned().collect(),
        };
        entries.iter().map(of_map).collect()
    }
}

/// Maps before there are any: what is in them is what the script has put there.
struct AtLoadTime {
    entries: Rc<RefCell<Entries>>,
}

impl MapsOfObjects for AtLoadTime {
    fn get(&mut self, map: (usize, usize), key: &[u8]) -> Result<Option<Vec<Vec<u8>>>, String> {
        let entries = self.entries.borrow();
        Ok(entries.get(&map).and_then(|of_map| of_map.get(key)).map(|value| vec![value.to_vec()]))
    }

    fn set(&mut self, map: (usize, usize), key: &[u8], value: &[u8]) -> Result<bool, String> {
        self.entries.borrow_mut().entry(map).or_default().set(key, value);
        Ok(true)
    }

    fn delete(&mut self, map: (usize, usize), key: &[u8]) -> Result<bool, String> {
        if let Some(of_map) = self.entries.borrow_mut().get_mut(&map) {
            of_map.remove(key);
        }
        Ok(true)
    }

    fn keys(&mut self, map: (usize, usize)) -> Result<Vec<Vec<u8>>, String> {
        let entries = self.entries.borrow();
        let of_map = entries.get(&map).into_iter().flat_map(|of_map| &of_map.entries);
        Ok(of_map.flatten().map(|[key, _]| key.clone()).collect())
    }
}

/// The bytes of a key or value with these integers.
pub(crate) fn packed(size: u32, leaves: &[Leaf], numbers: &[i64]) -> Vec<u8> {
    let mut bytes = vec![0; size as usize];
    leaves.iter().zip(numbers).for_each(|(leaf, number)| leaf.write(&mut bytes, *number));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_in_the_order_in_which_they_came() {
        let mut map = OfMap::default();
        for number in [5_u32, 1, 9, 1, 7] {
            map.set(&number.to_ne_bytes(), &[number as u8]);
        }
        map.set(&1_u32.to_ne_bytes(), &[100]);
        map.remove(&5_u32.to_ne_bytes());
        map.remove(&8_u32.to_ne_bytes());
        let values =
            |map: &OfMap| map.entries.iter().flatten().map(|[_, value]| value[0]).collect::<Vec<u8>>();
        assert_eq!((values(&map), map.get(&9_u32.to_ne_bytes())), (vec![100, 9, 7], Some(&[9][..])));
        for number in [9_u32, 1] {
            map.remove(&number.to_ne_bytes());
        }
        map.set(&5_u32.to_ne_bytes(), &[2]);
        assert_eq!((values(&map), map.get(&5_u32.to_ne_bytes())), (vec![7, 2], Some(&[2][..])));
        assert!(map.get(&1_u32.to_ne_bytes()).is_none() && map.entries.len() <= 4);
    }

    /// Twice as many entries take some twice as long.
    #[test]
    fn filling_a_map_takes_as_long_as_it_has_entries() {
        let time = |count: u32| {
            let begun = std::time::Instant::now();
            let mut map = OfMap::default();
            (0..count).for_each(|number| map.set(&number.to_ne_bytes(), &[0; 8]));
            (0..count).for_each(|number| map.remove(&number.to_ne_bytes()));
            begun.elapsed().as_secs_f64()
        };
        // What disturbs makes it longer, never shorter.
        let least = |count| (0..5).map(|_| time(count)).fold(f64::INFINITY, f64::min);
        let ratio = least(64_000) / least(4_000);
        assert!(ratio < 100.0, "16 times as many entries take {ratio} times as long");
    }
}
