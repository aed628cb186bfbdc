//! Finding the other end of a veth interface, in whatever network namespace it is.

use super::route::{Found, namespace_number, other_interface};
use crate::interface::{self, Interface, InterfaceName};
use crate::{InstallError, netns};
use std::collections::HashSet;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the other end of an interface is.
pub(super) struct OtherEnd {
    pub(super) index: u32,
    /// The file of its network namespace or the name that it has, if it is not the namespace of the interface.
    pub(super) netns: Option<String>,
}

impl OtherEnd {
    /// The other end of the interface `name` of the namespace `netns` (`None`: the caller's).
    ///
    /// # Errors
    /// `NoPeer`, `UnknownInterface`, `UnknownNetns`, `Netns`, `Privilege`.
    pub(super) fn find(name: &str, netns: Option<&str>) -> Result<OtherEnd, InstallError> {
        netns::within(netns, || {
            let none = |why| InstallError::NoPeer { interface: name.to_string(), why };
            let near = interface::find(&InterfaceName::from(name), netns)?;
            if interface::driver(&near).as_deref() != Some("veth") {
                return Err(none("it is no veth interface"));
            }
            let found = other_interface(near.index).ok().flatten();
            let Some(Found { index, namespace }) = found else { return Err(none("its other end is gone")) };
            let netns = match namespace {
                None => None,
                Some(number) => {
                    let file = namespaces().find(|path| number_of(path) == Some(number));
                    let file = file.ok_or_else(|| {
                        none("its other end is in a network namespace that has no name and no process")
                    })?;
                    Some(name_of(&file))
                }
            };
            Ok(OtherEnd { index, netns })
        })?
    }

    /// Does something in its namespace with the interface, which is `netns` if it has none of its own.
    ///
    /// # Errors
    /// As of `netns::within` and of the work; `UnknownInterface` if it is gone.
    pub(super) fn within<T: Send>(
        &self,
        netns: Option<&str>,
        work: impl FnOnce(Interface) -> Result<T, InstallError> + Send,
    ) -> Result<T, InstallError> {
        let there = self.netns.as_deref().or(netns);
        netns::within(there, || work(interface::find(&InterfaceName::Index(self.index), there)?))?
    }
}

/// What the caller's namespace calls the one of that file (ip-netns(8), `nsid`).
fn number_of(path: &Path) -> Option<i32> {
    let file = File::open(path).ok()?;
    namespace_number(file.as_fd()).ok().flatten()
}

/// Files of all network namespaces that can be found, each once: those with names before those of processes.
fn namespaces() -> impl Iterator<Item = PathBuf> {
    let named = netns::names().into_iter().map(|name| netns::path(&name));
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let of_processes = processes
        .filter(move |entry| entry.file_name().to_str().is_some_and(is_number))
        .map(|entry| entry.path().join("ns/net"));
    let mut seen = HashSet::new();
    named
        .chain(of_processes)
        .filter(move |path| std::fs::metadata(path).is_ok_and(|file| seen.insert((file.dev(), file.ino()))))
}

/// As `--netns` takes it.
fn name_of(file: &Path) -> String {
    let name = netns::names().into_iter().find(|name| netns::path(name) == file);
    name.unwrap_or_else(|| file.to_string_lossy().into_owned())
}
