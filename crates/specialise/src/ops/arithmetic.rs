//! Arithmetic, bitwise operators, `not` and `#` (Lua manual § 3.4.1 – 3.4.7): which operands they take.

use super::floats::{self, Number};
use super::integers;
use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::events::Message;
use crate::frame::{Frame, Next};
use crate::names;
use crate::numerals::Numeral;
use crate::opcode::{Instruction, Opcode};
use crate::tables::refuse_metamethod;
use crate::trace;
use crate::value::{Abs, Str, Variant, Word};
use moonhook_ir::BinaryOp;
use moonhook_ir::words::{PathState, Words};
use moonhook_packet::Access;
use moonhook_snapshot::operation::Operand;

/// A binary operator of Lua.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Mod,
    IDiv,
    BAnd,
    BOr,
    BXor,
    Shl,
    Shr,
    Div,
    Pow,
}

impl Operator {
    /// The operator that has this metamethod (manual § 2.4).
    fn of(event: &str) -> Option<Operator> {
        Some(match event {
            "__add" => Operator::Add,
            "__sub" => Operator::Sub,
            "__mul" => Operator::Mul,
            "__mod" => Operator::Mod,
            "__idiv" => Operator::IDiv,
            "__band" => Operator::BAnd,
            "__bor" => Operator::BOr,
            "__bxor" => Operator::BXor,
            "__shl" => Operator::Shl,
            "__shr" => Operator::Shr,
            "__div" => Operator::Div,
            "__pow" => Operator::Pow,
            _ => return None,
        })
    }

    pub fn is_bitwise(self) -> bool {
        matches!(self, Operator::BAnd | Operator::BOr | Operator::BXor | Operator::Shl | Operator::Shr)
    }
}

/// An operand and what messages call it.
#[derive(Clone)]
pub(super) struct Named {
    pub value: Abs,
    pub name: Option<names::Name>,
}

impl Named {
    pub fn text(&self) -> Option<&str> {
        names::text(&self.name)
    }
}

pub fn execute<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    opcode: Opcode,
    i: Instruction,
) -> Result<Next> {
    let result = match opcode {
        Opcode::Not => not(context, &context.state.get(i.b()))?,
        Opcode::Len => {
            let operand = register(context, i.b());
            length(context, operand, true)?
        }
        Opcode::Concat => super::concat::execute(context, i)?,
        _ => operation(context, frame)?,
    };
    context.state.set(i.a(), result);
    Ok(Next::Continue)
}

pub(super) fn register(context: &Context<'_>, register: usize) -> Named {
    Named { value: context.state.get(register), name: context.execution.register_name(register) }
}

/// What the current instruction computes, which has an arithmetic or bitwise operator.
fn operation<'a>(context: &mut Context<'a>, frame: &Frame<'a>) -> Result<Abs> {
    let pc = context.execution.calls.last().map_or(0, |call| call.pc);
    let Some(operation) = frame.prototype.operation(pc) else {
        return context.internal_fault("an operator without operands");
    };
    let unnamed = |value: Abs| Named { value, name: None };
    let mut named = |operand| match operand {
        Operand::Register(number) => register(context, number),
        Operand::Integer(value) => unnamed(Abs::int(value)),
        Operand::Constant(number) => unnamed(frame.constant(context.snapshot, number)),
    };
    let [left, right] = operation.operands.map(&mut named);
    match operation.event() {
        "__bnot" => binary(context, Operator::BXor, "__bnot", unnamed(Abs::int(-1)), left, true),
        "__unm" => binary(context, Operator::Sub, "__unm", unnamed(Abs::int(0)), left, true),
        // The compiler makes an addition of it (finishbinexpneg in lcode.c): -0.0 - 0 is 0.0.
        event @ "__sub"
            if operation.operands[1] == Operand::Integer(0) && !matches!(left.value, Abs::Str(_)) =>
        {
            binary(context, Operator::Add, event, left, right, true)
        }
        event => match Operator::of(event) {
            Some(operator) => binary(context, operator, event, left, right, true),
            None => context.internal_fault(format!("no operator has the metamethod {event}")),
        },
    }
}

fn binary(
    context: &mut Context<'_>,
    operator: Operator,
    event: &'static str,
    a: Named,
    b: Named,
    certain: bool,
) -> Result<Abs> {
    // Whichever string it is, such an operator does not take it.
    let is_wrong = |operand: &Named| operator.is_bitwise() && is_address(&operand.value);
    if matches!(a.value, Abs::Union(_)) {
        let (certain, name, b) = (certain && is_wrong(&a), a.name, b);
        return context.dispatch_one(&a.value, &mut |context, value| {
            let a = Named { value, name: name.clone() };
            let b = Named { value: b.value.clone(), name: b.name.clone() };
            binary(context, operator, event, a, b, certain)
        });
    }
    if matches!(b.value, Abs::Union(_)) {
        let certain = certain && is_wrong(&b);
        return context.dispatch_one(&b.value, &mut |context, value| {
            let a = Named { value: a.value.clone(), name: a.name.clone() };
            binary(context, operator, event, a, Named { value, name: b.name.clone() }, certain)
        });
    }
    let (left, right) = (operand(context, operator, &a)?, operand(context, operator, &b)?);
    match (left, right) {
        (Some(x), Some(y)) if floats::gives_float(operator, x, y) => {
            floats::compute(context, (operator, event == "__unm"), x, y)
        }
        (Some(x), Some(y)) => {
            let Some([x, y]) = integers_of(context, [(&a, x), (&b, y)])? else { return Ok(Abs::Nil) };
            // The metamethods of strings compute with these, and stand nowhere in the script.
            let is_text = |operand: &Named| matches!(operand.value, Abs::Str(_));
            let message = match [&a, &b].into_iter().any(is_text) {
                true => Message::bare,
                false => Message::new,
            };
            integers::compute(context, operator, x, y, message)
        }
        (left, _) => {
            let wrong = if left.is_none() { &a } else { &b };
            wrong_operands(context, (operator, event), [&a, &b], wrong, certain)
        }
    }
}

/// The number that an operand is, if it is one.
fn operand(context: &mut Context<'_>, operator: Operator, operand: &Named) -> Result<Option<Number>> {
    match operand.value {
        // The metamethods of strings are the arithmetic ones only (`stringmetamethods`, lstrlib.c).
        Abs::Str(_) if operator.is_bitwise() => Ok(None),
        _ => number(context, operand),
    }
}

/// The operands of an operator over integers: floats are converted (`luaV_tointegerns`). `None`, with the state dead, if one is surely none.
fn integers_of(context: &mut Context<'_>, operands: [(&Named, Number); 2]) -> Result<Option<[Word; 2]>> {
    let mut integers = [Word::Imm(0); 2];
    for (integer, (operand, number)) in integers.iter_mut().zip(operands) {
        *integer = match number {
            Number::Integer(word) => word,
            Number::Float(word) => {
                context.integer_or_fail(word, |context| no_integer(context, word, operand))?
            }
        };
    }
    Ok(context.state.alive().then_some(integers))
}

/// `luaG_tointerror`.
fn no_integer(context: &mut Context<'_>, float: Word, operand: &Named) {
    let message =
        [&names::named("number".into(), &operand.name)[..], b" has no integer representation"].concat();
    context.type_error(message, float.constant().is_some(), operand.text());
}

/// An operation of which one operand is no number.
fn wrong_operands(
    context: &mut Context<'_>,
    (operator, event): (Operator, &'static str),
    operands: [&Named; 2],
    wrong: &Named,
    certain: bool,
) -> Result<Abs> {
    for operand in operands {
        refuse_metamethod(context, &operand.value, event, operand.text())?;
    }
    let texts = operands.iter().any(|operand| matches!(operand.value, Abs::Str(_)));
    if texts && !operator.is_bitwise() {
        wrong_text(context, event, operands, certain);
        return Ok(Abs::Nil);
    }
    if certain && is_address(&wrong.value) {
        wrong_address(context, wrong);
        return Ok(Abs::Nil);
    }
    let what = if operator.is_bitwise() { "perform bitwise operation on" } else { "perform arithmetic on" };
    wrong_type(context, what, wrong, certain);
    Ok(Abs::Nil)
}

/// Whether a value is the text of an address, whichever.
fn is_address(value: &Abs) -> bool {
    match value {
        Abs::Str(text) => matches!(text, Str::Ipv4(_) | Str::Ipv6(..) | Str::Mac(_)),
        Abs::Union(union) => {
            union.variants.iter().all(|one| matches!(one, Variant::Ipv4 | Variant::Ipv6 | Variant::Mac))
        }
        _ => false,
    }
}

/// A bitwise operation on an address, by people who know addresses as numbers.
fn wrong_address(context: &mut Context<'_>, operand: &Named) {
    let message =
        names::named("attempt to perform bitwise operation on a string value".into(), &operand.name);
    let help = match operand.value {
        Abs::Str(Str::Mac(_)) => {
            "addresses are strings: compare them with `mac.parse(text)`, or read bytes with `pkt:getuint8(offset)`"
        }
        _ => {
            "addresses are strings: `ip.prefix(address, n)` keeps the first n bits, `ip.parse(text)` makes one to compare with"
        }
    };
    context.certain_error(message, operand.text(), help);
}

pub(super) fn wrong_type(context: &mut Context<'_>, what: &str, operand: &Named, certain: bool) {
    let type_name = operand.value.message_name();
    let message = names::named(format!("attempt to {what} a {type_name} value"), &operand.name);
    context.type_error(message, certain, names::text(&operand.name));
}

/// The error of arithmetic with a string, which strings' own metamethods raise (`trymt`, lstrlib.c). A unary minus has its
/// operand on both sides.
fn wrong_text(context: &mut Context<'_>, event: &str, operands: [&Named; 2], certain: bool) {
    let [left, right] = if event == "__unm" { [operands[1]; 2] } else { operands };
    let type_name = |operand: &Named| operand.value.type_name().unwrap_or("?");
    let operation = event.trim_start_matches('_');
    let message = format!("attempt to {operation} a '{}' with a '{}'", type_name(left), type_name(right));
    context.type_error(message, certain, left.text().or(right.text()));
}

/// The operand as a number: constant strings are converted as Lua does (manual § 3.4.3); `None` for what is no number.
fn number(context: &mut Context<'_>, operand: &Named) -> Result<Option<Number>> {
    let name = names::text(&operand.name);
    match &operand.value {
        Abs::Int(word) => Ok(Some(Number::Integer(*word))),
        Abs::Float(word) => Ok(Some(Number::Float(*word))),
        Abs::Str(Str::Const(text)) => match Numeral::of(text) {
            None => Ok(None),
            Some(Numeral::Integer(integer)) => Ok(Some(Number::Integer(Word::Imm(integer)))),
            Some(Numeral::Float(float)) => Ok(Some(Number::Float(Word::Imm(float.to_bits() as i64)))),
            Some(Numeral::HexFloat) => {
                let what = "arithmetic with a string that is a float in hexadecimal".to_string();
                let help = "write the number without quotes".to_string();
                context.refuse(LowerErrorKind::Float { what, help }, name)
            }
        },
        Abs::Str(_) => context.unsupported(
            "arithmetic on a string that is made of packet bytes",
            "read numbers with `pkt:getuint8` and the like",
            name,
        ),
        _ => Ok(None),
    }
}

/// An argument as a number, for built-ins; `None` if it is none.
pub fn to_number(context: &mut Context<'_>, value: &Abs) -> Result<Option<Number>> {
    number(context, &Named { value: value.clone(), name: None })
}

fn not(context: &mut Context<'_>, value: &Abs) -> Result<Abs> {
    if let Some(truth) = value.truth() {
        return Ok(Abs::bool(!truth));
    }
    if let Abs::Bool(word) = value {
        return Ok(Abs::Bool(context.binary(BinaryOp::Xor, *word, 1)));
    }
    context.dispatch_one(value, &mut |context, value| not(context, &value))
}

fn length(context: &mut Context<'_>, operand: Named, certain: bool) -> Result<Abs> {
    use crate::value::Object;
    if let Some(handler) = crate::tables::metamethod(context, &operand.value, "__len") {
        let name = Some(("metamethod", b"len".to_vec()));
        let arms = context.call(&handler, vec![operand.value.clone(), operand.value], name)?;
        return Ok(context.join(arms)?.and_then(|values| values.into_iter().next()).unwrap_or(Abs::Nil));
    }
    match &operand.value {
        Abs::Str(text) => {
            let word = context.string_length(text)?;
            Ok(Abs::Int(word))
        }
        Abs::Object(Object::Packet) if !context.target.hook.is_trace() => {
            Ok(Abs::Int(context.packet_length()))
        }
        Abs::Object(Object::Argument) => Ok(Abs::Int(context.argument_length()?)),
        Abs::Object(Object::Table(table)) => crate::tables::length(context, *table),
        Abs::Object(Object::Made(table)) => {
            refuse_metamethod(context, &operand.value, "__len", Some("#"))?;
            Ok(Abs::int(context.made_length(*table)?))
        }
        Abs::Object(Object::Stored(table)) => Ok(Abs::Int(context.stored_length(*table)?)),
        Abs::Entry { path, base } => context.entry_length(*path, *base),
        Abs::Structure { type_id, .. } if trace::length(context.snapshot, *type_id).is_some() => {
            Ok(Abs::int(trace::length(context.snapshot, *type_id).unwrap_or(0)))
        }
        Abs::Union(_) => context.dispatch_one(&operand.value, &mut |context, value| {
            length(context, Named { value, name: operand.name.clone() }, false)
        }),
        _ => {
            wrong_type(context, "get length of", &operand, certain);
            Ok(Abs::Nil)
        }
    }
}
