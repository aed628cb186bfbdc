//! The integer part of the math library (Lua manual § 6.7).

use super::number::of_text;
use super::{Call, Row, returns, row};
use crate::code::Cond;
use crate::context::{Context, Result};
use crate::join::Arm;
use crate::ops::integral;
use crate::value::{Abs, Word};
use moonhook_ir::CompareOp;

pub const ROWS: &[Row] = &[
    row("math.ceil", |context, call| rounded(context, call, f64::ceil)),
    row("math.floor", |context, call| rounded(context, call, f64::floor)),
    row("math.abs", |context, call| {
        if let Abs::Float(x) = call.arg(1) {
            return returns(context, vec![Abs::Float(x.abs())]);
        }
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
    row("math.tointeger", to_integer),
];

/// What is no number and no numeral gives nil, but no argument is an error (`math_toint` in lmathlib.c).
fn to_integer(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if call.args.is_empty() {
        context.type_error(call.bad_argument(1, "value expected"), true, Some("tointeger"));
        return Ok(vec![]);
    }
    let value = match call.arg(1) {
        value @ Abs::Int(_) => value,
        Abs::Float(x) => integral(x).map_or(Abs::Nil, Abs::int),
        Abs::Str(text) => return of_text(context, &text),
        _ => Abs::Nil,
    };
    returns(context, vec![value])
}

/// `math.floor` and `math.ceil` of an integer, which is itself, or of a float, which is known now (`math_floor` in lmathlib.c).
fn rounded(context: &mut Context<'_>, call: &Call, round: fn(f64) -> f64) -> Result<Vec<Arm>> {
    if let Abs::Float(x) = call.arg(1) {
        let whole = round(x);
        return returns(context, vec![integral(whole).map_or(Abs::Float(whole), Abs::int)]);
    }
    let value = call.integer(context, 1)?;
    returns(context, vec![Abs::Int(value)])
}

/// The first of the arguments that no other one beats.
fn extreme(context: &mut Context<'_>, call: &Call, better: CompareOp) -> Result<Vec<Arm>> {
    if call.args.iter().any(|value| matches!(value, Abs::Float(_))) {
        return extreme_float(context, call, better);
    }
    let mut best = call.integer(context, 1)?;
    for number in 2..=call.args.len() {
        let candidate = call.integer(context, number)?;
        let cond = context.compare(better, candidate, best);
        best = choose(context, cond, candidate, best)?;
    }
    returns(context, vec![Abs::Int(best)])
}

/// The same where some arguments are floats, if it is known now which one it is.
fn extreme_float(context: &mut Context<'_>, call: &Call, better: CompareOp) -> Result<Vec<Arm>> {
    let greater = better == CompareOp::SGt;
    let mut best = call.arg(1);
    for number in 2..=call.args.len() {
        let candidate = call.arg(number);
        let wins = match (&candidate, &best) {
            (Abs::Float(x), Abs::Float(y)) => Some(if greater { y < x } else { x < y }),
            (Abs::Float(x), Abs::Int(_)) => beyond_integers(*x).map(|above| above == greater),
            (Abs::Int(_), Abs::Float(x)) => beyond_integers(*x).map(|above| above != greater),
            _ => None,
        };
        let Some(wins) = wins else {
            let help = "compare integers with one another";
            return context.unsupported("the largest or smallest of integers and floats", help, Some("math"));
        };
        if wins {
            best = candidate;
        }
    }
    returns(context, vec![best])
}

/// Whether a float is above all integers (`true`) or below all; `None` for what is neither.
fn beyond_integers(x: f64) -> Option<bool> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if x >= LIMIT { Some(true) } else { (x < -LIMIT).then_some(false) }
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
