//! `pkt.udp` (RFC 768).

use super::header::{Field, Protocol};
use super::transport;
use crate::context::{Context, Result};
use crate::value::{Abs, Word};
use crate::ways::Arm;
use moonhook_ir::Size;

/// Bytes of the header.
pub const LENGTH: u32 = 8;

pub const PROTOCOL: Protocol = Protocol {
    name: "udp",
    find: |context| context.header_arms("udp", parse),
    fields: &[
        Field { name: "sport", read: |c| field(c, 0) },
        Field { name: "dport", read: |c| field(c, 2) },
        Field { name: "length", read: |c| field(c, 4) },
        Field { name: "checksum", read: |c| field(c, 6) },
    ],
};

/// Words: is it there, where it starts.
pub fn parse(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    if let Some((start, _)) = transport::locate(context, [17, 17], LENGTH, &mut arms)? {
        let state = context.take_state();
        arms.push(Arm { state, values: [Word::Imm(1), start].map(Abs::Int).to_vec() });
    }
    Ok(arms)
}

fn field(context: &mut Context<'_>, at: i64) -> Result<Vec<Arm>> {
    let words = context.known_header("udp", parse)?;
    let word = context.header_field(words[1], at, Size::B2, LENGTH)?;
    context.only(Abs::Int(word))
}
