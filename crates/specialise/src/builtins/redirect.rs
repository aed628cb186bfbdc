//! Sending packets to other interfaces: `redirect`, and what tc has besides.

use super::call::{Call, Row, returns, row};
use super::targets::to_table;
use crate::context::{Context, Result};
use crate::events::Message;
use crate::paths::Arm;
use crate::value::{Abs, Word};
use moonhook_hook::targets::NOWHERE;
use moonhook_ir::helper::{CLONE_REDIRECT, REDIRECT, REDIRECT_NEIGH, REDIRECT_PEER};
use moonhook_ir::words::{PathState, Words};
use moonhook_ir::{CompareOp, words::Branches};
use moonhook_packet::{Access, Machine};

pub const ROWS: &[Row] = &[
    row("redirect", redirect),
    row("tc.clone", forward),
    row("tc.redirect_neigh", forward),
    row("tc.redirect_peer", forward),
];

/// Numbers of interfaces are positive, and have 31 bits.
const NUMBERS: i64 = 1 << 31;

fn redirect(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    match call.arg(1) {
        table if table.type_name() == Some("table") => to_table(context, call, &table),
        _ => forward(context, call),
    }
}

pub(super) fn forward(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let hook = context.target.hook;
    // The primitives of general code are of `redirect`.
    let name = if call.name.starts_with("prim.") { "redirect" } else { call.name };
    let (Some(helper), Some(verdict)) = (hook.forward(name), hook.redirect()) else {
        context.fail(Message::new(NOWHERE));
        return Ok(vec![]);
    };
    let mut arms = Vec::new();
    for arm in call.integer_or_string(context, 1)? {
        context.state = arm.state;
        let number = match arm.values.first() {
            Some(Abs::Str(name)) => context.interface_named(name)?,
            Some(Abs::Int(number)) => checked(context, call, *number),
            _ => continue,
        };
        if context.state.alive() {
            send(context, helper, number);
            let gives = (helper != CLONE_REDIRECT).then_some(Abs::Int(Word::Imm(verdict.into())));
            arms.extend(returns(context, gives.into_iter().collect())?);
        }
    }
    Ok(arms)
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
