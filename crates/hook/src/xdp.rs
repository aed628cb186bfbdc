//! XDP: frames as the driver has received them (`enum xdp_action`, `struct xdp_md`).

use crate::{Context, Hook, Verdict};

pub const XDP: Hook = Hook {
    name: "xdp",
    section: "xdp",
    section_for_frags: Some("xdp.frags"),
    program_type: 6,
    context: Context { structure: "xdp_md", start: 0, end: 4, pull: None },
    verdicts: &[
        Verdict::plain(0, &["ABORTED"]),
        Verdict::plain(1, &["DROP"]),
        Verdict::plain(2, &["PASS"]),
        Verdict::plain(3, &["TX"]),
        Verdict::with_target(4, &["REDIRECT"]),
    ],
    pass: 2,
};
