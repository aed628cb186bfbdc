//! Maps of C objects for control code: those in the kernel.

use moonhook_install::{Cursor, InstallError, Program, TableMap};
use moonhook_ir::Module;
use moonhook_load::MapsOfObjects;
use std::collections::BTreeMap;

/// The maps of a program's objects, by the numbers of object and map.
#[derive(Debug, Default)]
pub struct KernelMaps(BTreeMap<(usize, usize), TableMap>);

impl KernelMaps {
    /// The maps of a program that was made of the module: all that its objects have.
    ///
    /// # Errors
    /// `Install` where a map is not to be had.
    pub fn open(module: &Module, program: &Program) -> Result<KernelMaps, InstallError> {
        let places = Place::all(module);
        KernelMaps::at(&places, program)
    }

    /// The same by places.
    ///
    /// # Errors
    /// As [`KernelMaps::open`].
    pub fn at(places: &[Place], program: &Program) -> Result<KernelMaps, InstallError> {
        let mut maps = BTreeMap::new();
        for Place { name, numbers } in places {
            maps.insert(*numbers, program.table(name)?);
        }
        Ok(KernelMaps(maps))
    }

    fn map(&self, map: (usize, usize)) -> Result<&TableMap, String> {
        self.0.get(&map).ok_or_else(|| "the program has no such map".to_string())
    }
}

/// The name of a map in the program, and the numbers of object and map.
#[derive(Clone, Debug)]
pub struct Place {
    name: String,
    numbers: (usize, usize),
}

impl Place {
    pub fn all(module: &Module) -> Vec<Place> {
        let place = |map: &moonhook_ir::ObjectMap| Place {
            name: module.map(map.map).name.clone(),
            numbers: (map.object, map.number),
        };
        module.object_maps.iter().map(place).collect()
    }
}

fn said(error: InstallError) -> String {
    error.to_string()
}

impl MapsOfObjects for KernelMaps {
    fn get(&mut self, map: (usize, usize), key: &[u8]) -> Result<Option<Vec<Vec<u8>>>, String> {
        let map = self.map(map)?;
        let each = map.value_size() / map.cpus().max(1);
        let found = map.lookup(key).map_err(said)?;
        Ok(found.map(|value| value.chunks(each.max(1)).map(<[u8]>::to_vec).collect()))
    }

    fn set(&mut self, map: (usize, usize), key: &[u8], value: &[u8]) -> Result<bool, String> {
        let map = self.map(map)?;
        // The first CPU's value comes first.
        let mut all = value.to_vec();
        all.resize(map.value_size(), 0);
        map.update(key, &all).map_err(said)
    }

    fn delete(&mut self, map: (usize, usize), key: &[u8]) -> Result<bool, String> {
        // Whether there was one does not matter. Arrays, whose elements stay, are never asked.
        self.map(map)?.delete(key).map(|_| true).map_err(said)
    }

    fn keys(&mut self, map: (usize, usize)) -> Result<Vec<Vec<u8>>, String> {
        let map = self.map(map)?;
        let (mut cursor, mut keys) = (Cursor::default(), Vec::new());
        loop {
            let batch = map.read(&mut cursor).map_err(said)?;
            if batch.keys.is_empty() {
                return Ok(keys);
            }
            keys.extend(batch.keys.chunks(map.key_size().max(1)).map(<[u8]>::to_vec));
        }
    }
}
