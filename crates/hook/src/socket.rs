//! Socket filters (`BPF_PROG_TYPE_SOCKET_FILTER`, net/core/filter.c): programs that say which packets somebody gets to see. They see
//! packets from where the one that asks has them, and cannot change them.

use crate::{
    Answer, Bytes, Checksums, Context, Hook, Layer, Length, Metadata, Packet, Places, Reader, Verdict,
};

/// `len` of `struct __sk_buff`, and `bpf_skb_load_bytes`: such programs have no addresses (`sk_filter_is_valid_access`).
const READER: Reader = Reader { bytes: Bytes::Helper { load: 26, length: Length::Word(0) }, store: None };

const METADATA: &[Metadata] = &[
    Metadata::read("mark", 8),
    Metadata::read("queue", 12),
    Metadata::read("priority", 32),
    Metadata::read("ifindex", 40),
    Metadata::read("rxhash", 68),
];

const MATCHES: [Verdict; 2] = [Verdict::refusing(0, &["MISS", "PASS"]), Verdict::plain(1, &["MATCH"])];
const KEEPS: [Verdict; 2] = [Verdict::refusing(0, &["SKIP", "PASS"]), Verdict::plain(1, &["KEEP"])];

/// Packets that a rule of iptables asks about (`-m bpf`, net/netfilter/xt_bpf.c), from the IP header on.
pub const MATCH: Hook = hook("match", "socket/match", (Layer::Network, Places::Files), &MATCHES);

/// Copies of all frames of an interface, for a raw socket (packet(7)).
pub const SOCKET: Hook = hook("socket.filter", "socket/filter", (Layer::Link, Places::Interfaces), &KEEPS);

const fn hook(
    name: &'static str,
    section: &'static str,
    (layer, places): (Layer, Places),
    verdicts: &'static [Verdict],
) -> Hook {
    Hook {
        name,
        section,
        program_type: 1,
        context: Context {
            structure: "__sk_buff",
            packet: Packet::Copied(READER),
            metadata: METADATA,
            peer: None,
            note: None,
            connection: None,
        },
        verdicts,
        default: 0,
        answer: Answer::Length,
        checksums: Checksums::Bytes,
        lengths: None,
        tags: None,
        forwards: &[],
        layer,
        places,
        is_interrupted: true,
    }
}
