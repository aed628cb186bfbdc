//! Packets of netfilter that a process decides about (NFQUEUE, net/netfilter/nfnetlink_queue.c): no programs of the kernel run there, and packets can
//! be changed.

use crate::{
    Answer, Bytes, Checksums, Context, Hook, Layer, Metadata, NETFILTER, Packet, Places, Reader, Verdict,
};

/// Numbers that come with a packet: there is no context that has them.
const METADATA: &[Metadata] = &[Metadata::read("mark", 0), Metadata::read("ifindex", 0)];

const CONTEXT: Context = Context {
    structure: "",
    packet: Packet::Copied(Reader { bytes: Bytes::Dynptr { packet: 0 }, store: Some(0) }),
    metadata: METADATA,
    peer: None,
    note: None,
    connection: None,
};

/// What a process can say of a packet there. `QUEUE` hands it on to the queue with number 0.
pub const QUEUE: Hook = Hook {
    name: "netfilter.queue",
    section: "",
    program_type: 0,
    context: CONTEXT,
    verdicts: &[
        Verdict::refusing(0, &["DROP"]),
        Verdict::plain(1, &["ACCEPT", "PASS"]),
        Verdict::plain(3, &["QUEUE"]),
    ],
    default: 1,
    answer: Answer::Verdict,
    checksums: Checksums::Bytes,
    lengths: None,
    tags: None,
    forwards: &[],
    layer: Layer::Network,
    places: Places::Netfilter,
    is_interrupted: false,
};

/// The same packets, from their links' headers on.
pub const QUEUE_FROM_LINK: Hook = Hook { layer: Layer::Link, ..QUEUE };

/// Whether handlers of that hook can have a queue instead.
pub fn can_queue(hook: &Hook) -> bool {
    *hook == NETFILTER
}
