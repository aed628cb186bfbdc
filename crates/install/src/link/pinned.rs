//! Links that are pinned, and outlive their process.

use super::kind::{Elsewhere, Target};
use super::{Link, kind_of_hook, kind_of_link};
use crate::pin::{failed, pin, unpin};
use crate::{InstallError, netns, sys};
use moonhook_hook::Point;
use nix::errno::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

impl Link {
    /// Keeps the program in its hook until the pin is removed, whatever becomes of this process.
    ///
    /// # Errors
    /// `PinFailed`.
    pub fn pin(&self, path: &Path) -> Result<(), InstallError> {
        pin(self.as_fd(), path)?;
        *self.pin.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.to_path_buf());
        Ok(())
    }

    /// The link that was pinned there, at a point, with whatever program it has. `None` if there is no pin, or what it was attached to is gone.
    ///
    /// # Errors
    /// `PinFailed`, also for what is no link of that hook; `NoInterface`, `UnknownInterface`, `NoCgroup`, `UnknownNetns`, `Netns`;
    /// `PinnedElsewhere` if it is attached to something else.
    pub fn pinned(path: &Path, point: &Point, target: &Target<'_>) -> Result<Option<Link>, InstallError> {
        let Some(link) = open(path)? else { return Ok(None) };
        let info = sys::link_info(link.as_fd()).map_err(|errno| failed(path, errno))?;
        let kind = kind_of_hook(point.hook).filter(|kind| kind.is(&info));
        let kind = kind.ok_or_else(|| failed(path, Errno::EINVAL))?;
        let found = netns::within(target.netns, || kind.find(&info, &point.place, target))?;
        let found = found.map_err(|elsewhere| match elsewhere {
            Elsewhere::At(number) => {
                InstallError::PinnedElsewhere { path: path.to_path_buf(), at: format!("number {number}") }
            }
            Elsewhere::Error(error) => error,
        })?;
        Ok(found.map(|(site, mode)| Link {
            point: point.clone(),
            mode,
            program: sys::program_by_id(info.prog_id).ok(),
            link,
            pin: Mutex::new(Some(path.to_path_buf())),
            netns: target.netns.map(str::to_string),
            site,
            native_refused: None,
        }))
    }

    /// Whether there is a pinned link that is attached.
    pub fn is_attached_at(path: &Path) -> bool {
        let Ok(Some(link)) = open(path) else { return false };
        let is_attached = |info| kind_of_link(&info).is_some_and(|kind| kind.is_attached(&info));
        sys::link_info(link.as_fd()).is_ok_and(is_attached)
    }

    /// Takes the program that was pinned there out of its hook, and removes the pin. False if there was none.
    ///
    /// # Errors
    /// `PinFailed`.
    pub fn detach_pinned(path: &Path) -> Result<bool, InstallError> {
        let Some(link) = open(path)? else { return Ok(false) };
        // An interface that is gone has taken its program along.
        let _ = sys::link_detach(link.as_fd());
        unpin(path).map(|()| true)
    }
}

fn open(path: &Path) -> Result<Option<OwnedFd>, InstallError> {
    match sys::pinned(path) {
        Ok(link) => Ok(Some(link)),
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(failed(path, errno)),
    }
}
