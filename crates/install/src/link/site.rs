//! What links are attached to.

use crate::interface::Interface;
use moonhook_hook::NetfilterPlace;
use std::path::PathBuf;

/// What a link is attached to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Site {
    Interface(Interface),
    Cgroup(Cgroup),
    Netfilter(Netfilter),
    /// A file in a BPF file system.
    File(PathBuf),
    /// A place in the kernel's code, as scripts call it.
    Kernel(String),
}

/// A point of the network stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netfilter {
    /// As the script wants it.
    pub wanted: NetfilterPlace,
    /// As it is: of the priorities from the wanted one on, the first that was free.
    pub place: NetfilterPlace,
}

/// A control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    pub path: PathBuf,
    /// The kernel's number of it, which is that of its folder.
    pub id: u64,
}

impl Site {
    /// What a person calls it.
    pub fn name(&self) -> String {
        match self {
            Site::Interface(interface) => interface.name.clone(),
            Site::Cgroup(group) => group.path.display().to_string(),
            Site::Netfilter(netfilter) => netfilter.place.to_string(),
            Site::File(path) => path.display().to_string(),
            Site::Kernel(name) => name.clone(),
        }
    }

    /// What kind of thing that is.
    pub fn kind(&self) -> &'static str {
        match self {
            Site::Interface(_) => "interface",
            Site::Cgroup(_) => "control group",
            Site::Netfilter(_) => "place",
            Site::File(_) => "file",
            Site::Kernel(_) => "function",
        }
    }

    /// Where it is in the file system, if others find it there.
    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            Site::File(path) => Some(path),
            _ => None,
        }
    }

    pub fn interface(&self) -> Option<&Interface> {
        match self {
            Site::Interface(interface) => Some(interface),
            Site::Cgroup(_) | Site::Netfilter(_) | Site::File(_) | Site::Kernel(_) => None,
        }
    }
}
