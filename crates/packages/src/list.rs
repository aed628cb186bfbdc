//! The programs of a package.

use crate::build::built;
use crate::error::PackageError;
use crate::exports::Exports;
use crate::settings::Settings;
use crate::sources::{Kind, programs};
use moonhook_link::Object;
use std::fs;
use std::path::{Path, PathBuf};

/// A program of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// As chains call it: by its file.
    pub name: String,
    pub kind: Kind,
    pub path: PathBuf,
    /// What its object exports; `None` where there is no object that can be read.
    pub exports: Option<Exports>,
    /// Names of the object's maps.
    pub maps: Vec<String>,
}

/// What is in the folder of a package. Objects are read as far as they are there: in the package, or in the cache that `settings` name.
///
/// # Errors
/// The folder cannot be read.
pub fn list(folder: &Path, settings: Option<&Settings<'_>>) -> Result<Vec<Listed>, PackageError> {
    fs::read_dir(folder).map_err(PackageError::file(folder, "read"))?;
    let listed = |(name, kind, path): (String, Kind, PathBuf)| {
        let object = match kind {
            Kind::Source => settings.and_then(|settings| built(&path, settings)).map(|built| built.object),
            Kind::Object => Some(path.clone()),
            Kind::Lua => None,
        };
        let object = object.and_then(|object| read(&object, &name));
        let maps = object.iter().flat_map(|object| &object.maps).map(|map| map.name.clone()).collect();
        let exports = object.as_ref().and_then(|object| Exports::of(object).ok());
        Listed { name, kind, path, exports, maps }
    };
    Ok(programs(folder).into_iter().map(listed).collect())
}

fn read(path: &Path, name: &str) -> Option<Object> {
    Object::read(&fs::read(path).ok()?, name).ok()
}
