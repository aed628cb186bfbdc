//! The common header of SCTP (RFC 9260 § 3.1).

use super::bytes::{u16_at, u32_at};
use super::frame::Frame;
use super::ip;
use super::row::{Field, Protocol, View};
use super::value::Value;

const NUMBER: u8 = 132;
const LENGTH: usize = 12;

pub const PROTOCOL: Protocol = Protocol {
    name: "sctp",
    view: View::Header {
        present: |frame| find(frame).is_some(),
        fields: &[
            Field { name: "sport", read: |frame| Value::integer(u16_at(find(frame)?, 0)?) },
            Field { name: "dport", read: |frame| Value::integer(u16_at(find(frame)?, 2)?) },
            Field { name: "vtag", read: |frame| Value::integer(u32_at(find(frame)?, 4)?) },
            Field { name: "checksum", read: |frame| Value::integer(u32_at(find(frame)?, 8)?) },
        ],
        assignments: &[],
    },
};

fn find(frame: Frame<'_>) -> Option<&[u8]> {
    let start = ip::find(frame)?.transport(NUMBER)?;
    frame.bytes.get(start..start + LENGTH)
}
