//! Netfilter: packets at the points of the network stack where firewalls look at them (`BPF_PROG_TYPE_NETFILTER`,
//! net/netfilter/nf_bpf_link.c). Such programs see packets from the IP header on, accept or drop them, and cannot change them.

use crate::{Answer, Bytes, Checksums, Context, Hook, Layer, Packet, Reader, Verdict};

/// `struct bpf_nf_ctx`: the address of the hook's state, and that of the `struct sk_buff`.
const CONTEXT: Context = Context {
    structure: "bpf_nf_ctx",
    packet: Packet::Copied(Reader { bytes: Bytes::Dynptr { packet: 8 }, store: None }),
    metadata: &[],
    peer: None,
};

/// What locally made packets are dropped with is an error (`EPERM`) to who has sent them.
pub const NETFILTER: Hook = Hook {
    name: "netfilter",
    section: "netfilter",
    program_type: 32,
    context: CONTEXT,
    verdicts: &[Verdict::plain(0, &["DROP"]), Verdict::plain(1, &["ACCEPT", "PASS"])],
    default: 1,
    answer: Answer::Verdict,
    checksums: Checksums::Bytes,
    lengths: None,
    tags: None,
    forwards: &[],
    layer: Layer::Network,
    is_interrupted: true,
};
