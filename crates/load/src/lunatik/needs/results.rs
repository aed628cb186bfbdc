//! What a handler's results are: its own, and those of functions whose results it hands on.

use super::reach::Reached;
use super::values::value;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, Snapshot, Value};

/// The functions among `all` whose results are the handler's, which is the first of them: itself, and those that it calls last (`return f(x)`). All are,
/// where it is not sure which function that is.
pub fn answering<'a>(snapshot: &Snapshot, all: &'a [Reached]) -> Vec<&'a Reached> {
    let mut answering: Vec<&Reached> = all.first().into_iter().collect();
    let mut at = 0;
    while let Some(function) = answering.get(at).copied() {
        at += 1;
        for callee in last_calls(snapshot, function) {
            match callee {
                Callee::Function(value) => {
                    let is = |other: &&Reached| other.is(snapshot, &value);
                    let found = all.iter().find(is).filter(|found| !answering.contains(found));
                    answering.extend(found);
                }
                Callee::Library => {}
                Callee::Unknown => return all.iter().collect(),
            }
        }
    }
    answering
}

enum Callee {
    Function(Value),
    /// Its results are no verdicts, but numbers and texts.
    Library,
    Unknown,
}

/// Whom a function calls last.
fn last_calls(snapshot: &Snapshot, function: &Reached) -> Vec<Callee> {
    let prototype = snapshot.prototype(function.prototype);
    let calls = prototype.code.iter().enumerate().filter_map(|(pc, word)| {
        let i = Instruction(*word);
        (i.opcode() == Some(Opcode::TailCall)).then(|| match value(snapshot, function, pc, i.a()) {
            Some(value @ Value::Closure(_)) => Callee::Function(value),
            Some(Value::Builtin(_)) => Callee::Library,
            _ => Callee::Unknown,
        })
    });
    calls.collect()
}

/// Numbers that a function returns for sure, and where: literals, and variables of load time.
pub fn returned(snapshot: &Snapshot, function: &Reached) -> Vec<(usize, i64)> {
    let prototype = snapshot.prototype(function.prototype);
    let number = |pc: usize, register: usize| {
        let setter = Instruction(prototype.code[prototype.only_setter(pc, register)?]);
        match setter.opcode()? {
            Opcode::LoadI => Some(setter.sbx()),
            Opcode::GetUpval => function.integer(snapshot, setter.b()),
            _ => None,
        }
    };
    let returns = |(pc, word): (usize, &u32)| {
        let i = Instruction(*word);
        let gives = i.opcode() == Some(Opcode::Return1) || i.opcode() == Some(Opcode::Return) && i.b() >= 2;
        Some((pc, number(pc, i.a()).filter(|_| gives)?))
    };
    prototype.code.iter().enumerate().filter_map(returns).collect()
}

/// Where a function returns two values, the second of which is not nil for sure.
pub fn second_result(prototype: &Prototype) -> Option<usize> {
    let returns = |(pc, word): (usize, &u32)| {
        let i = Instruction(*word);
        let is_pair = i.opcode() == Some(Opcode::Return) && i.b() >= 3;
        (is_pair && !is_nil(prototype, pc, i.a() + 1)).then_some(pc)
    };
    prototype.code.iter().enumerate().find_map(returns)
}

fn is_nil(prototype: &Prototype, pc: usize, register: usize) -> bool {
    let setter = prototype.only_setter(pc, register);
    setter.is_some_and(|setter| Instruction(prototype.code[setter]).opcode() == Some(Opcode::LoadNil))
}
