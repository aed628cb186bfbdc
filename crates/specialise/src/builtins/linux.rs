//! `require "linux"`: time and random numbers of the kernel, with Lunatik's names.

use super::call::{Call, Row, row};
use crate::clock::Clock;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::value::{Abs, Word};
use moonhook_ir::helper;
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};

pub const ROWS: &[Row] = &[
    row("linux.time", |context, _| {
        let now = context.time(Clock::Tai);
        context.only(Abs::Int(now))
    }),
    row("linux.monotonic", |context, _| {
        let now = context.now();
        context.only(Abs::Int(now))
    }),
    row("linux.difftime", |context, call| {
        let (later, earlier) = (call.integer(context, 1)?, call.integer(context, 2)?);
        let difference = context.sub(later, earlier);
        context.only(Abs::Int(difference))
    }),
    row("linux.random", random),
];

fn random(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let (high, low) =
        (context.helper(helper::GET_PRANDOM_U32, &[]), context.helper(helper::GET_PRANDOM_U32, &[]));
    let high = context.shl(high, 32);
    let bits = context.binary(BinaryOp::Or, high, low);
    let mut arms = Vec::new();
    for count in 0..=2 {
        let exactly = context.compare(CompareOp::Eq, call.count(context), count);
        let (this, others) = context.split(exactly);
        context.state = this;
        if context.state.alive() {
            arms.extend(match count {
                0 => context.only(Abs::Int(bits))?,
                1 => {
                    let last = call.integer(context, 1)?;
                    within(context, call, bits, Word::Imm(1), last)?
                }
                _ => {
                    let (first, last) = (call.integer(context, 1)?, call.integer(context, 2)?);
                    within(context, call, bits, first, last)?
                }
            });
        }
        context.state = others;
    }
    if context.state.alive() {
        context.fail(Message::new("wrong number of arguments"));
    }
    Ok(arms)
}

/// `bits` reduced to `first … last`.
fn within(context: &mut Context<'_>, call: &Call, bits: Word, first: Word, last: Word) -> Result<Vec<Arm>> {
    let empty = context.compare(CompareOp::SGt, first, last);
    context.fail_if(empty, |context| call.argument_error(context, 1, "interval is empty"));
    let distance = context.sub(last, first);
    let too_large = context.compare(CompareOp::UGe, distance, i64::MAX);
    context.fail_if(too_large, |context| call.argument_error(context, 1, "interval too large"));
    let size = context.add(distance, 1);
    let offset = context.binary(BinaryOp::UMod, bits, size);
    let value = context.add(first, offset);
    context.only(Abs::Int(value))
}
