//! Comparisons and tests (Lua manual § 3.4.4). Each is followed by the jump that it decides about.

use crate::context::{Context, Result};
use crate::floats::Comparison;
use crate::frame::{Frame, Next};
use crate::opcode::{Instruction, Opcode};
use crate::state::State;
use crate::tables::refuse_metamethod;
use crate::value::{Abs, Object, Word, float_of, integral};
use moonhook_ir::CompareOp;
use moonhook_ir::words::{Cond, Words};

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Less,
    LessOrEqual,
}

impl Order {
    fn comparison(self) -> Comparison {
        match self {
            Order::Less => Comparison::Less,
            Order::LessOrEqual => Comparison::LessOrEqual,
        }
    }
}

pub fn execute<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    opcode: Opcode,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    let (mut truthy, mut falsy) = match opcode {
        Opcode::Test => {
            let value = context.state.get(i.a());
            context.split_truth(&value)
        }
        Opcode::TestSet => {
            let value = context.state.get(i.b());
            let (mut truthy, mut falsy) = context.split_truth(&value);
            // The side that jumps takes the value along.
            for state in if i.k() { &mut truthy } else { &mut falsy } {
                std::mem::swap(&mut context.state, state);
                let value = context.state.get(i.b());
                context.state.set(i.a(), value);
                std::mem::swap(&mut context.state, state);
            }
            (truthy, falsy)
        }
        Opcode::Eq | Opcode::EqK => {
            let a = context.state.get(i.a());
            let b = if opcode == Opcode::Eq {
                context.state.get(i.b())
            } else {
                frame.constant(context.snapshot, i.b())
            };
            split_equal(context, &a, &b)?
        }
        _ => {
            let result = compare(context, opcode, i)?;
            context.split_truth(&result)
        }
    };
    let jump = Instruction(frame.prototype.code[pc + 1]);
    let target = (pc as i64 + 2 + jump.sj()).max(0) as usize;
    let (jumping, going): (&mut Vec<State>, &mut Vec<State>) =
        if i.k() { (&mut truthy, &mut falsy) } else { (&mut falsy, &mut truthy) };
    jumping.drain(..).for_each(|state| context.enter_block(frame, target, state));
    going.drain(..).for_each(|state| context.enter_block(frame, pc + 2, state));
    Ok(Next::Done)
}

/// The states in which the values are equal, and in which they are not.
fn split_equal(context: &mut Context<'_>, a: &Abs, b: &Abs) -> Result<(Vec<State>, Vec<State>)> {
    let (mut equal_states, mut different) = (Vec::new(), Vec::new());
    for (state, a) in context.alternatives(a)? {
        context.state = state;
        for (state, b) in context.alternatives(b)? {
            context.state = state;
            let (yes, no) = match (&a, &b) {
                (Abs::Str(a), Abs::Str(b)) => context.split_equal(a, b)?,
                (a, b) => {
                    let result = equal(context, a, b)?;
                    context.split_truth(&result)
                }
            };
            equal_states.extend(yes);
            different.extend(no);
        }
    }
    Ok((equal_states, different))
}

/// The comparison's result as a boolean.
fn compare(context: &mut Context<'_>, opcode: Opcode, i: Instruction) -> Result<Abs> {
    use Opcode::*;
    let a = context.state.get(i.a());
    let b = match opcode {
        Lt | Le => context.state.get(i.b()),
        _ => Abs::int(i.sb()),
    };
    // Messages about comparisons name no operand; the place underlines the one that cannot be ordered.
    let odd = |value: &Abs| !matches!(value, Abs::Int(_) | Abs::Float(_) | Abs::Str(_) | Abs::Union(_));
    let right = if matches!(opcode, Lt | Le) { context.execution.register_name(i.b()) } else { None };
    let name = if odd(&b) { right } else { context.execution.register_name(i.a()) };
    let name = crate::names::text(&name);
    match opcode {
        EqI => equal(context, &a, &b),
        Lt | LtI => ordered(context, Order::Less, &a, &b, name),
        Le | LeI => ordered(context, Order::LessOrEqual, &a, &b, name),
        GtI => ordered(context, Order::Less, &b, &a, name),
        _ => ordered(context, Order::LessOrEqual, &b, &a, name),
    }
}

fn known(value: bool) -> Abs {
    Abs::bool(value)
}

/// `a == b`; tables of load time are compared by identity, a table with `__eq` is refused.
pub fn equal(context: &mut Context<'_>, a: &Abs, b: &Abs) -> Result<Abs> {
    if matches!(a, Abs::Union(_)) {
        return context.dispatch_one(a, &mut |context, a| equal(context, &a, b));
    }
    if matches!(b, Abs::Union(_)) {
        return context.dispatch_one(b, &mut |context, b| equal(context, a, &b));
    }
    let words = |context: &mut Context<'_>, a: Word, b: Word| {
        let cond = context.compare_apart(CompareOp::Eq, a, b);
        let word = context.condition_word(cond);
        Ok(Abs::Bool(word))
    };
    match (a, b) {
        (Abs::Nil, Abs::Nil) => Ok(known(true)),
        (Abs::Bool(a), Abs::Bool(b)) | (Abs::Int(a), Abs::Int(b)) => words(context, *a, *b),
        (Abs::Int(a), Abs::Float(Word::Imm(x))) | (Abs::Float(Word::Imm(x)), Abs::Int(a)) => {
            match integral(float_of(*x)) {
                Some(b) => words(context, *a, Word::Imm(b)),
                None => Ok(known(false)),
            }
        }
        (Abs::Int(a), Abs::Float(x)) | (Abs::Float(x), Abs::Int(a)) => {
            let cond = context.compare_integer_with_float(Comparison::Equal, *a, *x, false)?;
            Ok(Abs::Bool(context.condition_word(cond)))
        }
        (Abs::Float(x), Abs::Float(y)) => {
            let cond = context.compare_floats(Comparison::Equal, *x, *y)?;
            Ok(Abs::Bool(context.condition_word(cond)))
        }
        (Abs::Str(a), Abs::Str(b)) => {
            let word = context.strings_equal(a, b)?;
            Ok(Abs::Bool(word))
        }
        (Abs::Entry { .. }, Abs::Entry { .. } | Abs::Object(_)) | (Abs::Object(_), Abs::Entry { .. }) => {
            context.unsupported(
                "telling whether two entries of a shared table are one",
                "compare their keys",
                Some("=="),
            )
        }
        (Abs::Structure { type_id, address: a }, Abs::Structure { type_id: other, address: b }) => {
            if type_id == other { words(context, *a, *b) } else { Ok(known(false)) }
        }
        (Abs::Object(first), Abs::Object(second)) => {
            if first != second
                && [first, second]
                    .iter()
                    .all(|object| matches!(object, Object::Table(_) | Object::Made(_) | Object::Stored(_)))
            {
                refuse_metamethod(context, a, "__eq", Some("=="))?;
                refuse_metamethod(context, b, "__eq", Some("=="))?;
            }
            if first == second && !first.is_one(context.snapshot) {
                return context.refuse_identity();
            }
            Ok(known(first == second))
        }
        _ => Ok(known(false)),
    }
}

/// What may be said about a comparison of wrong types.
#[derive(Clone, Copy)]
pub struct Blame<'n> {
    pub certain: bool,
    /// What to underline.
    pub name: Option<&'n str>,
    /// Whether a library function compares.
    pub in_library: bool,
}

fn ordered(context: &mut Context<'_>, order: Order, a: &Abs, b: &Abs, name: Option<&str>) -> Result<Abs> {
    ordered_values(context, order, a, b, Blame { certain: true, name, in_library: false })
}

/// `a < b`, as a boolean.
pub fn less(context: &mut Context<'_>, a: &Abs, b: &Abs, blame: Blame<'_>) -> Result<Abs> {
    ordered_values(context, Order::Less, a, b, blame)
}

fn ordered_values(
    context: &mut Context<'_>,
    order: Order,
    a: &Abs,
    b: &Abs,
    blame: Blame<'_>,
) -> Result<Abs> {
    let narrowed = Blame { certain: false, ..blame };
    if matches!(a, Abs::Union(_)) {
        return context.dispatch_one(a, &mut |context, a| ordered_values(context, order, &a, b, narrowed));
    }
    if matches!(b, Abs::Union(_)) {
        return context.dispatch_one(b, &mut |context, b| ordered_values(context, order, a, &b, narrowed));
    }
    let op = if order == Order::Less { CompareOp::SLt } else { CompareOp::SLe };
    let cond = match (a, b) {
        (Abs::Int(a), Abs::Int(b)) => context.compare_apart(op, *a, *b),
        (Abs::Int(a), Abs::Float(x)) => against_float(context, order, *a, *x, false)?,
        (Abs::Float(x), Abs::Int(b)) => against_float(context, order, *b, *x, true)?,
        (Abs::Float(x), Abs::Float(y)) => context.compare_floats(order.comparison(), *x, *y)?,
        (Abs::Str(a), Abs::Str(b)) => {
            let sign = context.strings_compare(a, b)?;
            context.compare_apart(op, sign, 0)
        }
        (a, b) => {
            let event = if order == Order::Less { "__lt" } else { "__le" };
            refuse_metamethod(context, a, event, blame.name)?;
            refuse_metamethod(context, b, event, blame.name)?;
            let (a, b) = (a.message_name(), b.message_name());
            let message = match a == b {
                true => format!("attempt to compare two {a} values"),
                false => format!("attempt to compare {a} with {b}"),
            };
            match blame.in_library {
                false => context.type_error(message, blame.certain, blame.name),
                true => context.type_error_in_library(message, blame.certain, blame.name),
            }
            Cond::Known(false)
        }
    };
    let word = context.condition_word(cond);
    Ok(Abs::Bool(word))
}

/// An integer compared with a float: exact, as in `luaV_lessthan` (`LTnum`, `LEnum`). `flipped`: the float is on the left.
fn against_float(
    context: &mut Context<'_>,
    order: Order,
    word: Word,
    float: Word,
    flipped: bool,
) -> Result<Cond> {
    match float {
        Word::Imm(bits) => Ok(against_known(context, order, word, float_of(bits), flipped)),
        float => context.compare_integer_with_float(order.comparison(), word, float, flipped),
    }
}

/// The same of a float that is known now: among integers it is a bound.
fn against_known(context: &mut Context<'_>, order: Order, word: Word, x: f64, flipped: bool) -> Cond {
    if x.is_nan() {
        return Cond::Known(false);
    }
    // The bound that, compared with `<=`, `<`, says the same among integers.
    let bound = match (order, flipped) {
        (Order::Less, false) | (Order::LessOrEqual, true) => x.ceil(),
        _ => x.floor(),
    };
    let op = match (order, flipped) {
        (Order::Less, false) => CompareOp::SLt,
        (Order::LessOrEqual, false) => CompareOp::SLe,
        (Order::Less, true) => CompareOp::SGt,
        (Order::LessOrEqual, true) => CompareOp::SGe,
    };
    if bound >= 9_223_372_036_854_775_808.0 {
        return Cond::Known(!flipped);
    }
    if bound < -9_223_372_036_854_775_808.0 {
        return Cond::Known(flipped);
    }
    context.compare_apart(op, word, bound as i64)
}
