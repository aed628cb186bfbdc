//! Named network namespaces, as `ip netns` makes them.
//!
//! A namespace is entered on a thread of its own, which ends with the work, so that the caller's thread never changes
//! where it is.

use crate::InstallError;
use crate::interface::{self, Interface, InterfaceName};
use crate::privilege::Capability;
use caps::CapSet;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::path::{Path, PathBuf};

const FOLDER: &str = "/run/netns";

/// The names of the namespaces there are, sorted.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Runs `work` in the network namespace `name` (or, if it contains a `/`, in that file's), or here for `None`.
///
/// # Errors
/// `UnknownNetns`, `Privilege` (CAP_SYS_ADMIN) or `Netns`, before `work` began.
pub fn within<T: Send>(name: Option<&str>, work: impl FnOnce() -> T + Send) -> Result<T, InstallError> {
    let Some(name) = name else { return Ok(work()) };
    let file = open(name)?;
    let enter = || enter(file).map_err(|errno| refused(name, errno)).map(|()| work());
    std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, enter) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(error) => Err(refused(name, errno_of(&error))),
    })
}

/// Brings this thread, which ends soon, into a namespace. Where CAP_SYS_ADMIN is permitted and not in effect, it is in effect for that alone,
/// and the thread does not have it for the work.
fn enter(file: File) -> Result<(), Errno> {
    let has = |set| caps::has_cap(None, set, ENTERING).unwrap_or(false);
    let is_raised = has(CapSet::Permitted) && !has(CapSet::Effective);
    if is_raised {
        caps::raise(None, CapSet::Effective, ENTERING).map_err(|_| Errno::EPERM)?;
    }
    let entered = setns(file, CloneFlags::CLONE_NEWNET);
    for set in [CapSet::Effective, CapSet::Permitted].into_iter().filter(|_| is_raised) {
        caps::drop(None, set, ENTERING).map_err(|_| Errno::EPERM)?;
    }
    entered
}

/// What that takes (`netns_install`, net/core/net_namespace.c).
const ENTERING: caps::Capability = caps::Capability::CAP_SYS_ADMIN;

/// The interfaces of the namespace `name` (`None`: the caller's).
///
/// # Errors
/// As [`within`].
pub fn interfaces(name: Option<&str>) -> Result<Vec<Interface>, InstallError> {
    within(name, interface::interfaces)
}

/// The file of the namespace of that name, or of that path.
pub(crate) fn path(name: &str) -> PathBuf {
    if name.contains('/') { PathBuf::from(name) } else { Path::new(FOLDER).join(name) }
}

/// The interface of that name or number in the namespace `name` (`None`: the caller's).
///
/// # Errors
/// `UnknownInterface`; as [`within`].
pub fn interface(wanted: &InterfaceName, name: Option<&str>) -> Result<Interface, InstallError> {
    within(name, || interface::find(wanted, name))?
}

fn open(name: &str) -> Result<File, InstallError> {
    File::open(path(name)).map_err(|error| match errno_of(&error) {
        Errno::ENOENT | Errno::EISDIR => {
            InstallError::UnknownNetns { name: name.to_string(), existing: names() }
        }
        errno => refused(name, errno),
    })
}

fn refused(name: &str, errno: Errno) -> InstallError {
    match errno {
        Errno::EPERM => {
            InstallError::permission("entering a network namespace", &[Capability::SysAdmin], errno)
        }
        errno => InstallError::Netns { name: name.to_string(), errno },
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(0))
}
