//! What packet code does with tables of C objects (`bpf.object`) that no form of it can: names that an object does not have, and going through
//! the entries of a map.

use super::members::place;
use super::reach::Reach;
use super::script::Functions;
use super::stores::Tables;
use moonhook_library::own::bpf::MEMBER;
use moonhook_runtime::Prelude;
use moonhook_snapshot::instruction::{Instruction, Opcode};
use moonhook_snapshot::{ObjectTable, Snapshot, TableId, Value};
use moonhook_specialise::{LowerError, LowerErrorKind, OUTSIDE, nearby};
use std::collections::HashSet;

/// Refuses it where it stands in the script, whether packets get there or not, as far as the bytecode tells which tables these are.
///
/// # Errors
/// The first in the script.
pub fn check_objects(snapshot: &Snapshot) -> Result<(), LowerError> {
    if snapshot.object_tables.is_empty() {
        return Ok(());
    }
    let library = Prelude::default();
    let functions = Functions::new(snapshot, &library);
    let reach = Reach::new(&functions, |_, _| HashSet::new());
    let mut found = Vec::new();
    for index in reach.functions.iter().copied().filter(|index| !functions.is_hidden(*index)) {
        let tables = Tables::new(&functions, &reach, index);
        for pc in 0..functions.get(index).code.len() {
            let i = Instruction(functions.get(index).code[pc]);
            let wrong = match i.opcode() {
                Some(Opcode::GetField | Opcode::Self_) => tables
                    .in_register(pc, i.b())
                    .and_then(|table| missing(snapshot, table, functions.get(index).constants.get(i.c())?)),
                Some(Opcode::GetTabUp) => tables
                    .in_upvalue(i.b())
                    .and_then(|table| missing(snapshot, table, functions.get(index).constants.get(i.c())?)),
                Some(Opcode::Call | Opcode::TailCall) => traversed(snapshot, &tables, pc, i.a()),
                _ => None,
            };
            found.extend(wrong.map(|(name, kind)| (tables.loc(pc), name, kind)));
        }
    }
    found.sort_by_key(|(loc, ..)| (loc.source, loc.line));
    match found.into_iter().next() {
        Some((loc, name, kind)) => Err(LowerError { kind, place: place(snapshot, loc, &name).into() }),
        None => Ok(()),
    }
}

/// The name that is wrong, and what is wrong with it.
type Wrong = (String, LowerErrorKind);

/// What to say of a field that the table of an object does not have.
fn missing(snapshot: &Snapshot, table: TableId, name: &Value) -> Option<Wrong> {
    let Value::String(name) = name else { return None };
    let here = snapshot.table(table);
    let metatable = snapshot.table(here.metatable?);
    if metatable.field(b"__index") != Some(&Value::Builtin(MEMBER.name)) || here.field(name).is_some() {
        return None;
    }
    let Some(Value::Integer(number)) = metatable.field(ObjectTable::NUMBER.as_bytes()) else { return None };
    let object = snapshot.object_tables.get(usize::try_from(*number).ok()?)?;
    let name = String::from_utf8_lossy(name).into_owned();
    let known: Vec<&str> = here.entries.iter().filter_map(|(key, _)| known(key, object)).collect();
    let is_refused = object.refused.iter().any(|(refused, _)| *refused == name);
    let help = match (is_refused, known.is_empty()) {
        (true, _) => "`moonhook explain MH0317` tells which ones scripts can use".to_string(),
        (false, true) => format!("the object has no {} that scripts could use", object.what),
        (false, false) => nearby(&name, &known, &format!("its {}s are", object.what)),
    };
    let message = object.problem(&name);
    Some((name, LowerErrorKind::NoMember { message, help }))
}

/// The name, if it is one of the object's: its functions have the table of its maps among them.
fn known<'a>(key: &'a Value, object: &ObjectTable) -> Option<&'a str> {
    let Value::String(key) = key else { return None };
    let key = std::str::from_utf8(key).ok()?;
    (object.what == "map" || key != "maps").then_some(key)
}

/// What to say of a call of `pairs` for what stands for a map.
fn traversed(snapshot: &Snapshot, tables: &Tables<'_, '_>, pc: usize, callee: usize) -> Option<Wrong> {
    let table = tables.in_register(pc, callee + 1)?;
    if tables.value_in_register(pc, callee) != Some(Value::Builtin("pairs")) {
        return None;
    }
    let metatable = snapshot.table(snapshot.table(table).metatable?);
    let Some(Value::String(map)) = metatable.field(ObjectTable::MAP.as_bytes()) else { return None };
    metatable.field(b"__pairs")?;
    let what = format!("`pairs` of the map '{}' of C's", String::from_utf8_lossy(map));
    Some(("pairs".to_string(), LowerErrorKind::SharedUse { what, help: OUTSIDE.to_string() }))
}
