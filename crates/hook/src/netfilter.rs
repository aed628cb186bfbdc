//! Netfilter: packets at the points of the network stack where firewalls look at them (`BPF_PROG_TYPE_NETFILTER`,
//! net/netfilter/nf_bpf_link.c). Such programs see packets from the IP header on, accept or drop them, and cannot change them.

use crate::{
    Answer, Bytes, Checksums, Connection, Context, Hook, Layer, Metadata, Packet, Path, Places, Reader,
    Verdict,
};

/// Where `struct bpf_nf_ctx` has the address of the `struct nf_hook_state`, and that of the packet.
const STATE: i16 = 0;
const SKB: i16 = 8;

const METADATA: &[Metadata] = &[
    Metadata::of_structures("mark", &[of_packet(&["sk_buff.mark"])]),
    Metadata::of_structures("queue", &[of_packet(&["sk_buff.queue_mapping"])]),
    Metadata::of_structures("priority", &[of_packet(&["sk_buff.priority"])]),
    Metadata::of_structures(
        "ifindex",
        &[
            Path { at: STATE, fields: &["nf_hook_state.in", "net_device.ifindex"] },
            Path { at: STATE, fields: &["nf_hook_state.out", "net_device.ifindex"] },
        ],
    ),
    Metadata::of_structures("rxhash", &[of_packet(&["sk_buff.hash"])]),
    Metadata::of_structures("timestamp", &[of_packet(&["sk_buff.tstamp"])]),
];

const fn of_packet(fields: &'static [&'static str]) -> Path {
    Path { at: SKB, fields }
}

/// `struct bpf_nf_ctx`: the address of the hook's state, and that of the `struct sk_buff`.
const CONTEXT: Context = Context {
    structure: "bpf_nf_ctx",
    packet: Packet::Copied(Reader { bytes: Bytes::Dynptr { packet: SKB }, store: None }),
    metadata: METADATA,
    peer: None,
    note: None,
    connection: Some(Connection::OfPacket(SKB)),
};

/// What locally made packets are dropped with is an error (`EPERM`) to who has sent them.
pub const NETFILTER: Hook = Hook {
    name: "netfilter",
    section: "netfilter",
    program_type: 32,
    context: CONTEXT,
    verdicts: &[Verdict::refusing(0, &["DROP"]), Verdict::plain(1, &["ACCEPT", "PASS"])],
    default: 1,
    answer: Answer::Verdict,
    checksums: Checksums::Bytes,
    lengths: None,
    tags: None,
    forwards: &[],
    layer: Layer::Network,
    places: Places::Netfilter,
    is_interrupted: true,
};
