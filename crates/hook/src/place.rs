//! Hooks that are at several places of a system.

use crate::order::Order;
use crate::trace::SEPARATOR;
use crate::{HOOKS, Hook};
use std::fmt;
use std::sync::Arc;

/// A hook at one of the places that have it: what a program is attached to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Point {
    pub hook: &'static Hook,
    pub place: Place,
    /// Among the programs that are at this place, of hooks with lists of them.
    pub order: Order,
}

/// Where a hook is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Place {
    /// The interface that the script is run on.
    #[default]
    Interface,
    /// One of several that it is run on, by name.
    Named(Arc<str>),
    /// A control group: its path, from the root of the file system or from where control groups are mounted.
    Cgroup(Arc<str>),
    Netfilter(NetfilterPlace),
    /// A file in a BPF file system, in the script's folder: the name that the script gives it, or none.
    File(Arc<str>),
    /// A place in the kernel's code, by the name that it has for this hook: `sys_enter`, `sched/sched_switch`.
    Kernel(Arc<str>),
    /// A function of that name in a library: programs in C call it at this hook.
    Function(Arc<str>),
    /// The handlers of an interface in a library, where programs in C call them with an argument.
    Called,
}

/// What kind of place the programs of a hook have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    /// Those of [`Place::Interface`] and [`Place::Named`].
    Interfaces,
    Cgroups,
    Netfilter,
    Files,
    /// In the kernel's code.
    Kernel,
}

impl Places {
    /// The place of that kind that [`Point::file_name`] writes so.
    fn parse(self, name: String) -> Option<Place> {
        Some(match self {
            Places::Interfaces => Place::Named(name.into()),
            Places::Cgroups => Place::Cgroup(name.into()),
            Places::Netfilter => Place::Netfilter(NetfilterPlace::parse(&name)?),
            Places::Files => Place::File(name.into()),
            Places::Kernel => Place::Kernel(name.into()),
        })
    }
}

/// Where in the network stack netfilter asks, and when.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NetfilterPlace {
    pub family: Family,
    /// Which of the five points: an index of [`NETFILTER_POINTS`].
    pub number: u32,
    /// Who has a lower one is asked earlier.
    pub priority: i32,
    /// Packets are put together from fragments before.
    pub defragments: bool,
    /// Only packets with this mark are handled; `None`: all.
    pub mark: Option<u32>,
}

/// The points of the network stack where netfilter asks, by their numbers (`enum nf_inet_hooks`, include/uapi/linux/netfilter.h).
pub const NETFILTER_POINTS: [&str; 5] = ["PRE_ROUTING", "LOCAL_IN", "FORWARD", "LOCAL_OUT", "POST_ROUTING"];

/// Protocol families (`NFPROTO_…`, include/uapi/linux/netfilter.h) that such programs can be for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    Ipv4 = 2,
    Ipv6 = 10,
}

impl Family {
    pub const ALL: [Family; 2] = [Family::Ipv4, Family::Ipv6];

    pub fn name(self) -> &'static str {
        match self {
            Family::Ipv4 => "ipv4",
            Family::Ipv6 => "ipv6",
        }
    }
}

impl NetfilterPlace {
    /// What a person calls the point.
    pub fn point(&self) -> &'static str {
        NETFILTER_POINTS.get(self.number as usize).copied().unwrap_or_default()
    }

    /// The place that is written so by [`fmt::Display`].
    fn parse(text: &str) -> Option<NetfilterPlace> {
        let mut words = text.split(' ');
        let family = words.next()?;
        let family = Family::ALL.into_iter().find(|known| known.name() == family)?;
        let point = words.next()?;
        let number = NETFILTER_POINTS.iter().position(|known| *known == point)? as u32;
        let priority = words.next()?.parse().ok()?;
        let (mut defragments, mut mark) = (false, Some(0));
        while let Some(word) = words.next() {
            match word {
                "defragmented" => defragments = true,
                "mark" => mark = Some(words.next()?.parse().ok()?),
                "any" if words.next() == Some("mark") => mark = None,
                _ => return None,
            }
        }
        Some(NetfilterPlace { family, number, priority, defragments, mark })
    }
}

impl fmt::Display for NetfilterPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.family.name(), self.point(), self.priority)?;
        if self.defragments {
            f.write_str(" defragmented")?;
        }
        match self.mark {
            Some(0) => Ok(()),
            Some(mark) => write!(f, " mark {mark}"),
            None => f.write_str(" any mark"),
        }
    }
}

impl Point {
    pub fn at_interface(hook: &'static Hook) -> Point {
        Point::at(hook, Place::Interface)
    }

    pub const fn at(hook: &'static Hook, place: Place) -> Point {
        Point { hook, place, order: Order::Behind }
    }

    /// The section of its program, of one that also takes frames in several buffers if wanted.
    pub fn section(&self, frags: bool) -> String {
        let section = self.hook.section(frags);
        match &self.place {
            Place::Kernel(name) => format!("{section}{SEPARATOR}{name}"),
            _ => section.to_string(),
        }
    }

    /// The same at another place.
    pub fn moved_to(&self, place: Place) -> Point {
        Point { place, ..self.clone() }
    }

    /// A name of letters, digits, `+`, `-`, `_` and `@` that tells it from all others: names in a BPF file system have no dots and no slashes.
    pub fn file_name(&self) -> String {
        let hook = self.hook.name.replace('.', "+");
        let order = match &self.order {
            Order::Behind => String::new(),
            order => format!("@{}", escaped(&order.to_string())),
        };
        match &self.place {
            Place::Interface if order.is_empty() => hook,
            Place::Interface => format!("{hook}@{order}"),
            Place::Named(path)
            | Place::Cgroup(path)
            | Place::File(path)
            | Place::Kernel(path)
            | Place::Function(path) => {
                format!("{hook}@{}{order}", escaped(path))
            }
            Place::Netfilter(place) => format!("{hook}@{}", escaped(&place.to_string())),
            Place::Called => format!("{hook}@called"),
        }
    }

    /// The point with that [`Point::file_name`].
    pub fn of_file_name(name: &str) -> Option<Point> {
        let mut parts = name.split('@');
        let (hook, place) = (parts.next()?, parts.next());
        let order = match parts.next() {
            None => Order::default(),
            Some(order) => Order::parse(&unescaped(order)?)?,
        };
        let hook = HOOKS.iter().find(|known| known.name.replace('.', "+") == hook)?;
        let place = match place {
            None => Place::Interface,
            Some("") if order != Order::default() => Place::Interface,
            Some(name) => hook.places.parse(unescaped(name)?)?,
        };
        Some(Point { hook, place, order })
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
            Place::Interface | Place::Called => {}
            Place::File(name) if name.is_empty() => {}
            Place::Named(path) | Place::Cgroup(path) | Place::File(path) => write!(f, " {path}")?,
            Place::Netfilter(place) => write!(f, " {place}")?,
            Place::Kernel(name) => write!(f, "{SEPARATOR}{name}")?,
            Place::Function(name) => write!(f, " function {name}")?,
        }
        if self.order == Order::default() { Ok(()) } else { write!(f, " {}", self.order) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CGROUP_EGRESS, NETFILTER, Other, TC_INGRESS};

    #[test]
    fn each_hook_has_the_places_that_its_files_are_read_back_as() {
        for hook in HOOKS {
            let place = match hook.places {
                Places::Interfaces => Place::Named("eth0".into()),
                Places::Cgroups => Place::Cgroup("/a".into()),
                Places::Files => Place::File("x".into()),
                Places::Kernel => Place::Kernel("sched/x".into()),
                Places::Netfilter => Place::Netfilter(NetfilterPlace {
                    family: Family::Ipv4,
                    number: 1,
                    priority: 0,
                    defragments: false,
                    mark: None,
                }),
            };
            let point = Point::at(hook, place);
            assert_eq!(Point::of_file_name(&point.file_name()), Some(point));
        }
    }

    #[test]
    fn points_are_found_by_the_names_of_their_files() {
        let group = |path: &str| Point::at(&CGROUP_EGRESS, Place::Cgroup(path.into()));
        let netfilter = |defragments, mark| {
            let place = NetfilterPlace { family: Family::Ipv6, number: 3, priority: -7, defragments, mark };
            Point::at(&NETFILTER, Place::Netfilter(place))
        };
        for (defragments, mark) in [(false, Some(0)), (true, Some(0)), (true, Some(u32::MAX)), (false, None)]
        {
            let point = netfilter(defragments, mark);
            assert_eq!(Point::of_file_name(&point.file_name()), Some(point));
        }
        assert_eq!(netfilter(false, Some(0)).to_string(), "netfilter ipv6 LOCAL_OUT -7");
        assert_eq!(netfilter(true, None).to_string(), "netfilter ipv6 LOCAL_OUT -7 defragmented any mark");
        let named = Point::at(&TC_INGRESS, Place::Named("eth0.7".into()));
        assert_eq!(named.to_string(), "tc.ingress eth0.7");
        let interface = Point::at_interface(&TC_INGRESS);
        let before = |name: &str| Order::Before(Other::Name(name.into()));
        let ordered =
            |order: Order| [&interface, &named].map(|point| Point { order: order.clone(), ..point.clone() });
        for order in [Order::First, Order::Last, before("a.b c"), Order::After(Other::Number(7))] {
            for point in ordered(order) {
                assert_eq!(Point::of_file_name(&point.file_name()), Some(point));
            }
        }
        assert_eq!(ordered(before("x"))[1].to_string(), "tc.ingress eth0.7 before x");
        for point in [interface, named, group("/sys/fs/cgroup/a.b"), group("ä+2e x-1"), group("")] {
            let name = point.file_name();
            assert!(!name.contains(['.', '/', ' ']), "{name}");
            assert_eq!(Point::of_file_name(&name), Some(point));
        }
        for name in ["xdp@+", "xdp@+zz", "none", "cgroup+egress@+ff", "netfilter@eth0"] {
            assert_eq!(Point::of_file_name(name), None, "{name}");
        }
        assert_eq!(group("a/b").to_string(), "cgroup.egress a/b");
    }
}
