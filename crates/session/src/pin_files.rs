//! The files of pins: how their names say what they are, and which there are in a folder.

use crate::SessionError;
use moonhook_daemon::Name;
use moonhook_hook::Point;
use moonhook_install::unpin;
use std::path::{Path, PathBuf};

/// A BPF file system has no names with dots.
pub(crate) fn folder_in(bpffs: &Path, name: &Name) -> PathBuf {
    let bpffs = std::path::absolute(bpffs).unwrap_or_else(|_| bpffs.to_path_buf());
    bpffs.join(name.as_str().replace('.', "+"))
}

/// How the names of pinned links begin; that of the point follows.
pub(crate) const LINK: &str = "link-";

/// How the names of pinned maps begin; the map's number follows.
pub(crate) const MAP: &str = "map-";

/// What others use, by the beginnings of its names, is no pin of a link or a map.
pub(crate) const FOR_OTHERS: &str = "match";

/// The pins of links that are in a folder.
pub(crate) fn links_in(folder: &Path) -> Vec<PathBuf> {
    let is_link = |path: &PathBuf| file_name(path).is_some_and(|name| name.starts_with(LINK));
    let mut links: Vec<PathBuf> = files(folder).into_iter().filter(is_link).collect();
    links.sort();
    links
}

/// What the link is attached to that is pinned at a path; `None` where that is no name of a link.
pub(crate) fn point_of(path: &Path) -> Option<Point> {
    Point::of_file_name(file_name(path)?.strip_prefix(LINK)?)
}

/// Whether there are pins of maps in a folder.
pub(crate) fn has_maps(folder: &Path) -> bool {
    let is_map = |path: &PathBuf| file_name(path).is_some_and(|name| name.starts_with(MAP));
    files(folder).iter().any(is_map)
}

/// Whether something of a script is pinned in a folder. Folders of others may lie beside it.
pub(crate) fn is_of_script(folder: &Path) -> bool {
    !links_in(folder).is_empty() || has_maps(folder) || !for_others(folder).is_empty()
}

/// The pins in a folder that others use.
pub(crate) fn for_others(folder: &Path) -> Vec<PathBuf> {
    let is_for_others = |path: &PathBuf| file_name(path).is_some_and(|name| name.starts_with(FOR_OTHERS));
    let mut found: Vec<PathBuf> = files(folder).into_iter().filter(is_for_others).collect();
    found.sort();
    found
}

/// Removes the pins in a folder, and it; false if it was not there, or has more in it.
pub(crate) fn remove_folder(folder: &Path) -> Result<bool, SessionError> {
    for path in files(folder) {
        unpin(&path)?;
    }
    Ok(std::fs::remove_dir(folder).is_ok())
}

/// A folder that goes with this value unless something is in it: of a start that fails, nothing stays.
pub(crate) struct Swept(pub PathBuf);

impl Drop for Swept {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

pub(crate) fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// The paths of what is in a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
