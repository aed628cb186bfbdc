//! Scripts that outlive their process: what is pinned, and what is known of it.
//!
//! In the BPF file system a script has a folder with its link and its maps; in the runtime folder a file `NAME.json` says what
//! they are. Maps are pinned under their numbers, so that a file of another generation can name none but its own.

use crate::SessionError;
use crate::content::{Content, Earlier};
use crate::pin_files::{
    LINK, MAP, file_name, files, folder_in, for_others, has_maps, is_of_script, links_in, point_of,
    remove_folder,
};
use moonhook_daemon::{Name, RuntimeFolder, Status};
use moonhook_hook::{MATCH, Place, Point};
use moonhook_install::{Link, PinnedMap, Program, create_pin_folder, section_bytes, unpin};
use moonhook_ir::maps::sections::VERDICTS;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

const DEFAULT: &str = "/sys/fs/bpf/moonhook";

/// The pins of one script; they need not exist.
pub struct Pins {
    folder: PathBuf,
    record: PathBuf,
}

/// What is pinned, in the words of `NAME.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// `None` where no hook of the script is one of an interface's.
    pub interface: Option<String>,
    /// Where the programs are, as a person reads it, and how many they are.
    pub hook: String,
    pub programs: usize,
    pub netns: Option<String>,
    pub mode: String,
    pub scripts: Vec<PathBuf>,
    /// The script's folder in the BPF file system.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    pub content: Content,
    /// The kernel's numbers of the content's maps.
    pub maps: BTreeMap<String, u32>,
}

/// What is behind the name in the name of a record.
const RECORD: &str = ".json";

fn read(record: &Path) -> Option<Record> {
    serde_json::from_slice(&std::fs::read(record).ok()?).ok()
}

impl Pins {
    /// The pins of a script: in the folder `bpffs`, or where a process has noted that it pinned it.
    pub fn of(bpffs: Option<&Path>, runtime: &RuntimeFolder, name: &Name) -> Pins {
        let record = runtime.path().join(format!("{name}{RECORD}"));
        let chosen = bpffs.map(|bpffs| folder_in(bpffs, name));
        let noted = || read(&record)?.folder;
        let folder = chosen.or_else(noted).unwrap_or_else(|| folder_in(Path::new(DEFAULT), name));
        Pins { folder, record }
    }

    /// The names of scripts of which something is pinned, wherever that is.
    pub fn names(bpffs: Option<&Path>, runtime: &RuntimeFolder) -> BTreeSet<Name> {
        let linked = files(bpffs.unwrap_or(Path::new(DEFAULT))).into_iter();
        let linked = linked.filter(|folder| is_of_script(folder));
        let found = linked.filter_map(|folder| file_name(&folder)?.replace('+', ".").parse().ok());
        let noted = files(runtime.path()).into_iter().filter_map(|path| {
            let name: Name = file_name(&path)?.strip_suffix(RECORD)?.parse().ok()?;
            is_of_script(&Pins::of(bpffs, runtime, &name).folder).then_some(name)
        });
        found.chain(noted).collect()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The pins that others use.
    pub fn for_others(&self) -> Vec<PathBuf> {
        for_others(&self.folder)
    }

    /// The pins of links.
    pub fn links(&self) -> Vec<PathBuf> {
        links_in(&self.folder)
    }

    /// The pin of a link. Those of interfaces have their names, so that one interface or several make no difference.
    fn link(&self, link: &Link) -> PathBuf {
        let point = match (&link.point().place, link.site().interface()) {
            (Place::Interface, Some(interface)) => {
                link.point().moved_to(Place::Named(interface.name.as_str().into()))
            }
            _ => link.point().clone(),
        };
        self.folder.join(format!("{LINK}{}", point.file_name()))
    }

    /// Whether a link is pinned: the script is attached without a process.
    pub fn exist(&self) -> bool {
        !self.links().is_empty()
    }

    /// Makes the folder.
    ///
    /// # Errors
    /// `Install` where there can be no pins.
    pub fn create(&self) -> Result<(), SessionError> {
        Ok(create_pin_folder(&self.folder)?)
    }

    fn map(&self, id: u32) -> PathBuf {
        self.folder.join(format!("{MAP}{id}"))
    }

    /// What is known of the pins; `None` if nothing is.
    pub fn record(&self) -> Option<Record> {
        read(&self.record)
    }

    /// The other folder in which the script is known to be pinned, with those of other scripts: then there cannot be pins of it here, too.
    pub fn elsewhere(&self) -> Option<PathBuf> {
        let noted = self.record()?.folder?;
        let is_other = noted != self.folder && !links_in(&noted).is_empty();
        is_other.then(|| noted.parent().unwrap_or(&noted).to_path_buf())
    }

    /// What a process that has ended has left of the script, as far as it is still there.
    pub fn leftover(&self) -> Option<Leftover> {
        let record = self.record().filter(|_| self.exist())?;
        let open = |(name, id): (&String, &u32)| {
            let map = PinnedMap::open(&self.map(*id)).ok().filter(|map| map.id() == *id)?;
            Some((name.clone(), map))
        };
        let maps = record.maps.iter().filter_map(open).collect();
        Some(Leftover { record, maps })
    }

    /// Pins the content's maps, notes what they are, and pins the links. Those of earlier generations stay until [`Pins::tidy`].
    ///
    /// # Errors
    /// `Install`, `Unwritable`; what was noted before may be noted no more: [`Pins::restore`].
    pub fn keep(&self, links: &[Link], program: &Program, record: Record) -> Result<(), SessionError> {
        self.create()?;
        let mut maps = BTreeMap::new();
        for name in record.content.maps() {
            let id = program.map_id(name)?;
            if !self.map(id).exists() {
                program.pin_map(name, &self.map(id))?;
            }
            maps.insert(name.to_string(), id);
        }
        self.write(&Record { maps, folder: Some(self.folder.clone()), ..record })?;
        for link in links {
            let path = self.link(link);
            if !path.exists() {
                link.pin(&path)?;
            }
        }
        Ok(())
    }

    /// Removes the pins of maps that are not noted, and of other links than these, whose programs leave their hooks.
    ///
    /// # Errors
    /// `Install`.
    pub fn tidy(&self, links: &[Link]) -> Result<(), SessionError> {
        let Some(record) = self.record() else { return Ok(()) };
        let kept: Vec<PathBuf> = links.iter().map(|link| self.link(link)).collect();
        for path in self.links().into_iter().filter(|path| !kept.contains(path)) {
            Link::detach_pinned(&path)?;
        }
        let is_used = |path: &PathBuf| {
            kept.contains(path)
                || record.maps.values().any(|id| self.map(*id) == *path)
                || links.iter().any(|link| link.site().path() == Some(path))
        };
        for path in files(&self.folder).into_iter().filter(|path| !is_used(path)) {
            unpin(&path)?;
        }
        Ok(())
    }

    /// Removes what a killed process has left for others, and none of these links is.
    ///
    /// # Errors
    /// `Install`.
    pub fn remove_unused(&self, links: &[Link]) -> Result<(), SessionError> {
        for path in for_others(&self.folder) {
            if !links.iter().any(|link| link.site().path() == Some(&path)) {
                unpin(&path)?;
                let _ = std::fs::remove_dir(&self.folder);
            }
        }
        Ok(())
    }

    /// Notes what is pinned; whole or not at all.
    ///
    /// # Errors
    /// `Unwritable`.
    pub fn write(&self, record: &Record) -> Result<(), SessionError> {
        let text = serde_json::to_vec_pretty(record).map_err(std::io::Error::from)?;
        moonhook_replace::replace_file(&self.record, &text)
            .map_err(|source| SessionError::Unwritable { path: self.record.clone(), source })
    }

    /// Notes again what was noted before, if anything was.
    ///
    /// # Errors
    /// `Unwritable`.
    pub fn restore(&self, before: Option<Record>) -> Result<(), SessionError> {
        match before {
            Some(before) => self.write(&before),
            None => {
                let _ = std::fs::remove_file(&self.record);
                Ok(())
            }
        }
    }

    /// Takes the program out of its hook, and removes all pins, also what a process has left that was killed between two of them.
    /// False if there was nothing.
    ///
    /// # Errors
    /// `Install`.
    pub fn remove(&self) -> Result<bool, SessionError> {
        let mut linked = false;
        for path in self.links() {
            linked |= Link::detach_pinned(&path)?;
        }
        let folder = remove_folder(&self.folder)?;
        let noted = std::fs::remove_file(&self.record).is_ok();
        Ok(linked || folder || noted)
    }

    /// Removes what a process has left that was killed before it had pinned a link, also in the folder that it has noted. Only
    /// who has the script's name may do so: the process could be one that is just pinning.
    ///
    /// # Errors
    /// `Install`.
    pub fn clean(&self) -> Result<(), SessionError> {
        let noted = self.record().and_then(|record| record.folder);
        for folder in noted.iter().chain([&self.folder]) {
            if links_in(folder).is_empty() && has_maps(folder) {
                remove_folder(folder)?;
                if noted.as_ref() == Some(folder) {
                    let _ = std::fs::remove_file(&self.record);
                }
            }
        }
        Ok(())
    }

    /// What is noted of what is in this folder, if the links are pinned or not.
    fn noted(&self) -> Option<Record> {
        self.record().filter(|record| self.exist() || record.folder.as_ref() == Some(&self.folder))
    }

    /// The script as `moonhook list` shows it, without a process.
    pub fn status(&self, name: &Name) -> Status {
        self.status_with(name, Link::is_attached_at)
    }

    /// The same, where `is_attached` says which of the pinned links are.
    fn status_with(&self, name: &Name, is_attached: fn(&Path) -> bool) -> Status {
        let leftover = self.leftover();
        let verdicts = leftover.as_ref().and_then(|leftover| leftover.map(VERDICTS));
        let verdicts = verdicts.and_then(|section| section_bytes(section).ok()).unwrap_or_default();
        let record = self.noted();
        let places = record.as_ref().map_or(1, |record| record.hook.split(", ").count());
        let attached = self.links().into_iter().filter(|path| is_attached(path));
        let attached: Vec<Point> = attached.filter_map(|path| point_of(&path)).collect();
        let is_whole = attached.len() >= places;
        let present = || attached.iter().map(Point::to_string).collect::<Vec<_>>().join(", ");
        let (interface, hook, mode) = match &record {
            Some(record) => (record.interface.clone(), record.hook.clone(), record.mode.clone()),
            // Of a process that was killed, the files stay that rules find.
            None if !for_others(&self.folder).is_empty() => (None, MATCH.name.to_string(), String::new()),
            None => (Some("?".to_string()), "?".to_string(), "?".to_string()),
        };
        let scripts = record.iter().flat_map(|record| &record.scripts);
        Status {
            name: name.clone(),
            pid: None,
            interface,
            netns: record.as_ref().and_then(|record| record.netns.clone()),
            hook: if is_whole || attached.is_empty() { hook } else { present() },
            mode,
            scripts: scripts.map(|script| script.to_string_lossy().into_owned()).collect(),
            uptime_seconds: None,
            reloads: 0,
            packets: verdicts.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).sum(),
            errors: None,
            lost_events: 0,
            pinned: !attached.is_empty(),
            incomplete: !is_whole,
            neighbours: Vec::new(),
        }
    }
}

/// A program that runs without a process.
pub struct Leftover {
    pub record: Record,
    maps: BTreeMap<String, PinnedMap>,
}

impl Earlier for Leftover {
    fn content(&self) -> &Content {
        &self.record.content
    }

    fn map(&self, name: &str) -> Option<BorrowedFd<'_>> {
        self.maps.get(name).map(PinnedMap::as_fd)
    }

    /// The process that had it is gone, or is another one.
    fn arena(&self) -> Option<moonhook_install::ArenaSection> {
        None
    }
}

#[cfg(test)]
mod tests;
