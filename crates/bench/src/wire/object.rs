//! Objects of bench/c in the kernel, by the names of their maps and programs.

use std::path::Path;

use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder};

use crate::error::Error;

pub struct Loaded {
    name: String,
    object: Object,
}

impl Loaded {
    pub fn load(path: &Path) -> Result<Self, Error> {
        let failed = |error| Error::Kernel { path: path.into(), error };
        let object = ObjectBuilder::default().open_file(path).map_err(failed)?.load().map_err(failed)?;
        Ok(Loaded { name: path.display().to_string(), object })
    }

    pub fn map(&self, name: &str) -> Result<MapHandle, Error> {
        let map = self.object.maps().find(|map| map.name() == name);
        let map = map.ok_or_else(|| self.failed(format!("has no map '{name}'")))?;
        MapHandle::try_from(&map).map_err(|error| self.failed(error.to_string()))
    }

    pub fn put(&self, map: &MapHandle, key: &[u8], value: &[u8]) -> Result<(), Error> {
        map.update(key, value, MapFlags::ANY)
            .map_err(|error| self.failed(format!("cannot fill its map: {error}")))
    }

    /// Puts a number into an array at index 0.
    pub fn set(&self, map: &str, number: u32) -> Result<(), Error> {
        self.put(&self.map(map)?, &0u32.to_ne_bytes(), &number.to_ne_bytes())
    }

    /// Attaches the program `name` at XDP, in the driver; for as long as the link is there.
    pub fn attach(&mut self, name: &str, interface: u32) -> Result<Link, Error> {
        let owner = self.name.clone();
        let failed = |message: String| Error::Peer { contestant: owner.clone(), message };
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| failed(format!("has no program '{name}'")))?;
        program.attach_xdp(interface.cast_signed()).map_err(|error| failed(error.to_string()))
    }

    /// A descriptor of the program `name`, which is this object's.
    pub fn descriptor(&self, name: &str) -> Result<i32, Error> {
        use std::os::fd::{AsFd, AsRawFd};
        let program = self.object.progs().find(|program| program.name() == name);
        let program = program.ok_or_else(|| self.failed(format!("has no program '{name}'")))?;
        Ok(program.as_fd().as_raw_fd())
    }

    pub fn failed(&self, message: String) -> Error {
        Error::Peer { contestant: self.name.clone(), message }
    }
}
