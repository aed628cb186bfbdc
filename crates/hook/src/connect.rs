//! Connections that the processes of a control group begin (`BPF_PROG_TYPE_CGROUP_SOCK_ADDR`, net/core/filter.c): programs are asked when a
//! process calls connect(2), before anything is sent, and may send it elsewhere.

use crate::{Answer, Bytes, Checksums, Context, Hook, Layer, Packet, Peer, Places, Reader, Verdict};

/// Who is refused gets `EPERM`.
const VERDICTS: &[Verdict] = &[Verdict::refusing(0, &["DROP"]), Verdict::plain(1, &["PASS", "ALLOW"])];

/// `user_ip4`, `user_ip6`, `user_port` and `protocol` of `struct bpf_sock_addr` (include/uapi/linux/bpf.h).
pub const CONNECT_4: Hook =
    hook("cgroup.connect4", "cgroup/connect4", Peer { version: 4, address: 4, port: 24, protocol: 36 });
pub const CONNECT_6: Hook =
    hook("cgroup.connect6", "cgroup/connect6", Peer { version: 6, address: 8, port: 24, protocol: 36 });

const fn hook(name: &'static str, section: &'static str, peer: Peer) -> Hook {
    Hook {
        name,
        section,
        program_type: 18,
        context: Context {
            structure: "bpf_sock_addr",
            packet: Packet::Copied(Reader { bytes: Bytes::Nothing, store: None }),
            metadata: &[],
            peer: Some(peer),
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
        layer: Layer::Socket,
        places: Places::Cgroups,
        is_interrupted: true,
    }
}
