//! What links are attached to.

use crate::interface::Interface;
use std::path::PathBuf;

/// What a link is attached to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Site {
    Interface(Interface),
    Cgroup(Cgroup),
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
        }
    }

    pub fn interface(&self) -> Option<&Interface> {
        match self {
            Site::Interface(interface) => Some(interface),
            Site::Cgroup(_) => None,
        }
    }
}
