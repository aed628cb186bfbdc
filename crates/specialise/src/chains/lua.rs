//! Functions in Lua that chains call: with numbers, and with the packet if they are programs of packages. What they give is a number, and perhaps
//! the packet's verdict behind it.

use super::lower::Call;
use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::message::Message;
use crate::sites::Turn;
use crate::value::{Abs, Object, Word};
use moonhook_ir::words::{Branches, Path};

/// Calls the function with that number among those that the chain was given.
pub fn call(
    context: &mut Context<'_>,
    name: &str,
    (number, takes_packet): (usize, bool),
    call: &Call<'_>,
) -> Result<Word> {
    let Some(function) = context.execution.chain_functions.get(number).cloned() else {
        let what = format!("calling the Lua function `{name}` from a chain in general code");
        let help = "let what the handlers do have expanded code: `--form expanded` says what has none";
        let reason = "the chain is called by routines there, which cannot call back";
        return context.refuse(LowerErrorKind::Linked { what, reason, help }, None);
    };
    let packet = takes_packet.then_some(Abs::Object(Object::Packet));
    let arguments = packet.into_iter().chain(call.arguments.iter().copied().map(Abs::Int)).collect();
    // Calls at different places are different, although they come from one instruction in Lua.
    let calls = context.execution.calls.len();
    context.execution.turns.push(Turn { number: call.place, code: 0..0, calls });
    let outside = context.code.loc;
    let arms = context.call(&function, arguments, Some(("function", name.as_bytes().to_vec())));
    context.execution.turns.pop();
    let mut paths = Vec::new();
    for arm in arms? {
        context.state = arm.state;
        context.code.loc = outside;
        let verdict = arm.values.get(1).cloned().unwrap_or(Abs::Nil);
        for (state, verdict) in context.alternatives(&verdict)? {
            context.state = state;
            match verdict {
                Abs::Nil => given(context, name, arm.values.first(), &mut paths)?,
                Abs::Int(verdict) => context.around.decide(context, verdict),
                other => wrong(context, name, "verdict", &other),
            }
        }
    }
    context.meet_word(paths)
}

/// Goes on with the number that the function has given.
fn given(
    context: &mut Context<'_>,
    name: &str,
    value: Option<&Abs>,
    paths: &mut Vec<Path<crate::state::State, Vec<Word>>>,
) -> Result<()> {
    for (state, value) in context.alternatives(value.unwrap_or(&Abs::Nil))? {
        context.state = state;
        let number = match value {
            Abs::Nil => Word::Imm(0),
            Abs::Int(word) | Abs::Bool(word) => word,
            other => {
                wrong(context, name, "integer", &other);
                continue;
            }
        };
        if context.alive() {
            paths.push(context.take_path(vec![number]));
        }
    }
    Ok(())
}

fn wrong(context: &mut Context<'_>, name: &str, expected: &str, value: &Abs) {
    if context.alive() {
        let got = value.message_name();
        context.fail(Message::bare(format!(
            "the function '{name}' gives a chain a {got} value, expected a {expected}"
        )));
    }
}
