//! Hooks that are at several places of a system.

use crate::Hook;
use std::fmt;
use std::sync::Arc;

/// A hook at one of the places that have it: what a program is attached to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Point {
    pub hook: &'static Hook,
    pub place: Place,
}

/// Where a hook is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Place {
    /// The interface that the script is run on.
    #[default]
    Interface,
    /// A control group: its path, from the root of the file system or from where control groups are mounted.
    Cgroup(Arc<str>),
}

impl Point {
    pub fn at_interface(hook: &'static Hook) -> Point {
        Point { hook, place: Place::Interface }
    }
}

/// The hook's name, and the place behind it where a script has said it.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hook.name)?;
        match &self.place {
            Place::Interface => Ok(()),
            Place::Cgroup(path) => write!(f, " {path}"),
        }
    }
}
