//! `..` (Lua manual § 3.4.6).

use super::arithmetic::{Named, register, wrong_type};
use crate::context::{Context, Result};
use crate::opcode::Instruction;
use crate::tables::refuse_metamethod;
use crate::value::{Abs, Word, float_of};
use moonhook_library::float_text;

/// `R[A] .. … .. R[A + B - 1]`; right associative, so the last wrong operand is the one complained of.
pub fn execute(context: &mut Context<'_>, i: Instruction) -> Result<Abs> {
    let operands = (i.a()..i.a() + i.b()).map(|number| register(context, number)).collect();
    concat_operands(context, operands, Vec::new(), true)
}

/// Resolves unions one by one, then concatenates.
fn concat_operands(
    context: &mut Context<'_>,
    mut rest: Vec<Named>,
    mut done: Vec<Abs>,
    certain: bool,
) -> Result<Abs> {
    while let Some(operand) = rest.pop() {
        let wrong = !matches!(operand.value, Abs::Str(_) | Abs::Int(_) | Abs::Float(_) | Abs::Union(_));
        let left = rest.last().filter(|left| wrong && done.is_empty() && matches!(left.value, Abs::Union(_)));
        // Which operand of the failing step is to blame depends on what the left one is.
        let (unknown, behind) = match left {
            Some(_) => (rest.pop(), Some(operand.clone())),
            None => (None, None),
        };
        if let Some(unknown) =
            unknown.or_else(|| matches!(operand.value, Abs::Union(_)).then(|| operand.clone()))
        {
            return context.dispatch_one(&unknown.value, &mut |context, value| {
                let known = Named { value, name: unknown.name.clone() };
                let rest = rest.iter().cloned().chain([known]).chain(behind.clone()).collect();
                concat_operands(context, rest, done.clone(), false)
            });
        }
        match &operand.value {
            Abs::Str(_) | Abs::Int(_) => done.insert(0, operand.value),
            Abs::Float(Word::Imm(bits)) => done.insert(0, Abs::text(float_text(float_of(*bits)))),
            Abs::Float(_) => return context.refuse_float_text(operand.text().unwrap_or("..")),
            _ => {
                // Both operands of the failing step: the left one is named first, unless it is fine.
                let left = rest.pop();
                let fine =
                    |value: &Abs| matches!(value, Abs::Str(_) | Abs::Int(_) | Abs::Float(_) | Abs::Union(_));
                let right = operand.value.clone();
                let wrong = match left {
                    Some(left) if done.is_empty() && !fine(&left.value) => left,
                    _ => operand,
                };
                // Either operand may have it, also where the other one is named.
                for operand in done.first().into_iter().chain([&wrong.value, &right]) {
                    refuse_metamethod(context, operand, "__concat", wrong.text())?;
                }
                wrong_type(context, "concatenate", &wrong, certain);
                return Ok(Abs::Nil);
            }
        }
    }
    context.concatenate(&done)
}
