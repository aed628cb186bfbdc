//! Whether functions of the script may call `next` with a key: all that they do with it is looked at. `next(t)` may be any entry of a
//! shared table if there are no such steps, and must be the first one of an order if there are.

use super::reach::Reach;
use super::script::Functions;
use super::stores::Tables;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, Value};

pub fn may_step(functions: &Functions<'_>, reach: &Reach) -> bool {
    let mut visible = reach.functions.iter().copied().filter(|index| !functions.is_hidden(*index));
    visible.any(|index| {
        let tables = Tables::new(functions, reach, index);
        let prototype = functions.get(index);
        (0..prototype.code.len())
            .any(|pc| gets_next(&tables, prototype, pc) && !is_for_first(functions, index, pc))
    })
}

/// Whether the instruction puts `next` into a register.
fn gets_next(tables: &Tables<'_, '_>, prototype: &Prototype, pc: usize) -> bool {
    use Opcode::*;
    let i = Instruction(prototype.code[pc]);
    let gets = matches!(i.opcode(), Some(GetTabUp | GetUpval | GetField | Move));
    let value = || tables.value_in_register(pc + 1, i.a());
    gets && pc + 1 < prototype.code.len()
        && value().is_some_and(|value| matches!(value, Value::Builtin(name) if name == "next"))
}

/// Whether what the instruction gets is called with one argument, or is for a generic `for` from the first entry on. (A copy of it is got
/// by an instruction of its own.)
fn is_for_first(functions: &Functions<'_>, function: usize, pc: usize) -> bool {
    let prototype = functions.get(function);
    let set_by = |at: usize, register: usize| functions.only_setter(function, at, register);
    let register = Instruction(prototype.code[pc]).a();
    (pc + 1..prototype.code.len()).any(|at| {
        let i = Instruction(prototype.code[at]);
        if i.a() != register || set_by(at, register) != Some(pc) {
            return false;
        }
        match i.opcode() {
            Some(Opcode::Call) => i.b() == 2,
            Some(Opcode::TForPrep) => set_by(at, register + 2)
                .is_some_and(|nil| Instruction(prototype.code[nil]).opcode() == Some(Opcode::LoadNil)),
            _ => false,
        }
    })
}
