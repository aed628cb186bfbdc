//! Whether functions of the script may call `next` with a key: all that they do with it is looked at, and with `pairs`, which gives it.
//! `next(t)` may be any entry of a shared table if there are no such steps, and must be the first one of an order if there are.

use super::reach::{self, Reach};
use super::script::Functions;
use super::stores::Tables;
use moonhook_snapshot::Value;
use moonhook_snapshot::instruction::{Instruction, Opcode};

pub fn may_step(functions: &Functions<'_>, reach: &Reach) -> bool {
    let mut visible = reach.functions.iter().copied().filter(|index| !functions.is_hidden(*index));
    is_in_reach(functions, reach)
        || visible.any(|index| {
            let code = Gets { functions, tables: Tables::new(functions, reach, index), index };
            code.unknown_upvalues(reach) || code.all().any(|pc| code.may_step(pc))
        })
}

/// `next`, and what gives it.
fn is_next(value: &Value) -> bool {
    matches!(value, Value::Builtin("next" | "pairs"))
}

/// Whether a table that packet code reaches has one of them; that of the globals counts where it may be read by computed names.
fn is_in_reach(functions: &Functions<'_>, reach: &Reach) -> bool {
    let globals_are_a_value = reach.mentions.contains(b"_G".as_slice());
    let snapshot = functions.snapshot;
    reach.tables.iter().any(|id| {
        let is_open =
            !reach::is_library(snapshot, *id) || globals_are_a_value && reach::is_globals(snapshot, *id);
        is_open
            && reach::present(snapshot, *id, &reach.mentions).iter().any(|(key, value)| {
                is_next(key) || is_next(value) && (!reach::is_library(snapshot, *id) || names_next(key))
            })
    })
}

/// Whether a global variable may be stepped with; `pairs` is in most scripts, and called where it is named.
fn names_next(key: &Value) -> bool {
    matches!(key, Value::String(name) if **name == *b"next")
}

/// A function, and where it gets `next` or `pairs`.
struct Gets<'f, 'a> {
    functions: &'f Functions<'a>,
    tables: Tables<'f, 'a>,
    index: usize,
}

impl Gets<'_, '_> {
    fn all(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.functions.get(self.index).code.len()
    }

    fn at(&self, pc: usize) -> Option<Instruction> {
        self.functions.get(self.index).code.get(pc).copied().map(Instruction)
    }

    /// Whether one of them may be in a variable of load time of which is not known what it holds.
    fn unknown_upvalues(&self, reach: &Reach) -> bool {
        reach.unfixed_cells(self.index).any(|cell| is_next(&self.functions.snapshot.cell(cell).value))
    }

    /// Whether the instruction gets one of them and what follows is more than the beginning of a traversal.
    fn may_step(&self, pc: usize) -> bool {
        use Opcode::*;
        let Some(i) = self.at(pc) else { return false };
        if !matches!(i.opcode(), Some(GetTabUp | GetUpval | GetField | Move)) || self.at(pc + 1).is_none() {
            return false;
        }
        match self.tables.value_in_register(pc + 1, i.a()) {
            Some(Value::Builtin("next")) => !self.is_for_first(pc, i.a()),
            Some(Value::Builtin("pairs")) => !self.is_called_for(pc, i.a()),
            Some(_) => false,
            // A global variable that packets assign.
            None => i.opcode() == Some(GetTabUp) && self.is_named(i.c(), &[b"next", b"pairs"]),
        }
    }

    fn is_named(&self, constant: usize, names: &[&[u8]]) -> bool {
        let constant = self.functions.get(self.index).constants.get(constant);
        matches!(constant, Some(Value::String(name)) if names.contains(&&**name))
    }

    fn set_by(&self, at: usize, register: usize) -> Option<usize> {
        self.functions.only_setter(self.index, at, register)
    }

    /// Instructions that take what the one at `pc` has put into a register, as far as is sure.
    fn takers(&self, pc: usize, register: usize) -> impl Iterator<Item = (usize, Instruction)> {
        let later = self.all().skip(pc + 1).filter_map(|at| Some((at, self.at(at)?)));
        later.filter(move |(at, i)| i.a() == register && self.set_by(*at, register) == Some(pc))
    }

    /// Whether `next` is called with one argument, or is for a generic `for` from the first entry on. (A copy of it is got by an
    /// instruction of its own.)
    fn is_for_first(&self, pc: usize, register: usize) -> bool {
        self.takers(pc, register).any(|(at, i)| match i.opcode() {
            Some(Opcode::Call) => i.b() == 2,
            Some(Opcode::TForPrep) => self
                .set_by(at, register + 2)
                .and_then(|nil| self.at(nil))
                .is_some_and(|nil| nil.opcode() == Some(Opcode::LoadNil)),
            _ => false,
        })
    }

    /// Whether `pairs` is called, and what it gives is for a generic `for`.
    fn is_called_for(&self, pc: usize, register: usize) -> bool {
        let mut calls = self.takers(pc, register).filter(|(_, i)| i.opcode() == Some(Opcode::Call));
        calls.any(|(call, _)| self.takers(call, register).any(|(_, i)| i.opcode() == Some(Opcode::TForPrep)))
    }
}
