//! Maps of scripts in a BPF file system, where tools of packages look for them: FOLDER/PACKAGE/PROGRAM/MAP.

use crate::config::{Config, Log};
use moonhook_install::{InstallError, MapReader, create_pin_folder, unpin};
use std::path::{Path, PathBuf};

/// The pins of one script.
pub struct PinnedMaps {
    /// `None`: nothing is pinned.
    folder: Option<Folder>,
    pins: Vec<PathBuf>,
}

struct Folder {
    path: PathBuf,
    /// Somebody wants them there: it is an error if they cannot be.
    is_chosen: bool,
    log: Log,
}

impl PinnedMaps {
    pub fn none() -> PinnedMaps {
        PinnedMaps { folder: None, pins: Vec::new() }
    }

    pub fn new(config: &Config) -> PinnedMaps {
        let (path, is_chosen) = (config.maps.clone(), config.maps_are_chosen);
        PinnedMaps { folder: Some(Folder { path, is_chosen, log: config.log.clone() }), pins: Vec::new() }
    }

    /// Pins a map; what is pinned there gives way. Where the folder is in no BPF file system and nobody has asked for it, nothing is pinned.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn pin(&mut self, place: &[String; 3], map: &MapReader) -> Result<(), InstallError> {
        let Some(Folder { path: folder, is_chosen, log }) = &self.folder else { return Ok(()) };
        let path = place.iter().fold(folder.clone(), |path, part| path.join(part));
        let parent = path.parent().unwrap_or(folder);
        match create_pin_folder(parent).and_then(|()| map.pin(&path)) {
            Ok(()) => self.pins.push(path),
            Err(error) if *is_chosen => return Err(error),
            Err(error) => {
                remove_empty(parent, folder);
                log.line(&format!("maps are not pinned: {error}"));
                self.folder = None;
            }
        }
        Ok(())
    }

    /// Removes the pins, and folders that are empty then, but for those that `others` have as well.
    pub fn remove_but(&self, others: &PinnedMaps) {
        let Some(Folder { path: folder, log, .. }) = &self.folder else { return };
        for path in self.pins.iter().filter(|path| !others.pins.contains(path)) {
            if let Err(error) = unpin(path) {
                log.line(&error.to_string());
            }
            path.parent().into_iter().for_each(|parent| remove_empty(parent, folder));
        }
    }
}

/// Removes a folder and those around it, up to `last`, as far as they are empty.
fn remove_empty(folder: &Path, last: &Path) {
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(last)) {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_when_they_are_empty() {
        let root = tempfile::tempdir().unwrap();
        let (last, other) = (root.path().join("maps"), root.path().join("maps/p/other"));
        let deep = last.join("p/q");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        remove_empty(&deep, &last);
        assert!(!deep.exists() && other.exists());
        remove_empty(&other, &last);
        assert!(!last.exists() && root.path().exists());
    }
}
