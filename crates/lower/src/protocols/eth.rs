//! `pkt.eth`: the Ethernet header.

use super::header::{Field, Protocol};
use super::link;
use crate::context::{Context, Result};
use crate::value::{Abs, Str, Word};
use crate::ways::Arm;
use moonhook_ir::words::Words;
use moonhook_ir::{BinaryOp, Size};

pub const PROTOCOL: Protocol = Protocol {
    name: "eth",
    find: |context| {
        let (_, outside) = context.locate(Word::Imm(0), link::ETHERNET);
        let state = context.take_state();
        let mut arms = vec![Arm { state, values: vec![Abs::Object(crate::value::Object::Header("eth"))] }];
        arms.extend(outside.into_iter().map(|state| Arm { state, values: vec![Abs::Nil] }));
        Ok(arms)
    },
    fields: &[
        Field { name: "dst", read: |context| mac(context, 0) },
        Field { name: "src", read: |context| mac(context, 6) },
        Field {
            name: "type",
            read: |context| {
                let word = context.header_field(Word::Imm(0), 12, Size::B2, link::ETHERNET)?;
                context.only(Abs::Int(word))
            },
        },
    ],
};

/// Six bytes as a number of 48 bits.
fn mac(context: &mut Context<'_>, at: i64) -> Result<Vec<Arm>> {
    let high = context.header_field(Word::Imm(0), at, Size::B4, link::ETHERNET)?;
    let low = context.header_field(Word::Imm(0), at + 4, Size::B2, link::ETHERNET)?;
    let high = context.shl(high, 16);
    let word = context.binary(BinaryOp::Or, high, low);
    context.only(Abs::Str(Str::Mac(word)))
}
