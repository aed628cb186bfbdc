//! Maps by which packets go elsewhere (`bpf_redirect_map`), and what a program's data say of them.
//!
//! Whoever runs the program fills them; a packet that meets no entry is an error of its handler.

/// The map (`DevMapHash`) that has the interfaces of a group, by their numbers.
pub fn group(number: usize) -> String {
    format!("{GROUP}{number}")
}

/// The map (`CpuMap`) of all CPUs, each of which has a queue of that length.
pub fn cpus(queue: u32) -> String {
    format!("{CPUS}{queue}")
}

/// The length of the queues in the map of CPUs that is called so.
pub fn queue_of(map: &str) -> Option<u32> {
    map.strip_prefix(CPUS)?.parse().ok()
}

/// The map (`XskMap`) of sockets. The sockets of an interface stand behind one another, in the order of the queues' numbers.
pub const SOCKETS: &str = "sockets";
/// The map (`Hash`) that has, by the number of an interface (`u64`), where its sockets begin (`u64`).
pub const SOCKET_INTERFACES: &str = "socket_ifaces";
/// Interfaces that there can be in it.
pub const MOST_INTERFACES: u32 = 64;

/// Whether one of these maps may be called so.
pub fn is_map(name: &str) -> bool {
    let is_one = [SOCKETS, SOCKET_INTERFACES].contains(&name);
    is_one || [GROUP, CPUS].iter().any(|start| name.strip_prefix(start).is_some_and(is_number))
}

const GROUP: &str = "group_";
const CPUS: &str = "cpus_";

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// An interface in a group, in the section [`GROUPS`](crate::maps::GROUPS): the number of the group from 1 (`u32`), and the place of the
/// interface among the [`Port`](crate::maps::Port)s from 0 (`u32`), in the machine's byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    pub group: u32,
    pub port: u32,
}

impl Member {
    /// Bytes of one.
    pub const SIZE: usize = 8;

    pub fn bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..4].copy_from_slice(&self.group.to_ne_bytes());
        bytes[4..].copy_from_slice(&self.port.to_ne_bytes());
        bytes
    }

    /// Those in a section, which may have zeros behind them.
    pub fn all(section: &[u8]) -> impl Iterator<Item = Member> {
        let (words, _) = section.as_chunks::<4>();
        let pairs = words.chunks_exact(2).map(|pair| [pair[0], pair[1]].map(u32::from_ne_bytes));
        pairs.map(|[group, port]| Member { group, port }).filter(|member| member.group != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_known_by_their_names() {
        assert!(
            is_map(&group(3))
                && is_map(SOCKETS)
                && is_map(&cpus(2048))
                && !is_map("group_a")
                && !is_map("cpus_")
        );
        assert_eq!((queue_of(&cpus(192)), queue_of(&group(1))), (Some(192), None));
    }

    #[test]
    fn members_are_read_as_they_were_written() {
        let members = [Member { group: 1, port: 0 }, Member { group: 2, port: 7 }];
        let section = [members[0].bytes(), members[1].bytes(), [0; Member::SIZE]].concat();
        assert_eq!(Member::all(&section).collect::<Vec<_>>(), members);
    }
}
