//! The packet while a program has it: what of its buffer is the packet, and the context that says so (`struct xdp_md`).

use crate::memory::{Address, Region};

/// What is free before a packet (`XDP_PACKET_HEADROOM`), of which the kernel keeps some for itself (`struct xdp_frame`).
const HEADROOM: usize = 256;
const KEPT: usize = 40;
/// The packet, and what is free after it: a page without the headroom and `struct skb_shared_info`.
const LENGTH: usize = 4096 - HEADROOM - 320;
/// `ETH_HLEN`: no packet becomes shorter.
const SHORTEST: usize = 14;

/// A packet, from its Ethernet header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// After a call, as the function has left them.
    pub bytes: Vec<u8>,
    pub ingress_ifindex: u32,
    pub rx_queue_index: u32,
    /// How many bytes calls have put before the packet (`bpf_xdp_adjust_head`), and how many behind it (`bpf_xdp_adjust_tail`); less than
    /// zero where they took some away. They count together: there are 256 bytes before a packet.
    pub head: i64,
    pub tail: i64,
}

pub(crate) struct Frame {
    buffer: Vec<u8>,
    /// Where the packet begins and ends in the buffer.
    pub data: usize,
    end: usize,
    /// Where it began and ended at first.
    before: (usize, usize),
    ingress_ifindex: u32,
    rx_queue_index: u32,
}

impl Frame {
    /// What earlier calls have added to the packet is taken off what is free around it.
    pub fn new(packet: &Packet) -> Frame {
        let used = usize::try_from(packet.head).unwrap_or(0).min(HEADROOM);
        let removed = usize::try_from(packet.head.saturating_neg()).unwrap_or(0).min(LENGTH);
        let data = HEADROOM - used + removed;
        let end = data + packet.bytes.len();
        let mut buffer = vec![0; end.max(HEADROOM + LENGTH)];
        buffer[data..end].copy_from_slice(&packet.bytes);
        Frame {
            buffer,
            data,
            end,
            before: (data, end),
            ingress_ifindex: packet.ingress_ifindex,
            rx_queue_index: packet.rx_queue_index,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.data..self.end]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.data..self.end]
    }

    /// A field of the context, of which there are only whole ones. The packet's addresses are whole, too, though the fields have 32 bits: that
    /// is how the verifier rewrites such a load.
    pub fn field(&self, offset: usize, size: usize) -> Option<u64> {
        let packet = |offset: usize| Address::new(Region::Packet, offset as u32).0;
        match (offset, size) {
            (0 | 8, 4) => Some(packet(self.data)),
            (4, 4) => Some(packet(self.end)),
            (12, 4) => Some(u64::from(self.ingress_ifindex)),
            (16, 4) => Some(u64::from(self.rx_queue_index)),
            _ => None,
        }
    }

    /// `bpf_xdp_adjust_head`: whether there is room for it.
    pub fn adjust_head(&mut self, delta: i32) -> bool {
        let start = self.data.saturating_add_signed(delta as isize);
        let is_possible = start >= KEPT && start + SHORTEST <= self.end;
        if is_possible {
            self.data = start;
        }
        is_possible
    }

    /// `bpf_xdp_adjust_tail`: what is added is zero.
    pub fn adjust_tail(&mut self, delta: i32) -> bool {
        let end = self.end.saturating_add_signed(delta as isize);
        let has_room = delta <= 0 || end <= HEADROOM + LENGTH;
        let is_possible = has_room && end >= self.data + SHORTEST;
        if is_possible {
            self.buffer[self.end.min(end)..end].fill(0);
            self.end = end;
        }
        is_possible
    }

    /// Gives the packet what was done to it.
    pub fn finish(self, packet: &mut Packet) {
        let (data, end) = self.before;
        packet.head = packet.head.saturating_add(data as i64 - self.data as i64);
        packet.tail = packet.tail.saturating_add(self.end as i64 - end as i64);
        packet.bytes.clear();
        packet.bytes.extend_from_slice(self.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_grow_and_shrink_at_both_ends() {
        let mut packet = Packet { bytes: (0..60).collect(), ..Packet::default() };
        let mut frame = Frame::new(&packet);
        assert!(!frame.adjust_head(47) && frame.adjust_head(46) && !frame.adjust_head(1));
        assert!(!frame.adjust_head(i32::MIN) && !frame.adjust_head(i32::MAX));
        assert!(frame.adjust_head(-50) && !frame.adjust_tail(-51) && frame.adjust_tail(-2));
        assert!(!frame.adjust_tail(i32::MIN) && !frame.adjust_tail(i32::MAX));
        frame.finish(&mut packet);
        assert_eq!((packet.head, packet.tail, packet.bytes.len()), (4, -2, 62));
        assert_eq!(packet.bytes[..8], [0, 0, 0, 0, 0, 1, 2, 3]);

        let mut frame = Frame::new(&packet);
        assert!(!frame.adjust_head(-213) && frame.adjust_head(-212) && frame.adjust_tail(3));
        frame.finish(&mut packet);
        assert_eq!((packet.head, packet.tail, packet.bytes.len()), (216, 1, 277));
        assert_eq!(packet.bytes[274..], [0, 0, 0]);
    }

    #[test]
    fn long_packets_have_no_room_behind_them() {
        let mut packet = Packet { bytes: vec![1; 9000], ..Packet::default() };
        let mut frame = Frame::new(&packet);
        assert!(!frame.adjust_tail(1) && frame.adjust_tail(-1) && frame.adjust_head(-10));
        frame.finish(&mut packet);
        assert_eq!((packet.head, packet.tail, packet.bytes.len()), (10, -1, 9009));
    }
}
