//! Programs in hooks: a [`Link`] is a kernel object that goes with the process.
//!
//! What links have in common is here. A kind of link is a file with what attaching to its hook takes, and an entry of [`KINDS`].

mod cgroup;
mod frames;
mod hold;
mod in_kernel;
mod kind;
mod matches;
mod netfilter;
mod of_interface;
mod pinned;
mod site;
mod socket;
mod tcx;
mod xdp;

use self::hold::Hold;
use self::kind::{Kind, Made};
use crate::interface::InterfaceName;
use crate::privilege::Capability;
use crate::{InstallError, Program, messages, netns, sys};
use libbpf_sys::bpf_link_info;
use moonhook_hook::{Hook, Place, Point};
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub(crate) use cgroup::mounted as cgroups_mounted;
pub use frames::{FrameSource, Frames, KeptFrame};
pub use kind::Target;
pub use matches::remove_unruled;
pub use site::{Cgroup, Netfilter, Site};
pub(crate) use xdp::create as create_xdp;
pub use xdp::{Mode, RequestedMode};

/// All of them.
const KINDS: &[&dyn Kind] = &[
    &xdp::KIND,
    &tcx::INGRESS,
    &tcx::EGRESS,
    &cgroup::INGRESS,
    &cgroup::EGRESS,
    &cgroup::CONNECT_4,
    &cgroup::CONNECT_6,
    &netfilter::OfNetfilter,
    &matches::OfMatch,
    &socket::OfSocket,
    &in_kernel::RAW_TRACEPOINT,
    &in_kernel::TRACEPOINT,
    &in_kernel::CALL,
    &in_kernel::RETURN,
];

fn kind_of_hook(hook: &Hook) -> Option<&'static dyn Kind> {
    KINDS.iter().copied().find(|kind| kind.hook() == hook)
}

fn kind_of_link(info: &bpf_link_info) -> Option<&'static dyn Kind> {
    KINDS.iter().copied().find(|kind| kind.is(info))
}

fn is_attached(hold: &Hold) -> bool {
    hold.is_attached(|info| kind_of_link(info).is_some_and(|kind| kind.is_attached(info)))
}

/// A program in a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The kernel's number of it.
    pub id: u32,
    /// As the kernel has it: 15 bytes at most; empty where it may not be known.
    pub name: String,
    /// It is the link's own.
    pub is_own: bool,
}

/// A program in a hook. Dropping it detaches, and so does the end of the process, unless the link is pinned;
/// so does the end of what it is attached to.
#[derive(Debug)]
pub struct Link {
    point: Point,
    hold: Hold,
    /// Where the link is pinned, which keeps the program in its hook.
    pin: Mutex<Option<PathBuf>>,
    /// The program that was put there last; `None` if this process may not know which one is.
    program: Option<OwnedFd>,
    site: Site,
    mode: Option<Mode>,
    native_refused: Option<String>,
    /// The network namespace it was made in; `None`: the caller's.
    netns: Option<String>,
}

impl Program {
    /// Puts `program` into the hook of `interface` in the namespace `netns` (`None`: the caller's).
    ///
    /// # Errors
    /// As [`Program::attach_at`].
    pub fn attach(
        &self,
        program: &str,
        hook: &'static Hook,
        interface: impl Into<InterfaceName>,
        mode: RequestedMode,
        netns: Option<&str>,
    ) -> Result<Link, InstallError> {
        let target = Target { interface: Some(interface.into()), mode, netns, folder: None };
        self.attach_at(program, &Point::at_interface(hook), &target)
    }

    /// Puts `program` into a hook.
    ///
    /// # Errors
    /// `NoSuchItem`, `UnknownNetns`, `Netns`, `NoInterface`, `UnknownInterface`, `NoCgroup`, `Privilege`, `BpfRefused`, `HookBusy`, `HookFull`;
    /// `NoEthernet`; `NativeRefused` and `MtuTooLarge` only if native mode was asked for; `AttachFailed` for what is left, a program of another
    /// type among it. Nothing is attached then.
    pub fn attach_at(&self, program: &str, point: &Point, target: &Target<'_>) -> Result<Link, InstallError> {
        messages::silence();
        let program = self.program_fd(program)?;
        let fits = sys::program_info(program).is_ok_and(|info| info.type_ == point.hook.program_type);
        let Some(kind) = kind_of_hook(point.hook).filter(|_| fits) else {
            return Err(InstallError::AttachFailed { place: point.to_string(), errno: Errno::EINVAL });
        };
        let made = netns::within(target.netns, || kind.attach(program, point, target))??;
        let Made { hold, site, mode, native_refused } = made;
        let program = program.try_clone_to_owned().ok();
        let (pin, netns) = (Mutex::default(), target.netns.map(str::to_string));
        Ok(Link { point: point.clone(), hold, pin, program, site, mode, native_refused, netns })
    }
}

impl Link {
    pub fn hook(&self) -> &'static Hook {
        self.point.hook
    }

    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Calls the link's point another one, which is at the same place.
    pub fn rename(&mut self, point: Point) {
        self.point = point;
    }

    /// The same with the place as it is: another priority of netfilter's where the wanted one was taken.
    pub fn point_found(&self) -> Point {
        match &self.site {
            Site::Netfilter(netfilter) => self.point.moved_to(Place::Netfilter(netfilter.place)),
            _ => self.point.clone(),
        }
    }

    /// The mode that the program got, at hooks with several.
    pub fn mode(&self) -> Option<Mode> {
        self.mode
    }

    /// Why native mode was not to be had, if generic mode is the second choice.
    pub fn native_refused(&self) -> Option<&str> {
        self.native_refused.as_deref()
    }

    /// The programs that are asked where this one is, in their order, if there can be several.
    pub fn neighbours(&self) -> Vec<Neighbour> {
        let Some(kind) = kind_of_hook(self.point.hook) else { return Vec::new() };
        let ids = netns::within(self.netns.as_deref(), || kind.programs(&self.site)).unwrap_or_default();
        let own = self.hold.program().ok();
        let named = |id| Neighbour { id, name: sys::name_of_program(id), is_own: Some(id) == own };
        ids.into_iter().map(named).collect()
    }

    /// What it is attached to.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// The reader of what the link's filter keeps; `None` of links that are no filters.
    ///
    /// # Errors
    /// `AttachFailed` where there are no descriptors left.
    pub fn frames(&self) -> Result<Option<Frames>, InstallError> {
        let Hold::Socket(_) = &self.hold else { return Ok(None) };
        let failed = |_| InstallError::AttachFailed { place: self.site.name(), errno: Errno::EMFILE };
        self.hold.as_fd().try_clone_to_owned().map(Frames::of).map(Some).map_err(failed)
    }

    /// The descriptor that keeps the program where it is.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.hold.as_fd()
    }

    /// Whether what it is attached to still exists, and nobody has detached it.
    pub fn is_attached(&self) -> bool {
        is_attached(&self.hold)
    }

    /// Puts another program in the place of the present one, between two packets; gives the one that was there, as far as this process
    /// has it.
    ///
    /// # Errors
    /// `NoSuchItem`, `UpdateFailed`, `Privilege`; `Replaced` if somebody else has updated the link. The present program stays.
    pub fn update(&mut self, with: &Program, program: &str) -> Result<Option<OwnedFd>, InstallError> {
        let fd = with.program_fd(program)?.try_clone_to_owned();
        let fd = fd.map_err(|_| self.update_error(Errno::EMFILE))?;
        self.replace(fd)
    }

    /// Puts a program back that [`Link::update`] has given.
    ///
    /// # Errors
    /// As [`Link::update`].
    pub fn restore(&mut self, program: OwnedFd) -> Result<(), InstallError> {
        self.replace(program).map(drop)
    }

    fn replace(&mut self, program: OwnedFd) -> Result<Option<OwnedFd>, InstallError> {
        if let Some(kind) = kind_of_hook(self.point.hook).filter(|kind| !kind.takes_programs()) {
            self.replace_link(kind, program.as_fd())?;
            return Ok(self.program.replace(program));
        }
        let before = self.program.as_ref().map(OwnedFd::as_fd);
        self.hold.replace(program.as_fd(), before).map_err(|errno| self.update_error(errno))?;
        Ok(self.program.replace(program))
    }

    /// Puts a link with another program in the place of this one. For a moment packets pass both: there is none that passes neither.
    fn replace_link(&mut self, kind: &dyn Kind, program: BorrowedFd<'_>) -> Result<(), InstallError> {
        let netns = self.netns.as_deref();
        let target = Target { interface: None, mode: RequestedMode::Auto, netns, folder: None };
        let made = netns::within(target.netns, || kind.attach(program, &self.point, &target))??;
        let pin = self.pin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &*pin {
            made.hold.replace_pin(path)?;
        }
        drop(pin);
        let before = std::mem::replace(&mut self.hold, made.hold);
        self.site = made.site;
        let _ = before.detach();
        Ok(())
    }

    fn update_error(&self, errno: Errno) -> InstallError {
        let place = self.site.name();
        let present = self.hold.program();
        let ours = self.program.as_ref().map(|program| sys::program_info(program.as_fd()));
        match (errno, present, ours) {
            // What the kernel says where the link has another program than the one to be replaced (`bpf_xdp_link_update`).
            (Errno::EPERM, Ok(present), Some(Ok(ours))) if present != ours.id => {
                InstallError::Replaced { place, program_id: present }
            }
            (Errno::EPERM, ..) => InstallError::permission("replacing a program", &[Capability::Bpf], errno),
            (errno, ..) => InstallError::UpdateFailed { place, errno },
        }
    }

    /// Of matches: detaches those that no rule has, and gives the others.
    ///
    /// # Errors
    /// As of pinning, which may have to be done again; all are as they were, or are gone.
    pub fn detach_unruled(links: Vec<Link>) -> Result<Vec<Link>, (Vec<Link>, InstallError)> {
        let pinned = |link: &Link| match &link.hold {
            Hold::Entry(entry) => entry.pinned().map(Path::to_path_buf),
            Hold::Link(_) | Hold::Socket(_) => None,
        };
        let own: Vec<PathBuf> = links.iter().filter_map(pinned).collect();
        let paths: Vec<&Path> = own.iter().map(PathBuf::as_path).collect();
        let gone = match matches::release_unruled(&paths) {
            Ok(gone) => gone,
            Err(error) => return Err((links, error)),
        };
        let gone: Vec<&Path> =
            paths.into_iter().zip(gone).filter_map(|(path, gone)| gone.then_some(path)).collect();
        // Dropping a link detaches it.
        let is_left = |link: &Link| pinned(link).is_some_and(|path| !gone.contains(&path.as_path()));
        Ok(links.into_iter().filter(is_left).collect())
    }

    /// Of a match: lets rules, and what loads all rules anew, go on finding its file, though the rules find no packet any more.
    pub fn leave_to_rules(mut self) {
        if let Hold::Entry(entry) = &mut self.hold {
            entry.leave_pinned();
        }
    }

    /// Detaches now, and says if that failed.
    ///
    /// # Errors
    /// `AttachFailed` with the errno.
    pub fn detach(&self) -> Result<(), InstallError> {
        self.hold.detach().map_err(|errno| InstallError::AttachFailed { place: self.site.name(), errno })
    }
}

impl Drop for Link {
    /// Closing the descriptor would detach only if no one else has one: whoever lists the links of the system holds each for a
    /// moment, and somebody may keep it.
    fn drop(&mut self) {
        if self.pin.get_mut().unwrap_or_else(PoisonError::into_inner).is_none() {
            let _ = self.hold.detach();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonhook_hook::HOOKS;

    #[test]
    fn programs_of_each_hook_are_attached_in_one_way() {
        for hook in HOOKS {
            let ways = KINDS.iter().filter(|kind| kind.hook() == *hook).count();
            assert_eq!(ways, 1, "{}", hook.name);
        }
        assert_eq!(KINDS.len(), HOOKS.len());
    }
}
