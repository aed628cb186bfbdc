//! Maps of C objects for functions in real Lua: at load time they are kept here, and whoever runs the script later puts the real ones in their place.

use moonhook_snapshot::{Leaf, MapContents};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Whoever has the maps. A map is named by the numbers of its object and of the map there; keys and values are its bytes.
pub trait MapsOfObjects {
    /// The value, or one for each CPU where these have values of their own.
    ///
    /// # Errors
    /// What the kernel says.
    fn get(&mut self, map: (usize, usize), key: &[u8]) -> Result<Option<Vec<Vec<u8>>>, String>;

    /// Sets the value, that of each CPU. Whether there was room.
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

type Entries = BTreeMap<(usize, usize), Vec<[Vec<u8>; 2]>>;

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
        let of_map = |((object, map), entries): (&(usize, usize), &Vec<[Vec<u8>; 2]>)| MapContents {
            object: *object,
            map: *map,
            entries: entries.clone(),
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
        let mut of_map = entries.get(&map).into_iter().flatten();
        Ok(of_map.find(|[known, _]| known == key).map(|[_, value]| vec![value.clone()]))
    }

    fn set(&mut self, map: (usize, usize), key: &[u8], value: &[u8]) -> Result<bool, String> {
        let mut entries = self.entries.borrow_mut();
        let of_map = entries.entry(map).or_default();
        match of_map.iter_mut().find(|[known, _]| known == key) {
            Some([_, known]) => *known = value.to_vec(),
            None => of_map.push([key.to_vec(), value.to_vec()]),
        }
        Ok(true)
    }

    fn delete(&mut self, map: (usize, usize), key: &[u8]) -> Result<bool, String> {
        if let Some(of_map) = self.entries.borrow_mut().get_mut(&map) {
            of_map.retain(|[known, _]| known != key);
        }
        Ok(true)
    }

    fn keys(&mut self, map: (usize, usize)) -> Result<Vec<Vec<u8>>, String> {
        let entries = self.entries.borrow();
        Ok(entries.get(&map).into_iter().flatten().map(|[key, _]| key.clone()).collect())
    }
}

/// The bytes of a key or value with these integers.
pub(crate) fn packed(size: u32, leaves: &[Leaf], numbers: &[i64]) -> Vec<u8> {
    let mut bytes = vec![0; size as usize];
    leaves.iter().zip(numbers).for_each(|(leaf, number)| leaf.write(&mut bytes, *number));
    bytes
}
