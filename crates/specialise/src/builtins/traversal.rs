//! `pairs` and `next` (Lua manual § 6.2), of tables that lie in maps or in memory.

use super::call::{Call, Row, for_each_type, refuse, returns, row};
use crate::context::{Context, Result};
use crate::error::LowerErrorKind;
use crate::fields::Key;
use crate::paths::Arm;
use crate::shared::{Seen, SeenType};
use crate::tables;
use crate::value::{Abs, Object, Space, Str, Word};
use moonhook_ir::words::{Branches, Words};
use moonhook_snapshot::{ObjectTable, TableId, Value};

pub const ROWS: &[Row] = &[row("pairs", pairs), Row { name: NEXT, any_type: true, emit: next }];

/// What `pairs` gives as iterator. A generic `for` that begins with it and a shared table does not call it.
pub const NEXT: &str = "next";

fn pairs(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if let Abs::Object(Object::Stored(table)) = call.arg(1) {
        let traversal = context.traverse_stored(table);
        return returns(context, vec![Abs::Object(traversal), call.arg(1), Abs::Nil, Abs::Nil]);
    }
    if !is_no_table(call) && table_of(context, call)?.is_none() {
        return refuse(context, call);
    }
    returns(context, vec![Abs::Object(Object::Builtin(NEXT)), call.arg(1), Abs::Nil, Abs::Nil])
}

/// The key may be of any type, and nil among others: one search is made for all.
fn next(context: &mut Context<'_>, call: &Call) -> Result<Vec<Arm>> {
    if let Some(Abs::Union(_)) = call.args.first() {
        return for_each_type(context, call, 0, |context, call| next(context, &call));
    }
    if is_no_table(call) {
        call.wrong_type(context, 1, "table");
        return Ok(vec![]);
    }
    let Some(table) = table_of(context, call)? else { return refuse(context, call) };
    if !context.known.shared.is_shared(context.snapshot, table) {
        return first_of_load_time(context, table);
    }
    context.next_entry(table, &call.arg(2))
}

/// Whether the call is about a plain value, of which it is `next` that says that it is no table.
fn is_no_table(call: &Call) -> bool {
    matches!(call.args.first(), Some(Abs::Nil | Abs::Bool(_) | Abs::Int(_) | Abs::Float(_) | Abs::Str(_)))
}

/// The table of load time that the call is about.
fn table_of(context: &mut Context<'_>, call: &Call) -> Result<Option<TableId>> {
    match call.arg(1) {
        Abs::Object(Object::Table(table)) => {
            if let Some(map) = map_of_object(context, table) {
                let what = format!("`{}` of the map '{map}' of C's", call.name);
                let help = OUTSIDE.to_string();
                return context.refuse(LowerErrorKind::SharedUse { what, help }, Some(call.name));
            }
            if !context.known.shared.is_shared(context.snapshot, table) {
                // Handlers may turn out to write it further on.
                let refusal = refuse(context, call);
                context.findings.refuse_later(refusal)?;
            }
            Ok(Some(table))
        }
        Abs::Entry { path, .. } => context.refuse_traversed_entry(path),
        _ => Ok(None),
    }
}

/// What to do instead of going through a map of a C object.
pub const OUTSIDE: &str =
    "go through it in control code: a timer, or `moonhook exec`; handlers read entries by their keys";

/// The name of the map of a C object that a table stands for.
fn map_of_object(context: &Context<'_>, table: TableId) -> Option<String> {
    let metatable = context.snapshot.table(context.snapshot.table(table).metatable?);
    metatable.field(b"__pairs")?;
    match metatable.field(ObjectTable::MAP.as_bytes()) {
        Some(Value::String(name)) => Some(String::from_utf8_lossy(name).into_owned()),
        _ => None,
    }
}

/// The first entry, or none: for an attempt that ends with a refusal or is made anew, but must see all that handlers do before.
fn first_of_load_time(context: &mut Context<'_>, table: TableId) -> Result<Vec<Arm>> {
    let nothing = context.unknown_condition();
    let (nothing, something) = context.split(nothing);
    let mut arms = vec![Arm { state: nothing, values: vec![Abs::Nil] }];
    context.state = something;
    match tables::first_entry(context.snapshot, table) {
        Some((key, value)) => {
            let mut made = 0;
            let values = [key, value].map(|value| context.unknown_like(&value, &mut made)).to_vec();
            arms.extend(returns(context, values)?);
        }
        None => arms.extend(context.only(Abs::Nil)?),
    }
    Ok(arms)
}

impl Context<'_> {
    /// A value of which no more is known than the type of one of load time. Tables are the ones with numbers from `made` on
    /// of this instruction; what no entry can be is itself.
    fn unknown_like(&mut self, value: &Value, made: &mut usize) -> Abs {
        if Seen::of_value(self.snapshot, value).is_err() {
            return Abs::of_load_time(self.snapshot, value);
        }
        let mut unknown = || self.launder(&[Word::Imm(0)]).pop().unwrap_or(Word::Imm(0));
        match value {
            Value::Boolean(_) => Abs::Bool(unknown()),
            Value::Integer(_) => Abs::Int(unknown()),
            Value::Float(_) => Abs::Float(unknown()),
            Value::String(text) => Abs::Str(match Seen::kind_of_text(text) {
                SeenType::Ipv4Text => Str::Ipv4(unknown()),
                SeenType::Ipv6Text => Str::Ipv6(unknown(), unknown()),
                SeenType::MacText => Str::Mac(unknown()),
                _ => Str::Slice { space: Space::Pool, start: unknown(), length: unknown() },
            }),
            Value::Table(table) => {
                let number = self.make_numbered_table(*made);
                *made += 1;
                for (key, value) in &self.snapshot.table(*table).entries {
                    if let Value::String(name) = key {
                        let value = self.unknown_like(value, made);
                        self.set_made_field(number, Key::Text(name.clone()), value);
                    }
                }
                Abs::Object(Object::Made(number))
            }
            other => Abs::of_load_time(self.snapshot, other),
        }
    }
}
