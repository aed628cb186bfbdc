//! `pkt.icmp`: ICMP (RFC 792) and ICMPv6 (RFC 4443).

use super::header::{Field, Protocol};
use super::transport;
use crate::context::{Context, Result};
use crate::value::{Abs, Word};
use crate::ways::Arm;
use moonhook_ir::Size;

/// Bytes of the header, with identifier and sequence number.
pub const LENGTH: u32 = 8;

pub const PROTOCOL: Protocol = Protocol {
    name: "icmp",
    find: |context| context.header_arms("icmp", parse),
    fields: &[
        Field { name: "type", read: |c| field(c, 0, Size::B1) },
        Field { name: "code", read: |c| field(c, 1, Size::B1) },
        Field { name: "checksum", read: |c| field(c, 2, Size::B2) },
        Field { name: "id", read: |c| field(c, 4, Size::B2) },
        Field { name: "seq", read: |c| field(c, 6, Size::B2) },
    ],
};

/// Words: is it there, where it starts.
pub fn parse(context: &mut Context<'_>) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    if let Some((start, _)) = transport::locate(context, [1, 58], LENGTH, &mut arms)? {
        let state = context.take_state();
        arms.push(Arm { state, values: [Word::Imm(1), start].map(Abs::Int).to_vec() });
    }
    Ok(arms)
}

fn field(context: &mut Context<'_>, at: i64, size: Size) -> Result<Vec<Arm>> {
    let words = context.known_header("icmp", parse)?;
    let word = context.header_field(words[1], at, size, LENGTH)?;
    context.only(Abs::Int(word))
}
