//! The file system in which the kernel lists tracepoints (Documentation/trace/ftrace.rst). Where nobody has mounted it, it is mounted for
//! this process alone, at no place.

use super::TracingError;
use moonhook_btf::nearest;
use nix::errno::Errno;
use nix::libc;
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A mounted one.
pub(crate) struct Tracefs {
    root: PathBuf,
    /// What keeps a mount of our own.
    _mount: Option<OwnedFd>,
}

/// Where it is, if it is mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

const EVENTS: &str = "events";

impl Tracefs {
    /// # Errors
    /// `NoList`.
    pub fn open() -> Result<Tracefs, TracingError> {
        let mounted = PLACES.iter().map(Path::new).find(|place| File::open(place.join(EVENTS)).is_ok());
        if let Some(place) = mounted {
            return Ok(Tracefs { root: place.to_path_buf(), _mount: None });
        }
        let mount = mount(c"tracefs").map_err(|errno| {
            let problem = format!("tracefs is not mounted at {}, and cannot be: {}", PLACES[0], errno.desc());
            TracingError::NoList { problem }
        })?;
        let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        Ok(Tracefs { root, _mount: Some(mount) })
    }

    /// How the record of a tracepoint is made up, as text.
    ///
    /// # Errors
    /// `None`, `NoList`.
    pub fn format(&self, name: &str) -> Result<String, TracingError> {
        self.read(name, "format")
    }

    /// The kernel's number of a tracepoint.
    ///
    /// # Errors
    /// `None`, `NoList`.
    pub fn number(&self, name: &str) -> Result<u64, TracingError> {
        let text = self.read(name, "id")?;
        let no_number = |_| TracingError::NoList { problem: format!("{name}/id has no number") };
        text.trim().parse().map_err(no_number)
    }

    fn read(&self, name: &str, file: &str) -> Result<String, TracingError> {
        let folder = self.root.join(EVENTS).join(name);
        if !folder.is_dir() {
            return Err(TracingError::None { near: self.near(name) });
        }
        let read = std::fs::read_to_string(folder.join(file));
        read.map_err(|error| TracingError::NoList { problem: error.to_string() })
    }

    /// Names that are like one: of the same group, or, where there is no such group, of any.
    fn near(&self, name: &str) -> Vec<String> {
        let (group, own) = name.split_once('/').unwrap_or((name, ""));
        let events = self.root.join(EVENTS);
        let groups = match events.join(group).is_dir() {
            true => vec![group.to_string()],
            false => folders(&events),
        };
        let full = |group: String| {
            folders(&events.join(&group)).into_iter().map(move |name| format!("{group}/{name}"))
        };
        let all: Vec<String> = groups.into_iter().flat_map(full).collect();
        let same_name: Vec<String> =
            all.iter().filter(|known| known.split('/').nth(1) == Some(own)).cloned().collect();
        if !same_name.is_empty() {
            return same_name;
        }
        nearest(name, all.iter().map(String::as_str)).into_iter().map(str::to_string).collect()
    }
}

fn folders(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.path().is_dir());
    named.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A mount of a file system that nobody else sees (fsopen(2), fsmount(2)); it goes when the descriptor is closed.
fn mount(kind: &CStr) -> Result<OwnedFd, Errno> {
    const CREATE: libc::c_uint = 6; // FSCONFIG_CMD_CREATE, include/uapi/linux/mount.h
    let nothing = std::ptr::null::<libc::c_char>();
    // SAFETY: the name outlives the call, which takes no other pointer.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), 0) })?;
    // SAFETY: the descriptor is open; the command takes neither key nor value.
    let made = unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), CREATE, nothing, nothing, 0) };
    Errno::result(made)?;
    // SAFETY: the descriptor is open, and the call takes no pointers.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 0, 0) })
}

fn owned(result: libc::c_long) -> Result<OwnedFd, Errno> {
    // SAFETY: a result that is not negative is a new descriptor that nothing else owns.
    Errno::result(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
