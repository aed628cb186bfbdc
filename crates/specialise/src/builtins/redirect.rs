//! Sending packets to other interfaces: `redirect`, and what tc has besides.
//!
//! Of several names that stand in the code, the interface's number is found in data by which of them it is: where packets go by turns, there
//! is no branch that a processor has to guess.

use super::call::{Call, Row, for_each_type, returns, row};
use super::targets::to_table;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::value::{Abs, Union, Word};
use moonhook_hook::targets::NOWHERE;
use moonhook_ir::helper::{CLONE_REDIRECT, REDIRECT, REDIRECT_NEIGH, REDIRECT_PEER};
use moonhook_ir::words::{PathState, Words};
use moonhook_ir::{CompareOp, words::Branches};
use moonhook_packet::{Access, Machine};

pub const ROWS: &[Row] =
    &[to_any("redirect"), to_any("tc.clone"), to_any("tc.redirect_neigh"), to_any("tc.redirect_peer")];

const fn to_any(name: &'static str) -> Row {
    Row { any_type: true, ..row(name, to_one_of) }
}

/// Numbers of interfaces are positive, and have 31 bits.
const NUMBERS: i64 = 1 << 31;

/// The call with arguments of any type: of one that is not known, but for several names, once for each type that it may have.
fn to_one_of(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if let Abs::Union(target) = call.arg(1)
        && let Some(names) = context.names_of_interfaces(&target)
    {
        return to_named(context, call, &target, &names);
    }
    match call.args.iter().position(|arg| matches!(arg, Abs::Union(_))) {
        Some(index) => for_each_type(context, call, index, super::call),
        None if call.name == "redirect" && call.arg(1).type_name() == Some("table") => {
            to_table(context, call, &call.arg(1))
        }
        None => forward(context, call),
    }
}

/// The call with what is one of several names, or something else.
fn to_named(context: &mut Context<'_>, call: &Call, target: &Union, names: &Union) -> Result<Vec<Arm>> {
    let others = context.split_off(target, names);
    let here = context.take_state();
    let mut arms = Vec::new();
    for (state, value) in others {
        context.state = state;
        let mut call = Call { narrowed: true, ..call.clone() };
        call.args[0] = value;
        arms.extend(super::call(context, call)?);
    }
    context.state = here;
    arms.extend(to_interface(context, call, |context| context.interface_of(names))?);
    Ok(arms)
}

pub(super) fn forward(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    for arm in call.integer_or_string(context, 1)? {
        context.state = arm.state;
        arms.extend(to_interface(context, call, |context| match arm.values.first() {
            Some(Abs::Str(name)) => context.interface_named(name),
            Some(Abs::Int(number)) => Ok(checked(context, call, *number)),
            _ => Ok(Word::Imm(0)),
        })?);
    }
    Ok(arms)
}

/// Sends the packet to the interface of a number, which `number` finds, or ends with an error.
fn to_interface(
    context: &mut Context<'_>,
    call: &Call,
    number: impl FnOnce(&mut Context<'_>) -> Result<Word>,
) -> Result<Vec<Arm>> {
    let hook = context.target.hook;
    // The primitives of general code are of `redirect`.
    let name = if call.name.starts_with("prim.") { "redirect" } else { call.name };
    let (Some(helper), Some(verdict)) = (hook.forward(name), hook.redirect()) else {
        context.fail(Message::new(NOWHERE));
        return Ok(vec![]);
    };
    let number = number(context)?;
    if !context.state.alive() {
        return Ok(vec![]);
    }
    send(context, helper, number);
    let gives = (helper != CLONE_REDIRECT).then_some(Abs::Int(Word::Imm(verdict.into())));
    returns(context, gives.into_iter().collect())
}

fn checked(context: &mut Context<'_>, call: &Call, number: Word) -> Word {
    let before = context.sub(number, 1);
    let wrong = context.compare(CompareOp::UGe, before, NUMBERS - 1);
    context.fail_if(wrong, |context| call.argument_error(context, 1, "number of an interface expected"));
    number
}

/// Calls the helper. That a copy could not be sent is as if it had been lost on its way.
fn send(context: &mut Context<'_>, helper: u32, number: Word) {
    let none = Word::Imm(0);
    match helper {
        REDIRECT | REDIRECT_PEER => drop(context.helper(helper, &[number, none])),
        REDIRECT_NEIGH => drop(context.helper(helper, &[number, none, none, none])),
        _ if context.options.any_interface => {}
        _ => {
            let packet = context.program_context();
            context.helper(helper, &[packet, number, none]);
            context.note_packet_moved();
        }
    }
}
