//! XDP: frames as the driver has received them (`enum xdp_action`, `struct xdp_md`).

use crate::{Context, Hook};

pub const XDP: Hook = Hook {
    name: "xdp",
    section: "xdp",
    section_for_frags: Some("xdp.frags"),
    program_type: 6,
    context: Context { structure: "xdp_md", start: 0, end: 4 },
    verdicts: &["ABORTED", "DROP", "PASS", "TX", "REDIRECT"],
    pass: 2,
    with_targets: 1,
};
