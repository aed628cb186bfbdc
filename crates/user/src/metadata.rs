//! What the kernel keeps beside a packet, as a test run of the kernel has it for a packet that it has just made: it comes in by the loopback
//! interface, and nobody has marked it (`bpf_prog_test_run_skb`, `bpf_prog_test_run_xdp` of net/bpf/test_run.c).

use crate::protocol::Peer;
use crate::protocol::{Frame, eth};
use moonhook_hook::{Hook, Layer, Source};

/// All that some hook has.
const NAMES: [&str; 7] = ["ifindex", "mark", "priority", "queue", "rxhash", "timestamp", "hwtimestamp"];

/// Bits of a number that can be assigned.
pub fn bits(place: usize) -> u32 {
    if NAMES[place] == "timestamp" { 63 } else { 32 }
}

/// The loopback interface's number.
const LOOPBACK: i64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The numbers that scripts see, in the order of [`NAMES`].
    numbers: [i64; NAMES.len()],
    /// The type of an Ethernet frame when it came to the hook, which the kernel remembers; 0 of others.
    pub ethertype: u16,
    /// The kernel knows that the packet is inside another one.
    pub is_inside: bool,
    /// Bytes that were put before the packet, or into it: at XDP they take what is free in front. Less than 0 where some were taken away.
    pub head: i64,
    /// The VLAN tag beside the packet.
    pub tag: Option<Tag>,
    /// What handlers have put in front of the packet (`pkt.meta`).
    pub note: Option<Note>,
    /// Whom a socket is about to be connected with, where programs are asked about that.
    pub peer: Option<Peer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    Integer(i64),
    /// The Lua state has it: one, since it has handlers run for one packet at a time.
    Record,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// 0x8100 or 0x88a8.
    pub kind: u16,
    /// 3 bits priority, 1 bit drop-eligible, 12 bits id.
    pub control: u16,
}

impl Default for Metadata {
    fn default() -> Self {
        let numbers = NAMES.map(|name| if name == "ifindex" { LOOPBACK } else { 0 });
        Metadata { numbers, ethertype: 0, is_inside: false, head: 0, tag: None, note: None, peer: None }
    }
}

/// Whether packets have such a field at some hook.
pub fn is_known(name: &[u8]) -> bool {
    NAMES.iter().any(|known| known.as_bytes() == name)
}

impl Metadata {
    /// That of a packet which comes to a hook.
    pub fn of(packet: Frame<'_>) -> Metadata {
        let ethertype = match packet.layer {
            Layer::Link => eth::ethertype(packet).unwrap_or(0),
            Layer::Network | Layer::Socket | Layer::Event => 0,
        };
        Metadata { ethertype, ..Metadata::default() }
    }

    /// That of a frame which has come in by a queue of an interface.
    pub fn received(interface: u32, queue: u32) -> Metadata {
        let of = |name| match name {
            "ifindex" => i64::from(interface),
            "queue" => i64::from(queue),
            _ => 0,
        };
        Metadata { numbers: NAMES.map(of), ..Metadata::default() }
    }

    /// The same with a mark.
    pub fn marked(mut self, mark: u32) -> Metadata {
        let place = NAMES.iter().position(|name| *name == "mark");
        place.iter().for_each(|place| self.numbers[*place] = mark.into());
        self
    }

    /// What the hook has under that name.
    pub fn get(&self, hook: &Hook, name: &[u8]) -> Option<i64> {
        let index = NAMES.iter().position(|known| known.as_bytes() == name)?;
        hook.metadata(NAMES[index]).map(|metadata| match metadata.source {
            Source::Word { .. } => self.numbers[index],
            // Such a test run has no interface either (`bpf_prog_test_run_nf`).
            Source::Structures(_) => 0,
        })
    }

    /// Which of the numbers a hook's programs change under that name, if they can.
    pub fn place(&self, hook: &Hook, name: &[u8]) -> Option<usize> {
        let index = NAMES.iter().position(|known| known.as_bytes() == name)?;
        hook.metadata(NAMES[index]).filter(|metadata| metadata.is_written()).map(|_| index)
    }

    /// Changes it. The kernel keeps queues in 16 bits, and leaves out what would not fit or stands for none (`NO_QUEUE_MAPPING`,
    /// include/linux/skbuff.h; `bpf_convert_ctx_access`, net/core/filter.c).
    pub fn set(&mut self, place: usize, number: i64) {
        let is_kept = NAMES[place] != "queue" || number < i64::from(u16::MAX);
        if is_kept {
            self.numbers[place] = number;
        }
    }
}
