//! How programs make packets longer and shorter. Numbers of helpers are those of `enum bpf_func_id` (include/uapi/linux/bpf.h).

/// What a hook's programs have for it. Behind each of these helpers the packet's addresses are no longer valid; they give 0, or else have
/// changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lengths {
    /// Helpers move the first and the last byte of a frame; each takes the context and by how many bytes, to the back. What is new in front is
    /// whatever was there, at the end zeros.
    Ends { head: u32, tail: u32 },
    /// The packet is one of the network stack.
    Stack {
        /// Takes the context, the length that the packet is to have, and 0. What is new is zeros.
        tail: u32,
        /// Takes the context, how many bytes the packet is to have more, where ([`AFTER_LINK`]), and flags. Only for IP packets.
        room: u32,
        /// Where the context has the length of the segments that the kernel is still to cut the packet into, 0 for none: a word of 32 bits. The
        /// helper for the tail makes it forget that.
        segment: i16,
    },
}

/// Room is made, and taken away, behind the link's header (`BPF_ADJ_ROOM_MAC`); what is new is zeros.
pub const AFTER_LINK: i64 = 1;

/// Flags for that helper, by the version of the outer header that is put there (`BPF_F_ADJ_ROOM_ENCAP_L3_IPV4`, `…_IPV6`), or of the inner one
/// that is left (`BPF_F_ADJ_ROOM_DECAP_L3_IPV4`, `…_IPV6`).
pub const ENCAP: [i64; 2] = [1 << 1, 1 << 2];
pub const DECAP: [i64; 2] = [1 << 7, 1 << 8];

/// Flags for what is behind the outer header: GRE or UDP (`BPF_F_ADJ_ROOM_ENCAP_L4_GRE`, `…_UDP`), and a frame with an Ethernet header
/// (`BPF_F_ADJ_ROOM_ENCAP_L2_ETH`, `…_ENCAP_L2(14)`).
pub const ENCAP_GRE: i64 = 1 << 3;
pub const ENCAP_UDP: i64 = 1 << 4;
pub const ENCAP_ETHERNET: i64 = 1 << 6 | LEAST << 56;

/// The most bytes of it at once (`bpf_skb_adjust_room`, net/core/filter.c).
pub const MOST_ROOM: i64 = 0xfff;

/// The fewest bytes that a frame can have: those of an Ethernet header.
pub const LEAST: i64 = 14;
