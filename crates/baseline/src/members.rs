//! Fields that packet code reads of the library's tables and of Moonhook's modules, and that these do not have; and global variables by
//! the names of verdicts that the script does not have.
//!
//! Lua gives nil for them, and nil as a verdict lets packets pass: a script that means `linux.xdp` and says `xdp` drops nothing. What
//! is found here is warned of, whichever form the script's code has; nothing is refused.

use super::reach::{self, Reach};
use super::script::Functions;
use super::stores::Tables;
use moonhook_runtime::Prelude;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{Prototype, Snapshot, TableId, Value};
use moonhook_specialise::{LowerError, LowerErrorKind, is_of_constants};
use std::collections::{BTreeMap, HashSet};

/// A field by its table and its name.
type Field<'a> = (TableId, &'a [u8]);

/// All reads of fields that are nil because a library has nothing of that name, but for fields that the script assigns, or tests for
/// being there.
pub fn missing_members(snapshot: &Snapshot) -> Vec<LowerError> {
    let owned = owned(snapshot);
    // What the library's own functions do tells nothing of the script's, and reading them takes a millisecond.
    let library = Prelude::default();
    let functions = Functions::new(snapshot, &library);
    let reach = Reach::new(&functions, |_, _| HashSet::new());
    let (mut found, mut expected) = (Vec::new(), HashSet::new());
    for index in reach.functions.iter().copied().filter(|index| !functions.is_hidden(*index)) {
        let tables = Tables::new(&functions, &reach, index);
        let prototype = functions.get(index);
        for pc in 0..prototype.code.len() {
            match used(&tables, prototype, pc) {
                Some((field, true)) => drop(expected.insert(field)),
                Some((field, false)) => {
                    let kind = missing(snapshot, &owned, field);
                    found.extend(kind.map(|kind| (field, tables.loc(pc), kind)));
                }
                None => {}
            }
        }
    }
    found.retain(|(field, ..)| !expected.contains(field));
    found.sort_by_key(|(_, loc, _)| (loc.source, loc.line));
    found.dedup();
    let error = |((_, name), loc, kind)| {
        let place = place(snapshot, loc, &String::from_utf8_lossy(name));
        LowerError { kind, place: place.into() }
    };
    found.into_iter().map(error).collect()
}

/// The field that an instruction is about, and whether the script takes account of its not being there: assigns it, or tests it.
fn used<'a>(tables: &Tables<'_, '_>, prototype: &'a Prototype, pc: usize) -> Option<(Field<'a>, bool)> {
    let i = Instruction(prototype.code[pc]);
    let (table, name, assigned) = match i.opcode()? {
        Opcode::GetField => (tables.in_register(pc, i.b()), i.c(), false),
        Opcode::GetTabUp => (tables.in_upvalue(i.b()), i.c(), false),
        Opcode::SetField => (tables.in_register(pc, i.a()), i.b(), true),
        Opcode::SetTabUp => (tables.in_upvalue(i.a()), i.b(), true),
        _ => return None,
    };
    let Some(Value::String(name)) = prototype.constants.get(name) else { return None };
    Some(((table?, &**name), assigned || is_tested(prototype, pc + 1, i.a())))
}

/// Whether the instruction tests what is in the register.
fn is_tested(prototype: &Prototype, pc: usize, register: usize) -> bool {
    let Some(i) = prototype.code.get(pc).copied().map(Instruction) else { return false };
    match i.opcode() {
        Some(Opcode::Test) => i.a() == register,
        Some(Opcode::TestSet | Opcode::Not) => i.b() == register,
        Some(Opcode::EqK) => i.a() == register && prototype.constants.get(i.b()) == Some(&Value::Nil),
        _ => false,
    }
}

/// What to say of a field that its table has not, if the table is a library's, or that of the globals.
fn missing(
    snapshot: &Snapshot,
    owned: &BTreeMap<TableId, String>,
    (table, name): Field<'_>,
) -> Option<LowerErrorKind> {
    let here = snapshot.table(table);
    if here.metatable.is_some() || here.field(name).is_some() {
        return None;
    }
    let name = String::from_utf8_lossy(name);
    match owned.get(&table) {
        Some(owner) => Some(missing_member(snapshot, (owner, table), &name)),
        None if here.is_library && here.name.as_deref() == Some("_G") => {
            LowerErrorKind::missing_global(&name, snapshot.hooks().next()?)
        }
        None => None,
    }
}

fn missing_member(snapshot: &Snapshot, (owner, table): (&str, TableId), name: &str) -> LowerErrorKind {
    let known = snapshot.table(table).entries.iter().filter_map(|(key, _)| match key {
        Value::String(key) => std::str::from_utf8(key).ok(),
        _ => None,
    });
    LowerErrorKind::missing_member(owner, name, &known.collect::<Vec<_>>())
}

/// The tables of the library and of Moonhook's modules, with the tables in these that have nothing but constants, and what they are called. (The
/// table of the globals is the script's. Tables that files of the script return count as a library's by their names alone.)
fn owned(snapshot: &Snapshot) -> BTreeMap<TableId, String> {
    let mut owned = BTreeMap::new();
    for (table, number) in snapshot.tables.iter().zip(0..) {
        let id = TableId(number);
        let Some(name) = table.name.as_deref().filter(|name| table.is_library && *name != "_G") else {
            continue;
        };
        if is_of_constants(name) {
            add_inside(snapshot, id, name.to_string(), &mut owned);
        } else if reach::is_library(snapshot, id) {
            owned.insert(id, name.to_string());
        }
    }
    owned
}

/// A table and those in it, by the way that leads there.
fn add_inside(snapshot: &Snapshot, id: TableId, name: String, owned: &mut BTreeMap<TableId, String>) {
    for (key, value) in &snapshot.table(id).entries {
        if let (Value::String(key), Value::Table(inside)) = (key, value)
            && !owned.contains_key(inside)
        {
            add_inside(snapshot, *inside, format!("{name}.{}", String::from_utf8_lossy(key)), owned);
        }
    }
    owned.insert(id, name);
}

pub(crate) fn place(snapshot: &Snapshot, loc: moonhook_ir::Loc, name: &str) -> moonhook_diagnostic::Place {
    let source = snapshot.sources.get(usize::from(loc.source));
    moonhook_diagnostic::Place {
        file: source.map_or_else(|| snapshot.script.clone(), |source| source.name.clone()),
        line: loc.line,
        text: source.map_or_else(String::new, |source| source.line(loc.line).to_string()),
        name: Some(name.to_string()),
    }
}
