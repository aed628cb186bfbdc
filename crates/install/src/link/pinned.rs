//! Links that are pinned, and outlive their process.

use super::kind::{Elsewhere, Target};
use super::{Hold, Link, is_attached, kind_of_hook};
use crate::pin::{failed, unpin};
use crate::{InstallError, netns, sys};
use moonhook_hook::Point;
use nix::errno::Errno;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

impl Link {
    /// Keeps the program in its hook until the pin is removed, whatever becomes of this process.
    ///
    /// # Errors
    /// `PinFailed`.
    pub fn pin(&self, path: &Path) -> Result<(), InstallError> {
        self.hold.pin(path)?;
        *self.pin.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.to_path_buf());
        Ok(())
    }

    /// The link that was pinned there, at a point, with whatever program it has. `None` if there is no pin, or what it was attached to is gone.
    ///
    /// # Errors
    /// `PinFailed`, also for what is no link of that hook; `NoInterface`, `UnknownInterface`, `NoCgroup`, `UnknownNetns`, `Netns`;
    /// `PinnedElsewhere` if it is attached to something else.
    pub fn pinned(path: &Path, point: &Point, target: &Target<'_>) -> Result<Option<Link>, InstallError> {
        let Some(hold) = Hold::open(path)? else { return Ok(None) };
        let info = hold.info().map_err(|errno| failed(path, errno))?;
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
            program: hold.program().and_then(sys::program_by_id).ok(),
            hold,
            pin: Mutex::new(Some(path.to_path_buf())),
            netns: target.netns.map(str::to_string),
            site,
            native_refused: None,
        }))
    }

    /// Whether there is a pinned link that is attached.
    pub fn is_attached_at(path: &Path) -> bool {
        Hold::open(path).is_ok_and(|hold| hold.as_ref().is_some_and(is_attached))
    }

    /// Takes the program that was pinned there out of its hook, and removes the pin. False if there was none.
    ///
    /// # Errors
    /// `PinFailed`.
    pub fn detach_pinned(path: &Path) -> Result<bool, InstallError> {
        let Some(hold) = Hold::open(path)? else { return Ok(false) };
        // An interface that is gone has taken its program along.
        let _ = hold.detach();
        unpin(path).map(|()| true)
    }
}
