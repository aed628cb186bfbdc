//! Calls and returns.

use crate::context::{Context, Result};
use crate::frame::{Frame, Next};
use crate::opcode::{Instruction, Opcode};
use crate::paths::Arm;
use crate::value::{Abs, Object};
use crate::{builtins, names};
use moonhook_ir::words::{Branches, PathState};
use std::collections::BTreeMap;

pub fn execute<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    opcode: Opcode,
    i: Instruction,
    pc: usize,
) -> Result<Next> {
    match opcode {
        Opcode::Call => call(context, frame, i, pc),
        Opcode::TailCall => {
            for arm in called(context, frame, i, pc)? {
                context.state = arm.state;
                context.return_values(frame, arm.values);
            }
            Ok(Next::Done)
        }
        _ => {
            let values = match opcode {
                Opcode::Return0 => vec![],
                Opcode::Return1 => vec![context.state.get(i.a())],
                _ => operands(context, frame, i.a(), i.b()),
            };
            context.return_values(frame, values);
            Ok(Next::Done)
        }
    }
}

/// `count - 1` values from `first` on, or, if `count` is 0, all up to the end of the open list.
fn operands<'a>(context: &mut Context<'a>, frame: &mut Frame<'a>, first: usize, count: usize) -> Vec<Abs> {
    match (count, frame.open.take()) {
        (0, Some((base, open))) => {
            (first..base).map(|register| context.state.get(register)).chain(open).collect()
        }
        (0, None) => vec![],
        (count, _) => (first..first + count - 1).map(|register| context.state.get(register)).collect(),
    }
}

/// Executes the call that the instruction makes.
fn called<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    i: Instruction,
    pc: usize,
) -> Result<Vec<Arm>> {
    let callee = context.state.get(i.a());
    let args = operands(context, frame, i.a() + 1, i.b());
    let name = names::of_callee(frame.prototype, pc);
    context.call(&callee, args, name)
}

/// `print(…, string.format(…))`: the event carries the values and their conversions, and no text is made in the kernel.
/// Gives the arms with which `print` returns, if that is what is called.
fn formatted_print<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    i: Instruction,
    pc: usize,
) -> Result<Option<Vec<Arm>>> {
    let next = Instruction(frame.prototype.code.get(pc + 1).copied().unwrap_or(0));
    let takes_all = i.c() == 0 && next.opcode() == Some(Opcode::Call) && next.b() == 0;
    let is = |context: &Context<'a>, register: usize, builtin: &str| matches!(context.state.get(register), Abs::Object(Object::Builtin(name)) if name == builtin);
    if !takes_all || !is(context, next.a(), "print") || !is(context, i.a(), "string.format") {
        return Ok(None);
    }
    if i.b() == 1 || matches!(context.state.get(i.a() + 1), Abs::Union(_)) {
        return Ok(None);
    }
    let args = operands(context, frame, i.a() + 1, i.b());
    let called = names::of_callee(frame.prototype, pc);
    let call = builtins::call::Call { name: "string.format", args, called, narrowed: false };
    let values: Vec<Abs> = (next.a() + 1..i.a()).map(|register| context.state.get(register)).collect();
    builtins::output::print_with(context, &values, Some(&call)).map(Some)
}

fn call<'a>(context: &mut Context<'a>, frame: &mut Frame<'a>, i: Instruction, pc: usize) -> Result<Next> {
    if let Some(arms) = formatted_print(context, frame, i, pc)? {
        let print = Instruction(frame.prototype.code[pc + 1]);
        return match returned(context, frame, print, arms, pc + 1)? {
            Next::Continue => Ok(Next::At(pc + 2)),
            next => Ok(next),
        };
    }
    let arms = called(context, frame, i, pc)?;
    returned(context, frame, i, arms, pc)
}

/// Puts the results of the call at `pc` where they belong.
fn returned<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    i: Instruction,
    mut arms: Vec<Arm>,
    pc: usize,
) -> Result<Next> {
    if i.c() > 0 {
        let wanted = i.c() - 1;
        arms.iter_mut().for_each(|arm| arm.values.resize(wanted, Abs::Nil));
        if wanted == 1 {
            return super::access::take_arms(context, frame, i.a(), arms, pc);
        }
        let Some(values) = context.join(arms)? else { return Ok(Next::Done) };
        for (offset, value) in values.into_iter().enumerate() {
            context.state.set(i.a() + offset, value);
        }
        return Ok(Next::Continue);
    }
    let mut by_length: BTreeMap<usize, Vec<Arm>> = BTreeMap::new();
    for arm in arms.into_iter().filter(|arm| arm.state.alive()) {
        by_length.entry(arm.values.len()).or_default().push(arm);
    }
    if by_length.len() <= 1 {
        let Some(values) = context.join(by_length.into_values().flatten().collect())? else {
            return Ok(Next::Done);
        };
        frame.open = Some((i.a(), values));
        return Ok(Next::Continue);
    }
    consume_each(context, frame, i.a(), by_length, pc + 1)
}

/// How many values there are depends on the path here: whatever takes them is executed once for each number of values.
fn consume_each<'a>(
    context: &mut Context<'a>,
    frame: &mut Frame<'a>,
    base: usize,
    by_length: BTreeMap<usize, Vec<Arm>>,
    pc: usize,
) -> Result<Next> {
    let mut after = Vec::new();
    let mut end = None;
    context.note_passed();
    for arms in by_length.into_values() {
        let Some(values) = context.join(arms)? else { continue };
        frame.open = Some((base, values));
        let mut at = pc;
        while frame.open.is_some() && context.state.alive() {
            context.set_pc(frame, at);
            let instruction = Instruction(frame.prototype.code[at]);
            let Some(opcode) = instruction.opcode() else { return Ok(Next::Done) };
            match super::execute(context, frame, opcode, instruction, at)? {
                Next::Continue => at += 1,
                Next::At(next) => at = next,
                Next::Done => break,
            }
        }
        frame.open = None;
        if context.state.alive() {
            end = Some(at);
            after.push(context.take_state());
        }
    }
    context.enter(after)?;
    Ok(end.map_or(Next::Done, Next::At))
}
