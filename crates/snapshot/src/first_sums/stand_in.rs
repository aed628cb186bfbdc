//! New tables that stand in for ones that are not there: `local r = t[k] or { n = 0 } r.n = r.n + 1 t[k] = r`.

use super::{First, FirstField, MOST};
use crate::Value;
use crate::instruction::Opcode;
use crate::same_word::{Amount, DEPTH, Function};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The assignment at `pc` of a table that is the place's own, or a new one where there is none, after something was added to fields of
/// either.
pub fn assigned(function: &Function<'_>, pc: usize) -> Option<First> {
    let Amount::Register(register) = function.assigned(pc)? else { return None };
    let (read, over) = function.read_or(pc, register)?;
    let made = read + 3;
    let end = made + usize::try_from(over).ok()?;
    let place = |at: usize| Some((function.object(at, DEPTH)?, function.key(at)?));
    if end + MOST < pc || place(read)? != place(pc)? || !is_new_table(function, made..end, register) {
        return None;
    }
    let mut fields = BTreeMap::new();
    let mut others = BTreeSet::new();
    for at in end..pc {
        let i = function.at(at);
        let stays = function.jump_from(at).is_none_or(|to| to > at && to <= pc);
        if !stays || function.ends_line(at) || hands_on(function, at, register) {
            return None;
        }
        if i.opcode() == Some(Opcode::SetField) && i.a() == register {
            let own = function.sum_at(at).filter(|sum| function.key(sum.read) == function.key(at));
            match own.and_then(|_| initial(function, made..end, i.b())) {
                Some(from) => _ = fields.insert(i.b(), from),
                None => _ = others.insert(i.b()),
            }
        }
    }
    fields.retain(|name, _| !others.contains(name));
    let named = |(name, from)| match function.0.constants.get(name) {
        Some(Value::String(name)) => Some(FirstField { name: name.clone(), from }),
        _ => None,
    };
    let fields: Vec<_> = fields.into_iter().filter_map(named).collect();
    (!fields.is_empty()).then_some(First { read, direct: false, fields })
}

/// Whether the instructions make a new table in a register, with nothing but what its constructor says.
fn is_new_table(function: &Function<'_>, range: Range<usize>, register: usize) -> bool {
    let is = |pc: usize, opcode| function.at(pc).opcode() == Some(opcode) && function.at(pc).a() == register;
    is(range.start, Opcode::NewTable)
        && range.clone().skip(1).all(|pc| !function.at(pc).sets(register) && function.jump_from(pc).is_none())
}

/// What a constructor assigns to the field of that name, if that is a constant: 0 if it assigns nothing.
fn initial(function: &Function<'_>, constructor: Range<usize>, name: usize) -> Option<i64> {
    let assigns = |pc: &usize| {
        let i = function.at(*pc);
        i.opcode() == Some(Opcode::SetField) && i.b() == name
    };
    let Some(pc) = constructor.rev().find(assigns) else { return Some(0) };
    match function.assigned(pc)? {
        Amount::Constant(value) => Some(value),
        Amount::Register(register) => {
            let i = function.at(function.0.only_setter(pc, register)?);
            (i.opcode() == Some(Opcode::LoadI)).then(|| i.sbx())
        }
    }
}

/// The instruction may give a register's value to something else, which may assign its fields.
fn hands_on(function: &Function<'_>, pc: usize, register: usize) -> bool {
    use Opcode::*;
    let i = function.at(pc);
    match i.opcode() {
        Some(Move) => i.b() == register,
        Some(SetTable | SetI | SetField | SetTabUp | SetUpval) => {
            function.assigned(pc) == Some(Amount::Register(register))
        }
        Some(Self_) => i.b() == register,
        Some(SetList | Closure) => true,
        _ => false,
    }
}
