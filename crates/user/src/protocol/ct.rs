//! `pkt.ct`: connections that the kernel tracks. User space knows of none.

use super::assign::{Assignment, Takes};
use super::row::{Field, Protocol, View};

pub const PROTOCOL: Protocol = Protocol {
    name: "ct",
    view: View::Header {
        present: |_| false,
        fields: &[
            Field { name: "state", read: |_| None },
            Field { name: "reply", read: |_| None },
            Field { name: "status", read: |_| None },
            Field { name: "mark", read: |_| None },
        ],
        assignments: &[Assignment { name: "mark", takes: Takes::Number(32), place: |_| None }],
    },
};
