//! XDP: frames as the driver has received them (`enum xdp_action`, `struct xdp_md`).

use crate::{
    Addresses, Answer, Buffers, Bytes, Checksums, Connection, Context, Elsewhere, Hook, Layer, Length,
    Lengths, Metadata, Note, Packet, Places, Reader, Verdict,
};

/// `bpf_xdp_get_buff_len`, `bpf_xdp_load_bytes` and `bpf_xdp_store_bytes`.
const READER: Reader =
    Reader { bytes: Bytes::Helper { load: 189, length: Length::Helper(188) }, store: Some(190) };
const BUFFERS: Buffers = Buffers { section: "xdp.frags", reader: READER };

const PACKET: Packet = Packet::Between(Addresses { start: 0, end: 4 }, Elsewhere::Buffers(BUFFERS));

pub const XDP: Hook = Hook {
    name: "xdp",
    section: "xdp",
    program_type: 6,
    context: Context {
        structure: "xdp_md",
        packet: PACKET,
        metadata: &[Metadata::read("ifindex", 12), Metadata::read("queue", 16)],
        peer: None,
        // `data_meta`, `bpf_xdp_adjust_meta`.
        note: Some(Note { start: 8, adjust: Some(54) }),
        connection: Some(Connection::Lookup("bpf_xdp_ct_lookup")),
    },
    verdicts: &[
        Verdict::refusing(0, &["ABORTED"]),
        Verdict::refusing(1, &["DROP"]),
        Verdict::plain(2, &["PASS"]),
        Verdict::plain(3, &["TX"]),
        Verdict::with_target(4, &["REDIRECT"]),
    ],
    default: 2,
    answer: Answer::Verdict,
    checksums: Checksums::Bytes,
    // `bpf_xdp_adjust_head`, `bpf_xdp_adjust_tail`.
    lengths: Some(Lengths::Ends { head: 44, tail: 65 }),
    tags: None,
    // `bpf_redirect`, `bpf_redirect_map`, `bpf_fib_lookup`.
    forwards: &[("redirect", 23), (crate::targets::TO_MAP, 51), ("data.route", 69)],
    layer: Layer::Link,
    places: Places::Interfaces,
    is_interrupted: false,
};
