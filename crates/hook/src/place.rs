//! Hooks that are at several places of a system.

use crate::{HOOKS, Hook};
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

impl Point {
    /// A name of letters, digits, `+`, `-`, `_` and `@` that tells it from all others: names in a BPF file system have no dots and no slashes.
    pub fn file_name(&self) -> String {
        let hook = self.hook.name.replace('.', "+");
        match &self.place {
            Place::Interface => hook,
            Place::Cgroup(path) => format!("{hook}@{}", escaped(path)),
        }
    }

    /// The point with that [`Point::file_name`].
    pub fn of_file_name(name: &str) -> Option<Point> {
        let (hook, place) = name.split_once('@').map_or((name, None), |(hook, place)| (hook, Some(place)));
        let hook = HOOKS.iter().find(|known| known.name.replace('.', "+") == hook)?;
        let place = match place {
            None => Place::Interface,
            Some(path) => Place::Cgroup(unescaped(path)?.into()),
        };
        Some(Point { hook, place })
    }
}

/// Bytes other than letters and digits as `+` and two digits.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' => escaped.push(byte.into()),
            byte => escaped.push_str(&format!("+{byte:02x}")),
        }
    }
    escaped
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('+');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CGROUP_EGRESS, TC_INGRESS};

    #[test]
    fn points_are_found_by_the_names_of_their_files() {
        let group = |path: &str| Point { hook: &CGROUP_EGRESS, place: Place::Cgroup(path.into()) };
        for point in
            [Point::at_interface(&TC_INGRESS), group("/sys/fs/cgroup/a.b"), group("ä+2e x-1"), group("")]
        {
            let name = point.file_name();
            assert!(!name.contains(['.', '/', ' ']), "{name}");
            assert_eq!(Point::of_file_name(&name), Some(point));
        }
        for name in ["xdp@+", "xdp@+zz", "none", "cgroup+egress@+ff"] {
            assert_eq!(Point::of_file_name(name), None, "{name}");
        }
        assert_eq!(group("a/b").to_string(), "cgroup.egress a/b");
    }
}
