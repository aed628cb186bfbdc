//! Packets of the processes in a control group (`BPF_PROG_TYPE_CGROUP_SKB`, kernel/bpf/cgroup.c): what their sockets are about to
//! get, and what they have sent. Such programs see packets from the IP header on and cannot change them.

use crate::context::{HWTIMESTAMP, TIMESTAMP};
use crate::{
    Answer, Bytes, Checksums, Context, Hook, Layer, Length, Metadata, Packet, Places, Reader, Verdict,
};

/// What `DROP` refuses on its way out is an error (`EPERM`) to who has sent it.
const VERDICTS: &[Verdict] = &[Verdict::refusing(0, &["DROP"]), Verdict::plain(1, &["PASS", "ALLOW"])];

/// `len` of `struct __sk_buff`, and `bpf_skb_load_bytes`. What lies between `data` and `data_end` is only the part of a packet that is not in pages
/// of its own, of TCP data often nothing.
const READER: Reader = Reader { bytes: Bytes::Helper { load: 26, length: Length::Word(0) }, store: None };

/// `struct __sk_buff`; what such programs may change, `cg_skb_is_valid_access` of net/core/filter.c says.
const METADATA: &[Metadata] = &[
    Metadata::written("mark", 8),
    Metadata::written("priority", 32),
    Metadata::read("ifindex", 40),
    Metadata::read("rxhash", 68),
    Metadata::time("timestamp", TIMESTAMP, false),
    Metadata::time("hwtimestamp", HWTIMESTAMP, false),
];

/// Packets that sockets in the group are about to get.
pub const CGROUP_INGRESS: Hook = hook("cgroup.ingress", "cgroup_skb/ingress");

/// Packets that sockets in the group have sent.
pub const CGROUP_EGRESS: Hook = hook("cgroup.egress", "cgroup_skb/egress");

const fn hook(name: &'static str, section: &'static str) -> Hook {
    Hook {
        name,
        section,
        program_type: 8,
        context: Context {
            structure: "__sk_buff",
            packet: Packet::Copied(READER),
            metadata: METADATA,
            peer: None,
            note: None,
            connection: None,
        },
        verdicts: VERDICTS,
        default: 1,
        answer: Answer::Verdict,
        checksums: Checksums::Bytes,
        lengths: None,
        tags: None,
        forwards: &[],
        layer: Layer::Network,
        places: Places::Cgroups,
        is_interrupted: true,
    }
}
