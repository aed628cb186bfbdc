//! Links that are pinned, and outlive their process.

use super::{Link, LinkKind};
use crate::interface::{self, InterfaceName};
use crate::pin::{failed, pin, unpin};
use crate::{InstallError, netns, sys};
use nix::errno::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

impl Link {
    /// Keeps the program in its hook until the pin is removed, whatever becomes of this process.
    ///
    /// # Errors
    /// `PinFailed`.
    pub fn pin(&self, path: &Path) -> Result<(), InstallError> {
        pin(self.as_fd(), path)?;
        self.pinned.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The link that was pinned there, to the interface in the namespace `netns` (`None`: the caller's), with whatever program
    /// it has. `None` if there is no pin, or the interface of it is gone.
    ///
    /// # Errors
    /// `PinFailed`, also for what is no link of a hook that is known; `UnknownInterface`, `UnknownNetns`, `Netns`;
    /// `PinnedElsewhere` if it is attached to another interface.
    pub fn pinned(path: &Path, interface: &str, netns: Option<&str>) -> Result<Option<Link>, InstallError> {
        let Some(link) = open(path)? else { return Ok(None) };
        let info = sys::link_info(link.as_fd()).map_err(|errno| failed(path, errno))?;
        let kind = LinkKind::of_link(&info).ok_or_else(|| failed(path, Errno::EINVAL))?;
        let index = (kind.interface)(&info);
        if index == 0 {
            return Ok(None);
        }
        let wanted = InterfaceName::Name(interface.to_string());
        netns::within(netns, move || {
            let interface = interface::find(&wanted, netns)?;
            if interface.index != index || !(kind.is_at)(&info, &interface) {
                return Err(InstallError::PinnedElsewhere { path: path.to_path_buf(), index });
            }
            Ok(Some(Link {
                hook: kind.hook,
                mode: (kind.mode)(&interface),
                program: sys::program_by_id(info.prog_id).ok(),
                link,
                pinned: AtomicBool::new(true),
                interface,
                native_refused: None,
            }))
        })?
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
