//! `require "match"`: registers functions that rules of iptables ask about packets.

use super::attach::{add_detach, add_points};
use super::module::{Context, Module, type_error};
use mlua::{Table, Value};
use moonhook_hook::{MATCH, Place, Point};
use moonhook_library::key;

pub(super) const MODULE: Module = Module { name: "match", open };

/// Bytes of a name at most.
const LONGEST: usize = 32;

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    add_points(context, &table, "match.attach", attached)?;
    add_detach(context, &table, "match.detach", &[&MATCH])?;
    Ok(table)
}

/// `([name, ] function)`.
fn attached(arguments: &[Value]) -> Result<(Vec<Point>, Value), String> {
    let attach = "match.attach";
    let (name, number) = match arguments.first() {
        Some(Value::String(name)) => {
            let name = name.to_str().map(|name| name.to_string()).unwrap_or_default();
            if !is_name(&name) {
                return Err(format!(
                    "bad argument #1 to '{}' (1 to {LONGEST} letters, digits, '-' and '_' expected)",
                    key(attach)
                ));
            }
            (name, 2)
        }
        _ => (String::new(), 1),
    };
    match arguments.get(number - 1) {
        Some(Value::Function(function)) => {
            let place = Place::File(name.into());
            Ok((vec![Point::at(&MATCH, place)], Value::Function(function.clone())))
        }
        _ => Err(type_error(arguments, number, key(attach), "function")),
    }
}

/// A part of a file's name and of a command.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_plain)
}
