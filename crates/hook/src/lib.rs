//! Where in the kernel handlers run, as data: a hook is a file with its row, and an entry of [`HOOKS`]. Numbers are those of
//! include/uapi/linux/bpf.h.

mod cgroup;
mod connect;
mod context;
mod layer;
pub mod lengths;
mod netfilter;
mod on_error;
mod order;
mod place;
mod queue;
mod socket;
mod tags;
pub mod targets;
mod tc;
mod trace;
mod xdp;

use std::fmt;
use std::hash;

pub use cgroup::{CGROUP_EGRESS, CGROUP_INGRESS};
pub use connect::{CONNECT_4, CONNECT_6};
pub use context::{
    Addresses, Buffers, Bytes, Connection, Context, Elsewhere, Length, Metadata, Note, Packet, Path, Peer,
    Pull, Reader, Source,
};
pub use layer::Layer;
pub use lengths::Lengths;
pub use netfilter::NETFILTER;
pub use on_error::OnError;
pub use order::{Order, Other};
pub use place::{Family, NETFILTER_POINTS, NetfilterPlace, Place, Places, Point};
pub use queue::{QUEUE, QUEUE_FROM_LINK, can_queue};
pub use socket::{MATCH, SOCKET};
pub use tags::Tags;
pub use tc::{TC_EGRESS, TC_INGRESS};
pub use trace::{KPROBE, KRETPROBE, RAW_TRACEPOINT, TRACE_HOOKS, TRACEPOINT};
pub use xdp::XDP;

/// All hooks.
pub const HOOKS: &[&Hook] = &[
    &XDP,
    &TC_INGRESS,
    &TC_EGRESS,
    &CGROUP_INGRESS,
    &CGROUP_EGRESS,
    &NETFILTER,
    &MATCH,
    &SOCKET,
    &CONNECT_4,
    &CONNECT_6,
    &RAW_TRACEPOINT,
    &TRACEPOINT,
    &KPROBE,
    &KRETPROBE,
];

/// A hook. Two are equal if their names are.
pub struct Hook {
    /// As scripts, dumps and messages have it.
    pub name: &'static str,
    /// What its programs are told apart by from those of other hooks: the section that they are in, and of hooks which have that one in
    /// common more behind it ([`Hook::section_in_objects`]).
    pub section: &'static str,
    /// `enum bpf_prog_type`.
    pub program_type: u32,
    pub context: Context,
    /// What a program can return.
    pub verdicts: &'static [Verdict],
    /// The verdict of a handler that returns nothing. Where a handler returns it, the next one is asked.
    pub default: i32,
    pub answer: Answer,
    /// What programs do for a packet whose fields they change.
    pub checksums: Checksums,
    /// How they change a packet's length, if they can.
    pub lengths: Option<Lengths>,
    /// Where it keeps VLAN tags, if not all are among a packet's bytes.
    pub tags: Option<Tags>,
    /// Functions that send packets elsewhere, or say where to, and the helper that each calls (`enum bpf_func_id`).
    pub forwards: &'static [(&'static str, u32)],
    /// What the packet begins with.
    pub layer: Layer,
    /// What its programs are attached to.
    pub places: Places,
    /// Its programs run where others of them can come in between on the same CPU: in the context of a process.
    pub is_interrupted: bool,
}

/// What the kernel is told by what a program returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A verdict, by its number.
    Verdict,
    /// How many bytes of the packet are kept: none of it or all. Handlers may say `false` and `true` for these verdicts, 0 and 1.
    Length,
}

/// How the checksum of a transport header is kept right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checksums {
    /// The packet's bytes are all there is.
    Bytes,
    /// The kernel may have left a checksum to the network card (`CHECKSUM_PARTIAL`), or keep a sum of the whole packet beside it
    /// (`CHECKSUM_COMPLETE`): a helper (`enum bpf_func_id`) knows. It takes the context, where the checksum is, 0, the difference of the
    /// bytes and flags (`BPF_F_PSEUDO_HDR` …), gives 0, and the packet's addresses are no longer valid.
    Helper(u32),
}

/// What a program can return.
pub struct Verdict {
    /// The first is what it is called in messages and counters.
    pub names: &'static [&'static str],
    pub number: i32,
    /// It needs more than its number: where the packet is to go.
    pub needs_target: bool,
    /// The packet ends here, or is none of those that are looked for.
    pub refuses: bool,
}

/// Programs of a hook that can be underway on a CPU at once, where they can be interrupted: that of a process, of another one that the CPU
/// has turned to meanwhile, and those of packets that have come in during each.
const LEVELS: u32 = 4;

/// The function that sends copies of packets: programs for those run before it returns (`bpf_clone_redirect`).
pub const CLONE: &str = "tc.clone";

/// The section of socket filters in object files, which several hooks have.
const SOCKET_FILTERS: &str = "socket";

/// No packet is longer than 2 to the power of that (`GSO_MAX_SIZE`, include/linux/netdevice.h).
const LONGEST: u32 = 20;

/// Bits for verdicts that a hook can have: the difference between its greatest and its least is below that.
pub const VERDICTS: u32 = 16;

impl Verdict {
    const fn plain(number: i32, names: &'static [&'static str]) -> Verdict {
        Verdict { names, number, needs_target: false, refuses: false }
    }

    const fn with_target(number: i32, names: &'static [&'static str]) -> Verdict {
        Verdict { names, number, needs_target: true, refuses: false }
    }

    const fn refusing(number: i32, names: &'static [&'static str]) -> Verdict {
        Verdict { names, number, needs_target: false, refuses: true }
    }

    /// What it is called in messages and counters.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

impl Hook {
    /// The hook whose programs are in that section.
    pub fn of_section(section: &str) -> Option<&'static Hook> {
        let is_of = |hook: &&Hook| {
            let name = match hook.layer {
                Layer::Event => section.split(trace::SEPARATOR).next().unwrap_or_default(),
                _ => section,
            };
            hook.section(false) == name || hook.section(true) == name
        };
        HOOKS.iter().copied().find(is_of)
    }

    /// Packets are as the wire carries them: the kernel has not put any together that are longer than an IP header can say.
    pub fn is_of_wire(&self) -> bool {
        matches!(self.context.packet, Packet::Between(_, Elsewhere::Buffers(_)))
    }

    /// The name in object files of such a section, as libbpf knows it.
    pub fn section_in_objects(section: &str) -> &str {
        if section == MATCH.section || section == SOCKET.section { SOCKET_FILTERS } else { section }
    }

    /// The helper that reads a packet's bytes from the header of the link on, or from that of IP on (`bpf_skb_load_bytes_relative`), where packets begin with the latter and programs
    /// have no addresses; it takes the context, the offset, the address, the length, and from which of the two on.
    pub fn link_reader(&self) -> Option<u32> {
        (self == &MATCH).then_some(68)
    }

    /// Where its programs are if nobody says more: there is one such place for each interface, or for each script.
    pub fn place_by_itself(&self) -> Option<Place> {
        match self.layer {
            Layer::Link => Some(Place::Interface),
            _ if self == &MATCH => Some(Place::File("".into())),
            Layer::Network | Layer::Socket | Layer::Event => None,
        }
    }

    /// By how many bits a verdict is shifted to the left to make what a program returns.
    pub fn answer_shift(&self) -> u32 {
        match self.answer {
            Answer::Verdict => 0,
            Answer::Length => LONGEST,
        }
    }

    /// Whether handlers may say `false` and `true`.
    pub fn takes_booleans(&self) -> bool {
        self.answer == Answer::Length
    }

    /// The section of programs, of such that also take frames in several buffers if wanted.
    pub fn section(&self, frags: bool) -> &'static str {
        self.buffers().filter(|_| frags).map_or(self.section, |buffers| buffers.section)
    }

    /// How frames in several buffers are reached, if there are any.
    pub fn buffers(&self) -> Option<Buffers> {
        match self.context.packet {
            Packet::Between(_, Elsewhere::Buffers(buffers)) => Some(buffers),
            _ => None,
        }
    }

    /// How all of a packet gets between start and end, where it need not be.
    pub fn pull(&self) -> Option<Pull> {
        match self.context.packet {
            Packet::Between(_, Elsewhere::Pages(pull)) => Some(pull),
            _ => None,
        }
    }

    /// What copies a packet, where its bytes are not in memory.
    pub fn copied(&self) -> Option<Reader> {
        match self.context.packet {
            Packet::Copied(reader) => Some(reader),
            Packet::Between(..) => None,
        }
    }

    /// Programs of it that can be underway on a CPU at once; where handlers send copies (`clones`), programs for those come in between, too.
    pub fn levels(&self, clones: bool) -> u32 {
        if self.is_interrupted || clones && self.forward(CLONE).is_some() { LEVELS } else { 1 }
    }

    /// Whether there are packets at all.
    pub fn has_packet(&self) -> bool {
        self.copied().is_none_or(|reader| !matches!(reader.bytes, Bytes::Nothing))
    }

    /// Whether handlers are told of what happens in the kernel, and decide nothing.
    pub fn is_trace(&self) -> bool {
        self.layer == Layer::Event
    }

    /// Whether handlers can change packets.
    pub fn can_write(&self) -> bool {
        self.copied().is_none_or(|reader| reader.store.is_some())
    }

    /// The verdict that takes a packet where a helper was told (`bpf_redirect`), if there is one.
    pub fn redirect(&self) -> Option<i32> {
        self.verdicts.iter().find(|verdict| verdict.needs_target).map(|verdict| verdict.number)
    }

    /// What the kernel keeps under that name beside packets here.
    pub fn metadata(&self, name: &str) -> Option<&'static Metadata> {
        self.context.metadata.iter().find(|metadata| metadata.name == name)
    }

    /// The helper that a function calls which sends packets elsewhere, or says where to, if it can here.
    pub fn forward(&self, function: &str) -> Option<u32> {
        self.forwards.iter().find(|(name, _)| *name == function).map(|(_, helper)| *helper)
    }

    /// Whether a packet ends here by that verdict, or is none of those that are looked for.
    pub fn refuses(&self, verdict: i32) -> bool {
        self.verdicts.iter().any(|known| known.number == verdict && known.refuses)
    }

    /// The name of a verdict.
    pub fn verdict(&self, number: i32) -> Option<&'static str> {
        self.verdicts.iter().find(|verdict| verdict.number == number).map(Verdict::name)
    }

    /// The number of a verdict that a person can ask for, by one of its names in any case.
    pub fn plain_verdict(&self, name: &str) -> Option<i32> {
        let mut plain = self.verdicts.iter().filter(|verdict| !verdict.needs_target);
        let is_meant = |verdict: &&Verdict| verdict.names.iter().any(|own| own.eq_ignore_ascii_case(name));
        plain.find(is_meant).map(|verdict| verdict.number)
    }

    /// The names of all verdicts with their numbers, as constants for scripts.
    pub fn constants(&self) -> impl Iterator<Item = (&'static str, i32)> {
        let named = |verdict: &'static Verdict| verdict.names.iter().map(|name| (*name, verdict.number));
        self.verdicts.iter().flat_map(named)
    }

    /// The least verdict.
    pub fn least(&self) -> i32 {
        self.verdicts.iter().map(|verdict| verdict.number).min().unwrap_or(0)
    }

    /// The greatest verdict.
    pub fn greatest(&self) -> i32 {
        self.verdicts.iter().map(|verdict| verdict.number).max().unwrap_or(0)
    }

    /// The bits that verdicts consist of, where every number of these bits is one: masked so, the verifier sees that a program returns nothing
    /// else, as some hooks want it (`check_return_code`, kernel/bpf/verifier.c).
    pub fn mask(&self) -> Option<i32> {
        let greatest = self.greatest();
        let is_whole = self.least() == 0 && (greatest + 1).count_ones() == 1;
        (is_whole && self.bits().count_ones() == greatest.unsigned_abs() + 1).then_some(greatest)
    }

    /// The verdicts, as bits: that of verdict `v` is `1 << (v - least)`.
    pub fn bits(&self) -> u32 {
        self.verdicts.iter().map(|verdict| 1 << (verdict.number - self.least())).sum()
    }
}

impl PartialEq for Hook {
    fn eq(&self, other: &Hook) -> bool {
        self.name == other.name
    }
}

impl Eq for Hook {}

impl hash::Hash for Hook {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_apart_and_have_their_own_verdicts() {
        for (number, hook) in HOOKS.iter().enumerate() {
            assert!(hook.verdict(hook.default).is_some() && hook.verdict(hook.greatest() + 1).is_none());
            assert!(hook.plain_verdict("pass").is_some());
            assert!(hook.greatest() - hook.least() < VERDICTS as i32);
            assert_eq!(hook.bits().count_ones() as usize, hook.verdicts.len());
            for section in [hook.section(false), hook.section(true)] {
                assert_eq!(Hook::of_section(section), Some(*hook));
            }
            assert!(HOOKS[..number].iter().all(|other| other != hook && other.section != hook.section));
        }
        assert_eq!((XDP.mask(), TC_EGRESS.mask(), CGROUP_EGRESS.mask()), (None, None, Some(1)));
        assert_eq!(Hook::of_section("license"), None);
        assert_eq!([&XDP, &TC_INGRESS, &NETFILTER].map(Hook::redirect), [Some(4), Some(7), None]);
        assert_eq!((XDP.plain_verdict("Drop"), XDP.plain_verdict("redirect")), (Some(1), None));
    }
}
