//! Scripts that outlive their process: what is pinned, and what is known of it.
//!
//! In the BPF file system a script has a folder with its link and its maps; in the runtime folder a file `NAME.json` says what
//! they are. Maps are pinned under their numbers, so that a file of another generation can name none but its own.

use crate::CliError;
use crate::kernel::VERDICTS;
use crate::run::content::{Content, Earlier};
use moonhook_daemon::{Name, RuntimeFolder, Status};
use moonhook_install::{PinnedMap, Program, XdpLink, create_pin_folder, section_bytes, unpin};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// Where scripts are pinned.
#[derive(Clone, Debug, clap::Args)]
pub struct PinOptions {
    /// Folder in a BPF file system where scripts are pinned
    #[arg(long, value_name = "DIR", default_value = "/sys/fs/bpf/moonhook")]
    bpffs: PathBuf,
}

/// The pins of one script; they need not exist.
pub struct Pins {
    folder: PathBuf,
    record: PathBuf,
}

/// What is pinned, in the words of `NAME.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub interface: String,
    pub netns: Option<String>,
    pub mode: String,
    pub scripts: Vec<PathBuf>,
    pub content: Content,
    /// The kernel's numbers of the content's maps.
    pub maps: BTreeMap<String, u32>,
}

impl PinOptions {
    pub fn of(&self, runtime: &RuntimeFolder, name: &Name) -> Pins {
        // A BPF file system has no names with dots.
        let folder = self.bpffs.join(name.as_str().replace('.', "+"));
        Pins { folder, record: runtime.path().join(format!("{name}.json")) }
    }

    /// The names of scripts that are pinned.
    pub fn names(&self) -> Vec<Name> {
        let entries = std::fs::read_dir(&self.bpffs).into_iter().flatten().flatten();
        let linked = entries.filter(|entry| entry.path().join("link").exists());
        linked
            .filter_map(|entry| entry.file_name().to_string_lossy().replace('+', ".").parse().ok())
            .collect()
    }
}

impl Pins {
    pub fn link(&self) -> PathBuf {
        self.folder.join("link")
    }

    pub fn exist(&self) -> bool {
        self.link().exists()
    }

    /// Makes the folder.
    ///
    /// # Errors
    /// `Install` where there can be no pins.
    pub fn create(&self) -> Result<(), CliError> {
        Ok(create_pin_folder(&self.folder)?)
    }

    fn map(&self, id: u32) -> PathBuf {
        self.folder.join(format!("map-{id}"))
    }

    /// What is known of the pins; `None` if nothing is.
    pub fn record(&self) -> Option<Record> {
        serde_json::from_slice(&std::fs::read(&self.record).ok()?).ok()
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

    /// Pins the link and the content's maps, says what they are, and removes the pins of earlier generations.
    pub fn keep(&self, link: &XdpLink, program: &Program, record: Record) -> Result<(), CliError> {
        self.create()?;
        let mut maps = BTreeMap::new();
        for name in record.content.maps() {
            let id = program.map_id(name)?;
            if !self.map(id).exists() {
                program.pin_map(name, &self.map(id))?;
            }
            maps.insert(name.to_string(), id);
        }
        let record = Record { maps, ..record };
        self.write(&record)?;
        if !self.exist() {
            link.pin(&self.link())?;
        }
        let is_of_record = |path: &Path| record.maps.values().any(|id| self.map(*id) == path);
        for path in self.files().into_iter().filter(|path| *path != self.link() && !is_of_record(path)) {
            unpin(&path)?;
        }
        Ok(())
    }

    /// Whole or not at all.
    fn write(&self, record: &Record) -> Result<(), CliError> {
        let new = self.record.with_extension("json.new");
        let text = serde_json::to_vec_pretty(record).map_err(std::io::Error::from)?;
        let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &self.record));
        written.map_err(|source| CliError::Unwritable { path: self.record.clone(), source })
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// Takes the program out of its hook, and removes all pins. False if there were none.
    pub fn remove(&self) -> Result<bool, CliError> {
        let were_there = XdpLink::detach_pinned(&self.link())?;
        for path in self.files() {
            unpin(&path)?;
        }
        let _ = std::fs::remove_dir(&self.folder);
        let _ = std::fs::remove_file(&self.record);
        Ok(were_there)
    }

    /// The script as `moonhook list` shows it, without a process.
    pub fn status(&self, name: &Name) -> Status {
        let leftover = self.leftover();
        let verdicts = leftover.as_ref().and_then(|leftover| leftover.map(VERDICTS));
        let verdicts = verdicts.and_then(|section| section_bytes(section).ok()).unwrap_or_default();
        let record = leftover.map(|leftover| leftover.record);
        let text =
            |of: fn(&Record) -> &String| record.as_ref().map_or("?".to_string(), |record| of(record).clone());
        let scripts = record.iter().flat_map(|record| &record.scripts);
        Status {
            name: name.clone(),
            pid: None,
            interface: text(|record| &record.interface),
            netns: record.as_ref().and_then(|record| record.netns.clone()),
            hook: "xdp".to_string(),
            mode: text(|record| &record.mode),
            scripts: scripts.map(|script| script.to_string_lossy().into_owned()).collect(),
            uptime_seconds: None,
            reloads: 0,
            packets: verdicts.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).sum(),
            errors: None,
            lost_events: 0,
            pinned: true,
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
