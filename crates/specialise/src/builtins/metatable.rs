//! Metatables and raw access (Lua manual § 6.2), of tables made at packet time.

use super::call::{Call, Row, refuse, row};
use crate::context::{Context, Result};
use crate::fields::Key;
use crate::paths::Arm;
use crate::value::{Abs, Object};

pub const ROWS: &[Row] = &[
    row("setmetatable", set_metatable),
    row("getmetatable", get_metatable),
    row("rawget", raw_get),
    row("rawset", raw_set),
];

/// Metamethods that mean something to the collector only, or to a variable that is closed.
const UNKNOWN: [&str; 3] = ["__gc", "__mode", "__close"];

/// What keeps a metatable from being replaced, and from being seen.
const PROTECTED: &str = "__metatable";

fn set_metatable(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let (Abs::Object(Object::Made(table)), metatable) = (call.arg(1), call.arg(2)) else {
        return refuse(context, call);
    };
    let metatable = match metatable {
        Abs::Nil if call.args.len() > 1 => None,
        Abs::Object(object @ (Object::Table(_) | Object::Made(_))) => Some(object),
        _ => return refuse(context, call),
    };
    let old = context.state.metatable_of(context.snapshot, &Object::Made(table));
    let has =
        |known: &Object, event: &str| context.state.metafield(context.snapshot, known, event) != Abs::Nil;
    let is_unknown = old.iter().chain(&metatable).any(|known| UNKNOWN.iter().any(|event| has(known, event)));
    if is_unknown || old.is_some_and(|old| has(&old, PROTECTED)) {
        return refuse(context, call);
    }
    if let Some(made) = context.state.tables.get_mut(&table) {
        made.metatable = metatable;
    }
    context.only(call.arg(1))
}

fn get_metatable(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    let Abs::Object(object @ (Object::Made(_) | Object::Stored(_) | Object::Table(_))) = call.arg(1) else {
        return refuse(context, call);
    };
    let Some(metatable) = context.state.metatable_of(context.snapshot, &object) else {
        return context.only(Abs::Nil);
    };
    match context.state.metafield(context.snapshot, &metatable, PROTECTED) {
        Abs::Nil => context.only(Abs::Object(metatable)),
        protected => context.only(protected),
    }
}

fn raw_get(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    match call.arg(1) {
        Abs::Object(Object::Made(table)) if call.args.len() > 1 => context.made_lookup(table, &call.arg(2)),
        Abs::Object(Object::Stored(table)) if call.args.len() > 1 => context.read_stored(table, &call.arg(2)),
        _ => refuse(context, call),
    }
}

fn raw_set(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    match (call.arg(1), Key::of(&call.arg(2))) {
        (Abs::Object(Object::Made(table)), Some(key)) if call.args.len() > 2 => {
            context.set_made_field(table, key, call.arg(3));
            context.only(call.arg(1))
        }
        (Abs::Object(Object::Stored(table)), _) if call.args.len() > 2 => {
            context.write_stored(table, &call.arg(2), &call.arg(3))?;
            context.only(call.arg(1))
        }
        _ => refuse(context, call),
    }
}
