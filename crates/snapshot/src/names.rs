//! Names for error messages: what the bytecode's debug information calls a register or a called function.
//!
//! Follows what Lua's own messages do (`ldebug.c`, "Symbolic Execution"), so that both tiers say the same.

use crate::instruction::{Instruction, Opcode};
use crate::{Prototype, Value};

/// A kind ("local", "global", "field", "method", "upvalue", "constant") and a name: any bytes, for constants are names too.
pub type Name = (&'static str, Vec<u8>);

/// The name of the local variable in `register` that is active at `pc`.
pub fn local_name(prototype: &Prototype, register: usize, pc: usize) -> Option<&str> {
    prototype.local(register, pc).map(|local| local.name.as_str())
}

/// The instruction before `last` that set `register`, as messages see it: loops and what comes later are not looked at
/// ([`Prototype::only_setter`] is sure).
pub(crate) fn setter(prototype: &Prototype, mut last: usize, register: usize) -> Option<usize> {
    use Opcode::*;
    let op = |pc: usize| Instruction(prototype.code[pc]).opcode();
    if matches!(op(last), Some(MmBin | MmBinI | MmBinK)) {
        last -= 1;
    }
    let found = prototype.last_setter(last, register)?;
    is_sure(prototype, found, last).then_some(found)
}

/// No jump leads past the instruction at `pc` to `last` or what is before it.
fn is_sure(prototype: &Prototype, pc: usize, last: usize) -> bool {
    prototype.first_jump_into(pc + 1, last).is_none_or(|from| from >= pc)
}

/// The name that a string constant is in messages: they are made of C strings, which end with a zero.
pub fn constant_name(prototype: &Prototype, index: usize) -> Option<Vec<u8>> {
    match prototype.constants.get(index) {
        Some(Value::String(bytes)) => bytes.split(|byte| *byte == 0).next().map(<[u8]>::to_vec),
        _ => None,
    }
}

fn upvalue_name(prototype: &Prototype, index: usize) -> Vec<u8> {
    prototype.upvalues.get(index).map_or("?", |upvalue| &upvalue.name).into()
}

/// A variable's or constant's name; else, in `Err`, the instruction that set the register, if that is known.
fn basic(prototype: &Prototype, pc: usize, register: usize) -> Result<Name, Option<usize>> {
    if let Some(name) = local_name(prototype, register, pc) {
        return Ok(("local", name.into()));
    }
    let pc = setter(prototype, pc, register).ok_or(None)?;
    let i = Instruction(prototype.code[pc]);
    match i.opcode() {
        Some(Opcode::Move) if i.b() < i.a() => basic(prototype, pc, i.b()),
        Some(Opcode::GetUpval) => Ok(("upvalue", upvalue_name(prototype, i.b()))),
        Some(Opcode::LoadK) => {
            constant_name(prototype, i.bx()).map(|name| ("constant", name)).ok_or(Some(pc))
        }
        _ => Err(Some(pc)),
    }
}

fn global_or_field(name: &[u8]) -> &'static str {
    if name == b"_ENV" { "global" } else { "field" }
}

/// What `register` is called at `pc`.
pub fn of_register(prototype: &Prototype, pc: usize, register: usize) -> Option<Name> {
    let pc = match basic(prototype, pc, register) {
        Ok(name) => return Some(name),
        Err(pc) => pc?,
    };
    let i = Instruction(prototype.code[pc]);
    let indexed = |register: usize| match basic(prototype, pc, register) {
        Ok(("local" | "upvalue", name)) => global_or_field(&name),
        _ => "field",
    };
    let constant = || constant_name(prototype, i.c()).unwrap_or_else(|| b"?".to_vec());
    match i.opcode()? {
        Opcode::GetTabUp => Some((global_or_field(&upvalue_name(prototype, i.b())), constant())),
        Opcode::GetTable => {
            let name = match basic(prototype, pc, i.c()) {
                Ok(("constant", name)) => name,
                _ => b"?".to_vec(),
            };
            Some((indexed(i.b()), name))
        }
        Opcode::GetI => Some(("field", b"integer index".to_vec())),
        Opcode::GetField => Some((indexed(i.b()), constant())),
        Opcode::Self_ => Some(("method", constant())),
        _ => None,
    }
}

/// What an upvalue is called.
pub fn of_upvalue(prototype: &Prototype, index: usize) -> Name {
    ("upvalue", upvalue_name(prototype, index))
}

/// What the function called by the instruction at `pc` is called there.
pub fn of_callee(prototype: &Prototype, pc: usize) -> Option<Name> {
    let i = Instruction(prototype.code[pc]);
    match i.opcode()? {
        Opcode::Call | Opcode::TailCall => of_register(prototype, pc, i.a()),
        Opcode::TForCall => Some(("for iterator", b"for iterator".to_vec())),
        _ => None,
    }
}

/// The message of `OP_ERRNNIL` (`luaG_errnnil`).
pub fn already_defined(prototype: &Prototype, i: Instruction) -> Vec<u8> {
    let name = i.bx().checked_sub(1).and_then(|index| constant_name(prototype, index));
    quoted("global '", &name.unwrap_or_else(|| b"?".to_vec()), "' already defined")
}

/// The name as text, if there is one and it is text.
pub fn text(name: &Option<Name>) -> Option<&str> {
    name.as_ref().and_then(|(_, name)| std::str::from_utf8(name).ok())
}

/// ` (local 'x')`, or nothing: how messages end.
pub fn suffix(name: &Option<Name>) -> Vec<u8> {
    match name {
        Some((kind, name)) => quoted(&format!(" ({kind} '"), name, "')"),
        None => Vec::new(),
    }
}

/// A message with the name behind it.
pub fn named(message: String, name: &Option<Name>) -> Vec<u8> {
    [message.into_bytes(), suffix(name)].concat()
}

/// A name with text around it.
pub fn quoted(before: &str, name: &[u8], after: &str) -> Vec<u8> {
    [before.as_bytes(), name, after.as_bytes()].concat()
}
