//! The integer part of the math library (Lua manual § 6.8).

use super::call::{Call, Row, returns, row};
use super::number::of_text;
use crate::context::{Context, Result};
use crate::ops::arithmetic::{is_float_numeral, trim_spaces};
use crate::ops::comparison::{Blame, less};
use crate::paths::Arm;
use crate::strings::parse_integer;
use crate::value::{Abs, Str, integral};
use moonhook_ir::words::{Branches, Words};
use moonhook_ir::{BinaryOp, CompareOp};

pub const ROWS: &[Row] = &[
    row("math.ceil", |context, call| rounded(context, call, f64::ceil)),
    row("math.floor", |context, call| rounded(context, call, f64::floor)),
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
    context.only(value)
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

/// `math.abs` of an integer, or of a float, which is known now; of a numeral, a float (`math_abs` in lmathlib.c).
fn absolute(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if let Some(x) = known_float(call, 1) {
        return context.only(Abs::Float(x.abs()));
    }
    let value = call.integer(context, 1)?;
    let sign = context.binary(BinaryOp::AShr, value, 63);
    let flipped = context.binary(BinaryOp::Xor, value, sign);
    let value = context.sub(flipped, sign);
    context.only(Abs::Int(value))
}

/// `math.floor` and `math.ceil` of an integer, which is itself, or of a float, which is known now (`math_floor` in lmathlib.c).
fn rounded(context: &mut Context<'_>, call: &Call, round: fn(f64) -> f64) -> Result<Vec<Arm>> {
    if let Some(x) = known_float(call, 1) {
        let whole = round(x);
        return returns(context, vec![integral(whole).map_or(Abs::Float(whole), Abs::int)]);
    }
    let value = call.integer(context, 1)?;
    context.only(Abs::Int(value))
}

/// What functions that compute with floats take an argument for that is no integer: numerals are floats to them, those of integers
/// too (`luaL_checknumber`).
fn known_float(call: &Call, number: usize) -> Option<f64> {
    match call.arg(number) {
        Abs::Float(x) => Some(x),
        Abs::Str(Str::Const(text)) => match parse_integer(&text) {
            Some(integer) => Some(integer as f64),
            None if is_float_numeral(&text) => trim_spaces(str::from_utf8(&text).ok()?).parse().ok(),
            None => None,
        },
        _ => None,
    }
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

/// Joins paths with the same value, and all paths if their values have one type. An integer and a float, which is known now, are
/// not one value.
fn one_for_type(context: &mut Context<'_>, staying: Vec<Arm>, winning: Vec<Arm>) -> Result<Vec<Arm>> {
    let all = |is: fn(&Abs) -> bool| staying.iter().chain(&winning).flat_map(|arm| &arm.values).all(is);
    let is_one = all(|value| matches!(value, Abs::Int(_))) || all(|value| matches!(value, Abs::Str(_)));
    let (mut apart, together) = match is_one {
        true => (Vec::new(), winning.into_iter().chain(staying).collect()),
        false => (staying, winning),
    };
    if let Some(values) = context.join(together)? {
        apart.push(Arm { state: context.take_state(), values });
    }
    Ok(apart)
}
