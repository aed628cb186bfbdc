//! The integer part of the math library (Lua manual § 6.7).

use super::{Call, Row, returns, row};
use crate::code::Cond;
use crate::context::{Context, Result};
use crate::join::Arm;
use crate::value::{Abs, Word};
use moonhook_ir::CompareOp;

pub const ROWS: &[Row] = &[
    row("math.abs", |context, call| {
        let value = call.integer(context, 1)?;
        let sign = context.binary(moonhook_ir::BinaryOp::AShr, value, 63);
        let flipped = context.binary(moonhook_ir::BinaryOp::Xor, value, sign);
        let value = context.sub(flipped, sign);
        returns(context, vec![Abs::Int(value)])
    }),
    row("math.max", |context, call| extreme(context, call, CompareOp::SGt)),
    row("math.min", |context, call| extreme(context, call, CompareOp::SLt)),
    row("math.ult", |context, call| {
        let (a, b) = (call.integer(context, 1)?, call.integer(context, 2)?);
        let less = context.compare(CompareOp::ULt, a, b);
        let word = context.condition_word(less);
        returns(context, vec![Abs::Bool(word)])
    }),
    row("math.type", |context, call| {
        let name = match call.arg(1) {
            Abs::Int(_) => Abs::text("integer"),
            Abs::Float(_) => Abs::text("float"),
            _ => Abs::Nil,
        };
        returns(context, vec![name])
    }),
    row("math.tointeger", |context, call| {
        let value = match call.arg(1) {
            value @ Abs::Int(_) => value,
            _ => Abs::Nil,
        };
        returns(context, vec![value])
    }),
];

/// The first of the arguments that no other one beats.
fn extreme(context: &mut Context<'_>, call: &Call, better: CompareOp) -> Result<Vec<Arm>> {
    let mut best = call.integer(context, 1)?;
    for number in 2..=call.args.len() {
        let candidate = call.integer(context, number)?;
        let cond = context.compare(better, candidate, best);
        best = choose(context, cond, candidate, best)?;
    }
    returns(context, vec![Abs::Int(best)])
}

fn choose(context: &mut Context<'_>, cond: Cond, yes: Word, no: Word) -> Result<Word> {
    let (then, otherwise) = context.split(cond);
    let arms = vec![
        Arm { state: then, values: vec![Abs::Int(yes)] },
        Arm { state: otherwise, values: vec![Abs::Int(no)] },
    ];
    Ok(match context.join(arms)?.as_deref() {
        Some([Abs::Int(word)]) => *word,
        _ => no,
    })
}
