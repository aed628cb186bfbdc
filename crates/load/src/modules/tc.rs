//! `require "tc"`: registers handlers for the tc hooks, a function for each direction, and sends packets elsewhere from there.

use mlua::{Table, Value};
use moonhook_hook::{Hook, Order, Other, Point, TC_EGRESS, TC_INGRESS};

use super::attach::{add_detach, add_points};
use super::module::{Context, Module, type_error, type_name};
use crate::globals::redirect::forward;
use moonhook_library::key;

pub(super) const MODULE: Module = Module { name: "tc", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    for (name, hook) in [("tc.ingress", &TC_INGRESS), ("tc.egress", &TC_EGRESS)] {
        add_points(context, &table, name, move |arguments| registered(arguments, name, hook))?;
    }
    for name in ["tc.redirect_neigh", "tc.redirect_peer"] {
        let function = context.function(name, move |_, arguments| forward(name, arguments))?;
        table.raw_set(key(name), function)?;
    }
    let clone =
        context.function("tc.clone", |_, arguments| forward("tc.clone", arguments).map(|_| Value::Nil))?;
    table.raw_set(key("tc.clone"), clone)?;
    add_detach(context, &table, "tc.detach", &[&TC_INGRESS, &TC_EGRESS])?;
    Ok(table)
}

/// `(function[, order])`.
fn registered(arguments: &[Value], name: &str, hook: &'static Hook) -> Result<(Vec<Point>, Value), String> {
    let Some(Value::Function(function)) = arguments.first() else {
        return Err(type_error(arguments, 1, key(name), "function"));
    };
    let order = match arguments.get(1) {
        None | Some(Value::Nil) => Order::default(),
        Some(Value::Table(fields)) => order(fields)?,
        Some(_) => return Err(type_error(arguments, 2, key(name), "table")),
    };
    Ok((vec![Point { order, ..Point::at_interface(hook) }], Value::Function(function.clone())))
}

/// What a table says of where a program stands among others: one field.
fn order(fields: &Table) -> Result<Order, String> {
    let mut found = Vec::new();
    for pair in fields.pairs::<Value, Value>() {
        let (field, value) = pair.map_err(|error| error.to_string())?;
        let Value::String(field) = field else { return Err(NONE.to_string()) };
        let wrong = |expected: &str| {
            let (field, got) = (field.to_string_lossy(), type_name(&value));
            format!("bad field '{field}' ({expected} expected, got {got})")
        };
        found.push(match (&*field.to_string_lossy(), &value) {
            ("first" | "last", Value::Boolean(false)) => continue,
            ("first", Value::Boolean(true)) => Order::First,
            ("last", Value::Boolean(true)) => Order::Last,
            ("first" | "last", _) => return Err(wrong("boolean")),
            ("before", value) => Order::Before(other(value).ok_or_else(|| wrong(PROGRAM))?),
            ("after", value) => Order::After(other(value).ok_or_else(|| wrong(PROGRAM))?),
            _ => return Err(NONE.to_string()),
        });
    }
    match (found.pop(), found.is_empty()) {
        (None, _) => Ok(Order::default()),
        (Some(order), true) => Ok(order),
        (Some(_), false) => {
            Err("bad order (one of 'first', 'last', 'before' and 'after' expected)".to_string())
        }
    }
}

const NONE: &str = "bad order (fields 'first', 'last', 'before' or 'after' expected)";

/// What names a program.
const PROGRAM: &str = "name or number of a program";

fn other(value: &Value) -> Option<Other> {
    match value {
        Value::Integer(number) => u32::try_from(*number).ok().filter(|number| *number > 0).map(Other::Number),
        Value::String(name) => {
            let name = name.to_str().ok().filter(|name| !name.is_empty() && !name.contains('\0'))?;
            Some(name.parse().map_or_else(|_| Other::Name((*name).into()), Other::Number))
        }
        _ => None,
    }
}
