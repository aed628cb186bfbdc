//! Programs that others find by a pin: rules of iptables (`-m bpf --object-pinned`, net/netfilter/xt_bpf.c) keep the program that was pinned
//! when they were made.
//!
//! So what is pinned is a program that does nothing but go on with the one in an array, which can be replaced while rules use
//! it. The kernel empties the array when no process has it open any more, unless it is pinned (`prog_array_map_clear`,
//! kernel/bpf/arraymap.c): then the answer is 0, that the packet is not meant.

use super::hold::{Entry, Hold, release};
use super::kind::{Elsewhere, Kind, Made, Target};
use super::site::Site;
use super::xdp::Mode;
use crate::pin::{create_pin_folder, failed, pin};
use crate::privilege::LOAD;
use crate::{InstallError, sys};
use libbpf_sys::{BPF_MAP_TYPE_PROG_ARRAY, bpf_link_info};
use moonhook_hook::{Hook, MATCH, Place, Point};
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

pub(super) struct OfMatch;

impl Kind for OfMatch {
    fn hook(&self) -> &'static Hook {
        &MATCH
    }

    /// There are no links of this kind.
    fn is(&self, info: &bpf_link_info) -> bool {
        info.type_ == 0
    }

    fn attach(
        &self,
        program: BorrowedFd<'_>,
        point: &Point,
        target: &Target<'_>,
    ) -> Result<Made, InstallError> {
        let path = path(&point.place, target)?;
        let refused = |errno| match errno {
            Errno::EPERM => InstallError::permission("making maps and programs", &LOAD, errno),
            errno => InstallError::AttachFailed { place: path.display().to_string(), errno },
        };
        if let Some(folder) = path.parent() {
            create_pin_folder(folder)?;
        }
        // Rules may have what a process has left that was killed.
        let entry = match array_of(&path) {
            Some(array) => Entry::new(array, Some(path.clone())),
            None => {
                let entry = Entry::of_filter().map_err(refused)?;
                pin(entry.first().map_err(refused)?.as_fd(), &path)?;
                entry.pinned_at(path.clone())
            }
        };
        if let Err(errno) = entry.put(program) {
            let _ = entry.detach();
            return Err(refused(errno));
        }
        Ok(Made { hold: Hold::Entry(entry), site: Site::File(path), mode: None, native_refused: None })
    }

    fn find(
        &self,
        _: &bpf_link_info,
        place: &Place,
        target: &Target<'_>,
    ) -> Result<Option<(Site, Option<Mode>)>, Elsewhere> {
        let path = path(place, target).map_err(Elsewhere::Error)?;
        Ok(path.exists().then_some((Site::File(path), None)))
    }

    fn is_attached(&self, _: &bpf_link_info) -> bool {
        false
    }
}

/// Removes the files of matches, but for those that rules have; gives of each whether it did.
///
/// # Errors
/// As of [`release`].
pub(super) fn release_unruled(paths: &[&Path]) -> Result<Vec<bool>, InstallError> {
    let refused = |errno| InstallError::permission("making maps and programs", &LOAD, errno);
    let finds_nothing = Entry::of_filter().and_then(|entry| entry.first()).map_err(refused)?;
    release(paths, finds_nothing.as_fd())
}

/// Removes the files in a folder that matches have left, but for those that rules have.
///
/// # Errors
/// The first that something failed of; the others are seen to.
pub fn remove_unruled(folder: &Path) -> Result<(), InstallError> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let own: Vec<PathBuf> = files.filter(|path| array_of(path).is_some()).collect();
    let paths: Vec<&Path> = own.iter().map(PathBuf::as_path).collect();
    let outcome = if paths.is_empty() { Ok(()) } else { release_unruled(&paths).map(drop) };
    // Only an empty folder goes.
    let _ = std::fs::remove_dir(folder);
    outcome
}

/// The file that rules name: in the folder with the script's pins.
fn path(place: &Place, target: &Target<'_>) -> Result<PathBuf, InstallError> {
    match (place, target.folder) {
        (Place::File(name), Some(folder)) if name.is_empty() => Ok(folder.join(MATCH.name)),
        (Place::File(name), Some(folder)) => Ok(folder.join(format!("{}-{name}", MATCH.name))),
        _ => Err(failed(Path::new(MATCH.name), Errno::EINVAL)),
    }
}

/// The array that belongs to what is pinned at a path, if that is one of ours.
fn array_of(path: &Path) -> Option<OwnedFd> {
    let first = sys::pinned(path).ok()?;
    let [number] = sys::maps_of(first.as_fd()).ok()?[..] else { return None };
    let array = sys::map_by_id(number).ok()?;
    let info = sys::map_info(array.as_fd()).ok()?;
    (info.type_ == BPF_MAP_TYPE_PROG_ARRAY).then_some(array)
}
