//! What an instruction's operands are for sure: variables of load time, and what is in their tables.

use super::reach::Reached;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Snapshot, TableId, Value};

/// What is known of an operand that is no packet.
pub enum Known {
    Table(TableId),
    Other,
}

/// What a variable of load time is.
pub fn variable(snapshot: &Snapshot, function: &Reached, upvalue: usize) -> Option<Value> {
    function.variable(snapshot, upvalue).cloned()
}

/// What a register holds at an instruction, where that is surely something of load time, or a table that the function has just made.
pub fn known(snapshot: &Snapshot, function: &Reached, pc: usize, register: usize) -> Option<Known> {
    let prototype = snapshot.prototype(function.prototype);
    let setter = Instruction(prototype.code[prototype.only_setter(pc, register)?]);
    match (setter.opcode()?, value(snapshot, function, pc, register)) {
        (Opcode::NewTable | Opcode::Closure, _) => Some(Known::Other),
        (_, Some(Value::Table(table))) => Some(Known::Table(table)),
        (_, value) => value.map(|_| Known::Other),
    }
}

/// The value itself.
pub fn value(snapshot: &Snapshot, function: &Reached, pc: usize, register: usize) -> Option<Value> {
    let prototype = snapshot.prototype(function.prototype);
    let setter = prototype.only_setter(pc, register)?;
    let i = Instruction(prototype.code[setter]);
    let field = |table: Value| {
        let (Value::Table(table), Some(Value::String(name))) = (table, prototype.constants.get(i.c())) else {
            return None;
        };
        snapshot.table(table).field(name).cloned()
    };
    match i.opcode()? {
        Opcode::GetUpval => variable(snapshot, function, i.b()),
        Opcode::GetTabUp => field(variable(snapshot, function, i.b())?),
        Opcode::GetField => field(value(snapshot, function, setter, i.b())?),
        _ => None,
    }
}
