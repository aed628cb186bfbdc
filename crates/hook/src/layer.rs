//! What packets begin with.

use std::borrow::Cow;

/// What a packet begins with, where a hook has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// An Ethernet header.
    Link,
    /// An IP header.
    Network,
    /// There is none, only what a process wants of a socket.
    Socket,
    /// There is none, only what happens in the kernel.
    Event,
}

/// Bytes of an Ethernet header (IEEE 802.3) and of a VLAN tag (IEEE 802.1Q).
const ETHERNET: usize = 14;
const TAG: usize = 4;

impl Layer {
    /// What hooks of this layer have of an Ethernet frame, or are asked because of it; `None` if they do not get to see it.
    pub fn of_frame(self, frame: &[u8]) -> Option<&[u8]> {
        if self != Layer::Network {
            return Some(frame);
        }
        let mut start = ETHERNET;
        loop {
            match frame.get(start - 2..start)? {
                [0x08, 0x00] | [0x86, 0xdd] => return frame.get(start..).filter(|packet| !packet.is_empty()),
                [0x81, 0x00] | [0x88, 0xa8] => start += TAG,
                _ => return None,
            }
        }
    }

    /// An Ethernet frame with that packet in it: addresses are 0, the type is that of its IP version.
    pub fn framed(self, packet: &[u8]) -> Cow<'_, [u8]> {
        if self != Layer::Network {
            return packet.into();
        }
        let mut frame = vec![0; ETHERNET];
        let version = packet.first().map_or(0, |first| first >> 4);
        let ethertype: u16 = match version {
            4 => 0x0800,
            6 => 0x86dd,
            // For experiments (IEEE 802 § 9.2.4): no protocol of the kernel's.
            _ => 0x88b5,
        };
        frame[ETHERNET - 2..].copy_from_slice(&ethertype.to_be_bytes());
        frame.extend(packet);
        frame.into()
    }

    /// Bytes of [`Layer::framed`] in front of the packet.
    pub fn before_packet(self) -> usize {
        match self {
            Layer::Link | Layer::Socket | Layer::Event => 0,
            Layer::Network => ETHERNET,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_the_network_layer_see_ip_only() {
        let frame = |types: &[u16], rest: &[u8]| {
            let types: Vec<u8> = types.iter().flat_map(|word| word.to_be_bytes()).collect();
            [&[1; 12], types.as_slice(), rest].concat()
        };
        let seen = |types: &[u16]| Layer::Network.of_frame(&frame(types, &[0x45, 7])).map(<[u8]>::to_vec);
        assert_eq!(seen(&[0x0800]), Some(vec![0x45, 7]));
        assert_eq!(seen(&[0x88a8, 5, 0x8100, 6, 0x86dd]), Some(vec![0x45, 7]));
        assert_eq!((seen(&[0x0806]), seen(&[0x8100, 5])), (None, None));
        assert_eq!(Layer::Network.of_frame(&[0; 13]), None);
        assert_eq!(Layer::Link.of_frame(&[1]), Some([1].as_slice()));
        for packet in [[0x45, 1], [0x60, 2]] {
            let framed = Layer::Network.framed(&packet);
            assert_eq!(Layer::Network.of_frame(&framed), Some(packet.as_slice()));
            assert_eq!(framed[Layer::Network.before_packet()..], packet);
        }
    }
}
