//! Maps of scripts in a BPF file system, where tools of packages look for them: FOLDER/PACKAGE/PROGRAM/MAP.
//!
//! Scripts that have the same program have maps of the same path. All of them are noted as its owners: the newest one's map is there, and
//! when that one goes, the next one's comes back. Maps are pinned beside their path first, so that what cannot be pinned changes nothing.

use crate::config::{Config, Log};
use moonhook_install::{InstallError, create_pin_folder, unpin};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which of the scripts that the service has begun. Later ones have greater numbers.
pub type Serial = u64;

/// What can be pinned.
pub trait Pinnable: Clone {
    /// Package, program and map.
    fn place(&self) -> [String; 3];

    /// # Errors
    /// What the kernel refuses.
    fn pin(&self, path: &Path) -> Result<(), InstallError>;
}

/// All pins. Whoever changes some waits for the kernel: these are the threads of scripts, and nobody else takes the lock.
pub struct Pins<M> {
    folder: PathBuf,
    /// Somebody wants them there: it is an error if they cannot be.
    is_chosen: bool,
    log: Log,
    make_folder: fn(&Path) -> Result<(), InstallError>,
    owners: Mutex<BTreeMap<PathBuf, BTreeMap<Serial, M>>>,
}

/// Maps that are pinned beside the paths that they are meant for. Dropped, they are gone.
pub struct Staged<M: Pinnable> {
    pins: Arc<Pins<M>>,
    serial: Serial,
    maps: BTreeMap<PathBuf, M>,
}

impl<M: Pinnable> Pins<M> {
    pub fn new(config: &Config) -> Pins<M> {
        Pins {
            folder: config.maps.clone(),
            is_chosen: config.maps_are_chosen,
            log: config.log.clone(),
            make_folder: create_pin_folder,
            owners: Mutex::default(),
        }
    }

    fn owners(&self) -> MutexGuard<'_, BTreeMap<PathBuf, BTreeMap<Serial, M>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pins maps of a script beside their paths, all of them or none. Where the folder is in no BPF file system and nobody has asked for
    /// it, none are.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn stage(
        self: &Arc<Pins<M>>,
        serial: Serial,
        maps: impl IntoIterator<Item = M>,
    ) -> Result<Staged<M>, InstallError> {
        let mut staged = Staged { pins: Arc::clone(self), serial, maps: BTreeMap::new() };
        let path = |map: &M| map.place().iter().fold(self.folder.clone(), |path, part| path.join(part));
        // Of several objects of one program, the last one's maps are there.
        let maps: BTreeMap<PathBuf, M> = maps.into_iter().map(|map| (path(&map), map)).collect();
        let guard = self.owners();
        let mut failed = None;
        for (path, map) in maps {
            let pinned = (self.make_folder)(path.parent().unwrap_or(&self.folder))
                .and_then(|()| map.pin(&beside(&path, serial)));
            // What is left behind of one that has failed, its folder, goes with the others.
            staged.maps.insert(path, map);
            if let Err(error) = pinned {
                failed = Some(error);
                break;
            }
        }
        drop(guard);
        match failed {
            None => Ok(staged),
            Some(error) if self.is_chosen => Err(error),
            Some(error) => {
                self.log.line(&format!("maps are not pinned: {error}"));
                Ok(Staged { pins: Arc::clone(self), serial, maps: BTreeMap::new() })
            }
        }
    }

    /// Has the newest owner's map at the path, or nothing if there is none.
    fn settle(&self, owners: &mut BTreeMap<PathBuf, BTreeMap<Serial, M>>, path: &Path) {
        match owners.get(path).and_then(BTreeMap::last_key_value) {
            Some((serial, map)) => {
                let beside = beside(path, *serial);
                if let Err(error) = map.pin(&beside) {
                    self.log.line(&error.to_string());
                    return;
                }
                self.put_in_place(&beside, path);
            }
            None => {
                owners.remove(path);
                self.unpin(path);
                self.remove_empty(path);
            }
        }
    }

    fn put_in_place(&self, beside: &Path, path: &Path) {
        if let Err(error) = std::fs::rename(beside, path) {
            self.log.line(&format!("{} is not pinned: {error}", path.display()));
            self.unpin(beside);
        }
    }

    fn unpin(&self, path: &Path) {
        if let Err(error) = unpin(path) {
            self.log.line(&error.to_string());
        }
    }

    /// Removes the folders around a path, as far as they are empty.
    fn remove_empty(&self, path: &Path) {
        for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.folder)) {
            if std::fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }

    /// The script owns no pin any more.
    pub fn release(&self, serial: Serial) {
        self.own(serial, &BTreeSet::new());
    }

    /// Of what the script owns, only these paths stay.
    fn own(&self, serial: Serial, stay: &BTreeSet<PathBuf>) {
        let mut owners = self.owners();
        let owned = owners.iter().filter(|(path, all)| all.contains_key(&serial) && !stay.contains(*path));
        let gone: Vec<PathBuf> = owned.map(|(path, _)| path.clone()).collect();
        for path in gone {
            let Some(all) = owners.get_mut(&path) else { continue };
            let was_newest = all.last_key_value().is_some_and(|(newest, _)| *newest == serial);
            all.remove(&serial);
            if was_newest {
                self.settle(&mut owners, &path);
            }
        }
    }
}

impl<M: Pinnable> Staged<M> {
    /// The script owns these pins from now on, and no others. There is no moment without one where one was.
    pub fn put(mut self) {
        let maps = std::mem::take(&mut self.maps);
        let (pins, serial) = (&self.pins, self.serial);
        let paths: BTreeSet<PathBuf> = maps.keys().cloned().collect();
        let mut owners = pins.owners();
        for (path, map) in maps {
            let all = owners.entry(path.clone()).or_default();
            all.insert(serial, map);
            let beside = beside(&path, serial);
            match all.last_key_value() {
                Some((newest, _)) if *newest == serial => pins.put_in_place(&beside, &path),
                _ => pins.unpin(&beside),
            }
        }
        drop(owners);
        pins.own(serial, &paths);
    }
}

impl<M: Pinnable> Drop for Staged<M> {
    fn drop(&mut self) {
        let _owners = self.pins.owners();
        for path in self.maps.keys() {
            self.pins.unpin(&beside(path, self.serial));
            self.pins.remove_empty(path);
        }
    }
}

/// Where a map is until it takes its place. Names in a BPF file system have no dots.
fn beside(path: &Path, serial: Serial) -> PathBuf {
    let mut beside = path.as_os_str().to_os_string();
    beside.push(format!("_new{serial}"));
    beside.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map that is pinned as a file, in which its number is.
    #[derive(Clone)]
    struct File(&'static str, u32);

    impl Pinnable for File {
        fn place(&self) -> [String; 3] {
            ["own".into(), "counter".into(), self.0.into()]
        }

        fn pin(&self, path: &Path) -> Result<(), InstallError> {
            let failed = || InstallError::PinFailed { path: path.into(), errno: nix::errno::Errno::EPERM };
            if self.0 == "no" {
                return Err(failed());
            }
            std::fs::write(path, self.1.to_string()).map_err(|_| failed())
        }
    }

    fn pins(folder: &Path, is_chosen: bool) -> Arc<Pins<File>> {
        let make_folder = |path: &Path| {
            std::fs::create_dir_all(path).unwrap();
            Ok(())
        };
        let (folder, log, owners) = (folder.join("maps"), Log::default(), Mutex::default());
        Arc::new(Pins { folder, is_chosen, log, make_folder, owners })
    }

    /// What is pinned, by names.
    fn pinned(pins: &Pins<File>) -> Vec<String> {
        let entries = std::fs::read_dir(pins.folder.join("own/counter")).into_iter().flatten().flatten();
        let mut shown: Vec<String> = entries
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                format!("{name}={}", std::fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        shown.sort();
        shown
    }

    fn put(pins: &Arc<Pins<File>>, serial: Serial, maps: &[File]) {
        pins.stage(serial, maps.to_vec()).unwrap().put();
    }

    #[test]
    fn the_newest_owner_has_the_path_and_gives_it_back() {
        let root = tempfile::tempdir().unwrap();
        let pins = pins(root.path(), true);
        put(&pins, 1, &[File("a", 10), File("b", 11)]);
        put(&pins, 2, &[File("a", 20)]);
        assert_eq!(pinned(&pins), ["a=20", "b=11"]);
        // The older one goes on with another program.
        put(&pins, 1, &[File("a", 12), File("c", 13)]);
        assert_eq!(pinned(&pins), ["a=20", "c=13"]);
        pins.release(2);
        assert_eq!(pinned(&pins), ["a=12", "c=13"]);
        put(&pins, 3, &[File("a", 30)]);
        pins.release(1);
        assert_eq!(pinned(&pins), ["a=30"]);
        pins.release(3);
        assert!(!pins.folder.exists() && root.path().exists());
    }

    #[test]
    fn what_is_refused_changes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let pins = pins(root.path(), true);
        put(&pins, 1, &[File("a", 10)]);
        drop(pins.stage(2, [File("a", 20), File("b", 21)]).unwrap());
        assert_eq!(pinned(&pins), ["a=10"]);
        assert_eq!(pins.stage(2, [File("b", 20), File("no", 21)]).err().unwrap().code(), "MH0519");
        assert_eq!(pinned(&pins), ["a=10"]);
    }

    /// Where nobody has asked for pins, a script does without, and leaves none.
    #[test]
    fn maps_are_pinned_all_or_none() {
        let root = tempfile::tempdir().unwrap();
        let pins = pins(root.path(), false);
        put(&pins, 1, &[File("a", 10), File("no", 11)]);
        assert!(!pins.folder.exists());
        put(&pins, 2, &[File("a", 20)]);
        pins.release(1);
        assert_eq!(pinned(&pins), ["a=20"]);
    }
}
