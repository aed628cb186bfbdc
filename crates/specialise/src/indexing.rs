//! `object[key]`: tables with `__index`, packets, headers, strings (Lua manual § 2.4, § 3.2).

use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::fields::Key;
use crate::names::{self, Name};
use crate::ops::comparison;
use crate::paths::Arm;
use crate::shared::held::STALE;
use crate::value::{Abs, Object, Str, Union, Variant, Word};
use crate::{builtins, objects, tables, trace};
use moonhook_btf::TypeId;
use moonhook_library::standard::STRING;
use moonhook_snapshot::TableId;
use std::rc::Rc;

/// `__index` tables that may lead from one to the next; Lua has 2000 (`MAXTAGLOOP`), which only a loop reaches.
const MAX_CHAIN: usize = 50;

/// `object[key]`, with one arm for each way of getting it, for objects and keys without a name in the script.
pub fn index(context: &mut Context<'_>, object: &Abs, key: &Abs) -> Result<Vec<Arm>> {
    index_arms(context, object, key, &None)
}

/// `object[key]`, with one arm for each way of getting it.
pub fn index_arms(
    context: &mut Context<'_>,
    object: &Abs,
    key: &Abs,
    name: &Option<Name>,
) -> Result<Vec<Arm>> {
    let certain = !matches!(object, Abs::Union(_));
    let mut each = |context: &mut Context<'_>, object: &Abs| index_value(context, object, key, name, certain);
    match tables::columns::index(context, object, key, &mut each)? {
        Some(arms) => Ok(arms),
        None => context.arms_of_each(object, &mut each),
    }
}

fn index_value(
    context: &mut Context<'_>,
    object: &Abs,
    key: &Abs,
    name: &Option<Name>,
    certain: bool,
) -> Result<Vec<Arm>> {
    match object {
        Abs::Object(Object::Table(table)) => index_table(context, *table, key, 0),
        Abs::Object(Object::Made(table)) => index_made(context, *table, key, 0),
        Abs::Object(Object::Stored(table)) => context.read_stored(*table, key).map(uncertain),
        Abs::Entry { path, base } => context.read_entry(*path, *base, key),
        Abs::Structure { type_id, address } => {
            index_structure(context, (TypeId(*type_id), *address), key, name)
        }
        stale if *stale == STALE => context.refuse_stale(names::text(name)),
        Abs::Object(Object::Packet | Object::Argument | Object::Header(_)) => {
            let Abs::Object(object) = object else { return Ok(vec![]) };
            match key {
                Abs::Str(Str::Const(field)) => objects::field(context, object, field),
                Abs::Union(_) => context.arms_of_each(key, &mut |context, key| {
                    index_value(context, &Abs::Object(object.clone()), key, name, certain)
                }),
                Abs::Int(Word::Imm(number)) if context.target.hook.is_trace() => {
                    trace::no_such_field(context, trace::EVENT.to_string(), *number)
                }
                _ if context.target.hook.is_trace() => context.unsupported(
                    "reading an event's field by what is no constant name",
                    "write the field's name after a dot",
                    names::text(name),
                ),
                Abs::Int(_) | Abs::Float(_) => context.unsupported(
                    "indexing a packet by a number",
                    "read a byte with `pkt:getbyte(offset)`; offsets count from 0",
                    names::text(name),
                ),
                _ => context.unsupported(
                    "reading a packet's field by a name that is not constant",
                    "write the field's name after a dot",
                    names::text(name),
                ),
            }
        }
        Abs::Str(_) => index_string(context, object, key, name, certain),
        Abs::Object(Object::Opaque("userdata", _)) => context.unsupported(
            "using a file or another object of load time",
            "take what you need from it at load time, outside the handler",
            names::text(name),
        ),
        other => {
            let type_name = other.message_name();
            let message = names::named(format!("attempt to index a {type_name} value"), name);
            context.type_error(message, certain, names::text(name));
            Ok(vec![])
        }
    }
}

/// A field of one of the kernel's structures, or an element of an array.
fn index_structure(
    context: &mut Context<'_>,
    structure: (TypeId, Word),
    key: &Abs,
    name: &Option<Name>,
) -> Result<Vec<Arm>> {
    match key {
        Abs::Str(Str::Const(field)) => trace::field(context, structure, &String::from_utf8_lossy(field)),
        Abs::Union(_) => {
            context.arms_of_each(key, &mut |context, key| index_structure(context, structure, key, name))
        }
        Abs::Int(number) if trace::length(context.snapshot, structure.0.0).is_some() => {
            trace::element(context, structure, *number).map(Option::unwrap_or_default)
        }
        Abs::Int(Word::Imm(number)) => {
            let owner = trace::type_name(context.snapshot, structure.0);
            trace::no_such_field(context, owner, *number)
        }
        _ => context.unsupported(
            "reading a structure's field by a name that is not constant",
            "write the field's name after a dot; elements of arrays have numbers from 0 on",
            names::text(name),
        ),
    }
}

/// A method of strings.
fn index_string(
    context: &mut Context<'_>,
    object: &Abs,
    key: &Abs,
    name: &Option<Name>,
    certain: bool,
) -> Result<Vec<Arm>> {
    if let Some(methods) = context.snapshot.strings {
        return index_value(context, &Abs::Object(Object::Table(methods)), key, name, certain);
    }
    match key {
        Abs::Str(Str::Const(method)) => {
            let full = format!("string.{}", String::from_utf8_lossy(method));
            let found = builtins::find(&STRING, method);
            if found.is_none() && builtins::is_library_function(&full) {
                let help = "use `--form auto`".to_string();
                return context.refuse(LowerErrorKind::Builtin { name: full, help, general: true }, None);
            }
            context.only(found.map_or(Abs::Nil, |name| Abs::Object(Object::Builtin(name))))
        }
        Abs::Union(_) => {
            context.arms_of_each(key, &mut |context, key| index_value(context, object, key, name, certain))
        }
        Abs::Str(_) => context.unsupported(
            "reading a string's method by a name that is not constant",
            "write the method's name behind a colon",
            names::text(name),
        ),
        _ => context.only(Abs::Nil),
    }
}

/// A key that depends on the packet, in a table that happens to have no such entries, always finds nil. That says something
/// of the data, not of the script: an error about that nil is not certain.
fn uncertain(mut arms: Vec<Arm>) -> Vec<Arm> {
    if arms.iter().all(|arm| arm.values.first() == Some(&Abs::Nil)) {
        let (tag, none) = (Word::Imm(Variant::Nil.tag()), Word::Imm(0));
        let nil = Abs::Union(Rc::new(Union { variants: vec![Variant::Nil], tag, payload: [none; 2] }));
        arms.iter_mut().for_each(|arm| arm.values = vec![nil.clone()]);
    }
    arms
}

/// A table of load time, with `__index` (manual § 2.4).
fn index_table(context: &mut Context<'_>, table: TableId, key: &Abs, chain: usize) -> Result<Vec<Arm>> {
    if context.known.shared.is_shared(context.snapshot, table) {
        return context.read_shared(table, key);
    }
    if context.snapshot.table(table).metatable.is_none() && !matches!(key, Abs::Str(Str::Const(_))) {
        return Ok(uncertain(tables::lookup_arms(context, table, key)?));
    }
    let value = match key {
        Abs::Str(Str::Const(text)) => context.field_of_table(table, text),
        key => tables::lookup(context, table, key)?,
    };
    index_missing(context, Object::Table(table), value, key, chain)
}

/// A table made at packet time, with `__index`.
fn index_made(context: &mut Context<'_>, table: u32, key: &Abs, chain: usize) -> Result<Vec<Arm>> {
    let arms = context.made_lookup(table, key)?;
    let object = Object::Made(table);
    if context.state.metatable_of(context.snapshot, &object).is_none() {
        return Ok(if Key::of(key).is_some() { arms } else { uncertain(arms) });
    }
    let Some(values) = context.join(arms)? else { return Ok(vec![]) };
    index_missing(context, object, values.into_iter().next().unwrap_or(Abs::Nil), key, chain)
}

/// Where `value`, which the object itself has under `key`, is nil, `__index` says what comes instead.
fn index_missing(
    context: &mut Context<'_>,
    object: Object,
    value: Abs,
    key: &Abs,
    chain: usize,
) -> Result<Vec<Arm>> {
    let Some(metatable) = context.state.metatable_of(context.snapshot, &object) else {
        return context.only(value);
    };
    let handler = context.state.metafield(context.snapshot, &metatable, "__index");
    if handler == Abs::Nil {
        return context.only(value);
    }
    let missing = comparison::equal(context, &value, &Abs::Nil)?;
    let (missing, found) = context.split_truth(&missing);
    let mut arms: Vec<Arm> =
        found.into_iter().map(|state| Arm { state, values: vec![value.clone()] }).collect();
    for state in missing {
        context.state = state;
        match &handler {
            Abs::Object(Object::Closure(_) | Object::Builtin(_)) => {
                let metamethod = Some(("metamethod", b"index".to_vec()));
                let args = vec![Abs::Object(object.clone()), key.clone()];
                arms.extend(context.call(&handler, args, metamethod)?);
            }
            handler => {
                arms.extend(index_chained(context, handler, key, chain)?);
            }
        }
    }
    arms.iter_mut().for_each(|arm| arm.values.resize(1, Abs::Nil));
    Ok(arms)
}

/// The object that `__index` leads to; `chain` counts how many led there (`luaV_finishget`).
fn index_chained(context: &mut Context<'_>, object: &Abs, key: &Abs, chain: usize) -> Result<Vec<Arm>> {
    match object {
        Abs::Object(first @ (Object::Table(_) | Object::Made(_)))
            if chain >= MAX_CHAIN && chain >= MAX_CHAIN + loop_from(context, first).unwrap_or(0) =>
        {
            let help = "let the last table's metatable have no `__index`";
            if loop_from(context, first).is_none() {
                return context.unsupported("a chain of so many tables by `__index`", help, None);
            }
            context.certain_error("'__index' chain too long; possible loop", None, help);
            Ok(vec![])
        }
        Abs::Object(Object::Table(table)) => index_table(context, *table, key, chain + 1),
        Abs::Object(Object::Made(table)) => index_made(context, *table, key, chain + 1),
        object => index_arms(context, object, key, &None),
    }
}

/// After how many tables `__index` leads back to one, if it does so soon.
fn loop_from(context: &mut Context<'_>, first: &Object) -> Option<usize> {
    let mut at = first.clone();
    for length in 1..=MAX_CHAIN {
        let metatable = context.state.metatable_of(context.snapshot, &at)?;
        match context.state.metafield(context.snapshot, &metatable, "__index") {
            Abs::Object(next) if next == *first => return Some(length),
            Abs::Object(next) => at = next,
            _ => return None,
        }
    }
    None
}
