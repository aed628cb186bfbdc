//! The link's header of packets. The kernel gives queues of IP packets only the sender's address and Ethernet's type: the rest is known by the interface.

use crate::Packet;
use nix::libc;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `ARPHRD_ETHER` and `ARPHRD_LOOPBACK` (include/uapi/linux/if_arp.h): those with Ethernet's header.
const ETHERNET: u16 = 1;
const LOOPBACK: u16 = 772;

/// What an interface is like.
#[derive(Clone, Copy)]
struct Interface {
    /// `ARPHRD_…`.
    kind: u16,
    address: [u8; 6],
}

/// Whom the kernel is asked by about interfaces. What it has said is not kept: addresses change, and numbers come again.
pub struct Interfaces {
    socket: Option<OwnedFd>,
}

impl Interfaces {
    /// Those of this thread's network namespace.
    pub fn open() -> Interfaces {
        // SAFETY: takes no pointers.
        let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        // SAFETY: a descriptor that the kernel has just made, and nobody else has.
        let socket = (socket >= 0).then(|| unsafe { OwnedFd::from_raw_fd(socket) });
        Interfaces { socket }
    }

    /// The header of a packet that has come in: none where its interface has none, nothing (`None`) where it has come in by no interface.
    ///
    /// The destination is the interface's own address, or the one that stands for a destination of several (RFC 1112 § 6.4, RFC 2464 § 7).
    pub fn header(&self, packet: &Packet) -> Option<Vec<u8>> {
        if packet.input == 0 || packet.output != 0 && packet.source.is_none() {
            return None;
        }
        let interface = ask(self.socket.as_ref()?, packet.input)?;
        if interface.kind != ETHERNET && interface.kind != LOOPBACK {
            return Some(Vec::new());
        }
        let destination = of_several(&packet.bytes).unwrap_or(interface.address);
        let source = packet.source.unwrap_or_default();
        Some([&destination[..], &source, &packet.ethertype.to_be_bytes()].concat())
    }
}

/// The address of Ethernet that stands for an IP destination of several.
fn of_several(packet: &[u8]) -> Option<[u8; 6]> {
    match packet.first()? >> 4 {
        4 => match *packet.get(16..20)? {
            [255, 255, 255, 255] => Some([0xff; 6]),
            [224..=239, second, third, fourth] => Some([1, 0, 0x5e, second & 0x7f, third, fourth]),
            _ => None,
        },
        6 => match *packet.get(24..40)?.first_chunk::<16>()? {
            [0xff, .., a, b, c, d] => Some([0x33, 0x33, a, b, c, d]),
            _ => None,
        },
        _ => None,
    }
}

/// An interface's kind and address, by its number.
fn ask(socket: &OwnedFd, number: u32) -> Option<Interface> {
    let socket = socket.as_raw_fd();
    // SAFETY: integers and an array of them.
    let mut request: libc::ifreq = unsafe { zeroed() };
    request.ifr_ifru.ifru_ifindex = i32::try_from(number).ok()?;
    // SAFETY: the kernel reads the number and writes the name.
    if unsafe { libc::ioctl(socket, libc::SIOCGIFNAME, &raw mut request) } != 0 {
        return None;
    }
    // SAFETY: the kernel reads the name and writes kind and address.
    if unsafe { libc::ioctl(socket, libc::SIOCGIFHWADDR, &raw mut request) } != 0 {
        return None;
    }
    // SAFETY: the kernel has filled in that field.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr };
    let mut bytes = [0; 6];
    for (to, from) in bytes.iter_mut().zip(address.sa_data) {
        *to = from as u8;
    }
    Some(Interface { kind: address.sa_family, address: bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_of_several_have_their_own_addresses() {
        let ipv4 = |destination: [u8; 4]| [&[0x45; 16][..], &destination].concat();
        assert_eq!(of_several(&ipv4([224, 0x81, 2, 3])), Some([1, 0, 0x5e, 1, 2, 3]));
        assert_eq!(of_several(&ipv4([255; 4])), Some([0xff; 6]));
        assert_eq!(of_several(&ipv4([10, 0, 0, 1])), None);
        let mut ipv6 = [0; 40];
        (ipv6[0], ipv6[24], ipv6[39]) = (0x60, 0xff, 0x16);
        assert_eq!(of_several(&ipv6), Some([0x33, 0x33, 0, 0, 0, 0x16]));
        assert_eq!(of_several(&[0x45]), None);
        assert_eq!(of_several(&[]), None);
    }

    /// The loopback interface has number 1 in every network namespace.
    #[test]
    fn a_header_is_made_for_packets_that_came_in() {
        let interfaces = Interfaces::open();
        let packet = Packet { input: 1, ethertype: 0x800, bytes: vec![0x45; 20], ..Packet::default() };
        assert_eq!(interfaces.header(&packet).map(|header| header.len()), Some(14));
        let sent = Packet { input: 0, output: 1, ..packet };
        assert_eq!(interfaces.header(&sent), None);
    }
}
