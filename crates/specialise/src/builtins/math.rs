//! The part of the math library that needs no more than sums, products and roots (Lua manual § 6.8; lmathlib.c).

use super::call::{Call, Row, returns, row};
use super::number::of_text;
use crate::context::{Context, Result};
use crate::floats::{self, Comparison};
use crate::ops::comparison::{Blame, less};
use crate::paths::Arm;
use crate::value::{Abs, Word};
use moonhook_ir::words::{Branches, PathState, Words};
use moonhook_ir::{BinaryOp, CompareOp};
use std::f64::consts::PI;

pub const ROWS: &[Row] = &[
    row("math.ceil", |context, call| rounded(context, call, true)),
    row("math.floor", |context, call| rounded(context, call, false)),
    row("math.fmod", remainder),
    row("math.modf", parts),
    row("math.sqrt", |context, call| {
        let Some(x) = call.float(context, 1)? else { return Ok(vec![]) };
        let root = context.compute(&floats::SQUARE_ROOT, &[x])?;
        context.only(Abs::Float(root))
    }),
    row("math.deg", |context, call| scaled(context, call, 180.0 / PI)),
    row("math.rad", |context, call| scaled(context, call, PI / 180.0)),
    row("math.abs", absolute),
    row("math.max", |context, call| extreme(context, call, "max")),
    row("math.min", |context, call| extreme(context, call, "min")),
    row("math.ult", |context, call| {
        let (a, b) = (call.integer(context, 1)?, call.integer(context, 2)?);
        let less = context.compare(CompareOp::ULt, a, b);
        let word = context.condition_word(less);
        context.only(Abs::Bool(word))
    }),
    row("math.type", type_of),
    row("math.tointeger", to_integer),
];

/// What is no number and no numeral gives nil, but no argument is an error (`math_toint`).
fn to_integer(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if call.args.is_empty() {
        context.type_error(call.bad_argument(1, "value expected"), true, Some("tointeger"));
        return Ok(vec![]);
    }
    let mut arms = Vec::new();
    let numbers = match call.arg(1) {
        Abs::Str(text) => of_text(context, &text)?,
        value => returns(context, vec![value])?,
    };
    for arm in numbers {
        context.state = arm.state;
        match arm.values.into_iter().next() {
            Some(value @ Abs::Int(_)) => arms.extend(returns(context, vec![value])?),
            Some(Abs::Float(x)) => {
                let [(integral, integer), (broken, _)] = context.split_integral(x)?;
                arms.push(Arm { state: integral, values: vec![integer] });
                arms.push(Arm { state: broken, values: vec![Abs::Nil] });
            }
            _ => arms.extend(returns(context, vec![Abs::Nil])?),
        }
    }
    arms.retain(|arm| arm.state.alive());
    Ok(arms)
}

fn type_of(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if call.args.is_empty() {
        context.type_error(call.bad_argument(1, "value expected"), true, Some("type"));
        return Ok(vec![]);
    }
    let name = match call.arg(1) {
        Abs::Int(_) => Abs::text("integer"),
        Abs::Float(_) => Abs::text("float"),
        _ => Abs::Nil,
    };
    context.only(name)
}

/// `math.abs` of an integer, or of a float (`math_abs`).
fn absolute(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Abs::Int(value) = call.arg(1) else {
        let Some(x) = call.float(context, 1)? else { return Ok(vec![]) };
        let absolute = context.absolute_float(x);
        return context.only(Abs::Float(absolute));
    };
    let sign = context.binary(BinaryOp::AShr, value, 63);
    let flipped = context.binary(BinaryOp::Xor, value, sign);
    let value = context.sub(flipped, sign);
    context.only(Abs::Int(value))
}

/// `math.floor` and `math.ceil` of an integer, which is itself, or of a float (`math_floor`): an integer where there is one (`pushnumint`).
fn rounded(context: &mut Context<'_>, call: &Call, up: bool) -> Result<Vec<Arm>> {
    if let value @ Abs::Int(_) = call.arg(1) {
        return context.only(value);
    }
    let Some(x) = call.float(context, 1)? else { return Ok(vec![]) };
    let whole = context.rounded_float(x, up)?;
    let arms = context.split_integral(whole)?.map(|(state, value)| Arm { state, values: vec![value] });
    Ok(arms.into_iter().filter(|arm| arm.state.alive()).collect())
}

/// `math.fmod`: the rest of a division that rounds towards zero.
fn remainder(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if let (Abs::Int(a), Abs::Int(b)) = (call.arg(1), call.arg(2)) {
        let zero = context.compare(CompareOp::Eq, b, 0);
        context.fail_if(zero, |context| call.argument_error(context, 2, "zero"));
        // eBPF gives 0 for the smallest integer and -1, too.
        let rest = context.binary(BinaryOp::SMod, a, b);
        return context.only(Abs::Int(rest));
    }
    // PUC-Rio's Lua, as C compilers order it, looks at the second argument first.
    let Some(y) = call.float(context, 2)? else { return Ok(vec![]) };
    let Some(x) = call.float(context, 1)? else { return Ok(vec![]) };
    let rest = context.compute(&floats::REMAINDER, &[x, y])?;
    context.only(Abs::Float(rest))
}

/// `math.deg` and `math.rad`.
fn scaled(context: &mut Context<'_>, call: &Call, factor: f64) -> Result<Vec<Arm>> {
    let Some(x) = call.float(context, 1)? else { return Ok(vec![]) };
    let product = context.compute(&floats::MULTIPLY, &[x, Word::Imm(factor.to_bits() as i64)])?;
    context.only(Abs::Float(product))
}

/// `math.modf`: the integral part, towards zero, an integer where there is one (`pushnumint`), and what is left (`math_modf`).
fn parts(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if let value @ Abs::Int(_) = call.arg(1) {
        return returns(context, vec![value, Abs::float(0.0)]);
    }
    let Some(x) = call.float(context, 1)? else { return Ok(vec![]) };
    let negative = context.compare_floats(Comparison::Less, x, Word::Imm(0))?;
    let (negative, other) = context.split(negative);
    let mut split = Vec::new();
    for (state, up) in [(negative, true), (other, false)] {
        context.state = state;
        let whole = context.rounded_float(x, up)?;
        // Nothing is left of infinity.
        let same = context.compare_floats(Comparison::Equal, x, whole)?;
        let (same, different) = context.split(same);
        split.push(Arm { state: same, values: vec![Abs::Float(whole), Abs::float(0.0)] });
        context.state = different;
        let rest = context.compute(&floats::SUBTRACT, &[x, whole])?;
        split.extend(returns(context, vec![Abs::Float(whole), Abs::Float(rest)])?);
    }
    split.retain(|arm| arm.state.alive());
    let Some([Abs::Float(whole), rest]) =
        context.join(split)?.as_deref().map(|values| [values[0].clone(), values[1].clone()])
    else {
        return Ok(vec![]);
    };
    let arms =
        context.split_integral(whole)?.map(|(state, value)| Arm { state, values: vec![value, rest.clone()] });
    Ok(arms.into_iter().filter(|arm| arm.state.alive()).collect())
}

/// `math.max` and `math.min`: the first of the arguments that no other one beats, which need not be numbers (`math_max` in
/// lmathlib.c).
fn extreme(context: &mut Context<'_>, call: &Call, name: &'static str) -> Result<Vec<Arm>> {
    if call.args.is_empty() {
        context.type_error(call.bad_argument(1, "value expected"), true, Some(name));
        return Ok(vec![]);
    }
    let mut bests = vec![Arm { values: vec![call.arg(1)], state: context.take_state() }];
    for number in 2..=call.args.len() {
        let candidate = call.arg(number);
        let (mut winning, mut staying) = (Vec::new(), Vec::new());
        for Arm { state, values } in bests {
            context.state = state;
            let best = values.into_iter().next().unwrap_or(Abs::Nil);
            let [a, b] = if name == "max" { [&best, &candidate] } else { [&candidate, &best] };
            let blame = Blame { certain: !call.narrowed, name: Some(name), in_library: true };
            let wins = less(context, a, b, blame)?;
            let (truthy, falsy) = context.split_truth(&wins);
            let of = |value: &Abs, state| Arm { state, values: vec![value.clone()] };
            winning.extend(truthy.into_iter().map(|state| of(&candidate, state)));
            staying.extend(falsy.into_iter().map(|state| of(&best, state)));
        }
        bests = one_for_type(context, staying, winning)?;
    }
    Ok(bests)
}

/// Joins paths with the same value, and all paths if their values have one type. An integer and a float are not one value.
fn one_for_type(context: &mut Context<'_>, staying: Vec<Arm>, winning: Vec<Arm>) -> Result<Vec<Arm>> {
    let all = |is: fn(&Abs) -> bool| staying.iter().chain(&winning).flat_map(|arm| &arm.values).all(is);
    let is_one = all(|value| matches!(value, Abs::Int(_)))
        || all(|value| matches!(value, Abs::Float(_)))
        || all(|value| matches!(value, Abs::Str(_)));
    let (mut apart, together) = match is_one {
        true => (Vec::new(), winning.into_iter().chain(staying).collect()),
        false => (staying, winning),
    };
    if let Some(values) = context.join(together)? {
        apart.push(Arm { state: context.take_state(), values });
    }
    Ok(apart)
}
