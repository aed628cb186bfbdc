//! tc, through links (tcx): packets between driver and protocols, as the kernel keeps them (`struct __sk_buff`, `enum tcx_action_base` of
//! include/uapi/linux/bpf.h). Scripts may use the names of `TC_ACT_…` (include/uapi/linux/pkt_cls.h), too.

use crate::context::{HWTIMESTAMP, TIMESTAMP};
use crate::{
    Addresses, Answer, Checksums, Connection, Context, Elsewhere, Hook, Layer, Lengths, Metadata, Note,
    Packet, Places, Pull, Tags, Verdict,
};

/// `NEXT` is for the programs behind this one, and in the end for the protocols, or the driver.
const VERDICTS: &[Verdict] = &[
    Verdict::plain(-1, &["NEXT", "UNSPEC"]),
    Verdict::plain(0, &["PASS", "OK"]),
    Verdict::refusing(2, &["DROP", "SHOT"]),
    Verdict::with_target(7, &["REDIRECT"]),
];

/// `data` and `data_end` have what is not in pages of its own; `bpf_skb_pull_data` moves the rest there.
const CONTEXT: Context = Context {
    structure: "__sk_buff",
    packet: Packet::Between(
        Addresses { start: 76, end: 80 },
        Elsewhere::Pages(Pull { length: 0, helper: 39 }),
    ),
    metadata: &[
        Metadata::written("mark", 8),
        Metadata::written("queue", 12),
        Metadata::written("priority", 32),
        Metadata::read("ifindex", 40),
        Metadata::read("rxhash", 68),
        Metadata::time("timestamp", TIMESTAMP, true),
        Metadata::time("hwtimestamp", HWTIMESTAMP, false),
    ],
    peer: None,
    note: None,
    connection: Some(Connection::Lookup("bpf_skb_ct_lookup")),
};

/// `data_meta` of `struct __sk_buff`, behind which is what XDP has left. Where packets leave, other headers may have been put there.
const NOTE: Note = Note { start: 140, adjust: None };

/// `bpf_redirect`, `bpf_redirect_neigh`, `bpf_clone_redirect`, `bpf_fib_lookup`.
const REDIRECT: (&str, u32) = ("redirect", 23);
const NEIGHBOUR: (&str, u32) = ("tc.redirect_neigh", 152);
const CLONE: (&str, u32) = (crate::CLONE, 13);
const ROUTE: (&str, u32) = ("data.route", 69);

/// Packets that have come in. Only these can go to the other end of a veth pair at once (`bpf_redirect_peer`), or are to be routed.
pub const TC_INGRESS: Hook = hook(
    "tc.ingress",
    "tcx/ingress",
    Context { note: Some(NOTE), ..CONTEXT },
    &[REDIRECT, NEIGHBOUR, CLONE, ROUTE, ("tc.redirect_peer", 155)],
);

/// Packets on their way out.
pub const TC_EGRESS: Hook = hook("tc.egress", "tcx/egress", CONTEXT, &[REDIRECT, NEIGHBOUR, CLONE]);

const fn hook(
    name: &'static str,
    section: &'static str,
    context: Context,
    forwards: &'static [(&'static str, u32)],
) -> Hook {
    Hook {
        name,
        section,
        program_type: 3,
        context,
        verdicts: VERDICTS,
        default: -1,
        answer: Answer::Verdict,
        // `bpf_l4_csum_replace`.
        checksums: Checksums::Helper(11),
        // `bpf_skb_change_tail`, `bpf_skb_adjust_room`.
        lengths: Some(Lengths::Stack { tail: 38, room: 50, segment: 176 }),
        // `bpf_skb_vlan_push`, `bpf_skb_vlan_pop`.
        tags: Some(Tags { present: 20, control: 24, kind: 28, protocol: 16, push: 18, pop: 19 }),
        forwards,
        layer: Layer::Link,
        places: Places::Interfaces,
        is_interrupted: false,
    }
}
