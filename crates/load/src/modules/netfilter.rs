//! `require "netfilter"`: registers handlers at the points of the network stack. Names are Lunatik's; a handler without a verdict accepts.

use super::attach::{add_detach, add_points};
use super::module::{Context, Module, type_error, type_name};
use mlua::{Function, Table, Value};
use moonhook_hook::{Family, NETFILTER, NETFILTER_POINTS, NetfilterPlace, Place, Point};
use moonhook_library::key;

use crate::flows::Flows;
use crate::registry::Registration;

pub(super) const MODULE: Module = Module { name: "netfilter", open };

/// `NFPROTO_INET` (include/uapi/linux/netfilter.h): both families.
const INET: i64 = 1;

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    let flows = context.registry.flows.clone();
    // Lunatik takes the handler out of the table when a packet comes.
    let may_come_late = context.registry.lunatik.is_some();
    add_points(context, &table, "netfilter.register", move |arguments| {
        registered(arguments, &flows, may_come_late)
    })?;
    add_detach(context, &table, "netfilter.detach", &[&NETFILTER])?;
    Ok(table)
}

/// Reads the handlers of a script for Lunatik once more which has come to its end: Lunatik takes the field `hook` of what `netfilter.register` was given when a packet comes
/// (`luanetfilter_pushcb`, lib/luanetfilter.c), and knows no other one by then.
///
/// # Errors
/// What is wrong, and where that was given, if there is no function.
pub(crate) fn read_again(
    own: &mut [Registration],
    flows: &Flows,
) -> Result<(), (String, Option<(String, u32)>)> {
    for registration in own {
        let Registration { given: Some(given), maker: Some(maker), .. } = &*registration else {
            continue;
        };
        let wrong = |problem: String| (problem, given.at.clone());
        let hook = given.table.get::<Value>("hook").map_err(|error| wrong(error.to_string()))?;
        let Value::Function(hook) = flows.handler_of(&hook) else {
            return Err(wrong(format!("bad field 'hook' (function expected, got {})", type_name(&hook))));
        };
        if registration.written.as_ref() == Some(&hook) {
            continue;
        }
        let wrap: mlua::Result<Function> = maker.get(registration.point.hook.name);
        let wrapped = wrap.and_then(|wrap| wrap.call(&hook));
        registration.function = wrapped.map_err(|error| wrong(error.to_string()))?;
        registration.written = Some(hook);
    }
    Ok(())
}

/// What the first argument asks for: where, and the handler.
fn registered(
    arguments: &[Value],
    flows: &Flows,
    may_come_late: bool,
) -> Result<(Vec<Point>, Value), String> {
    let Some(Value::Table(fields)) = arguments.first() else {
        return Err(type_error(arguments, 1, key("netfilter.register"), "table"));
    };
    let families = match number(fields, "pf", None)? {
        INET => Family::ALL.to_vec(),
        number => match Family::ALL.into_iter().find(|family| *family as i64 == number) {
            Some(family) => vec![family],
            None => return Err(format!("bad field 'pf' (INET, IPV4 or IPV6 expected, got {number})")),
        },
    };
    let hooknum = number(fields, "hooknum", None)?;
    let number_of_point = usize::try_from(hooknum).ok().filter(|number| *number < NETFILTER_POINTS.len());
    let Some(number_of_point) = number_of_point else {
        return Err(format!(
            "bad field 'hooknum' (0 to {} expected, got {hooknum})",
            NETFILTER_POINTS.len() - 1
        ));
    };
    let priority = number(fields, "priority", Some(0))?;
    // The kernel has the extremes for itself (`bpf_nf_check_pf_and_hooks`).
    let priority = i32::try_from(priority).ok().filter(|number| ![i32::MIN, i32::MAX].contains(number));
    let priority = priority.ok_or("bad field 'priority' (out of range)")?;
    let defragments = match field(fields, "defrag")? {
        Value::Nil => false,
        Value::Boolean(wanted) => wanted,
        other => return Err(bad(&other, "defrag", "boolean")),
    };
    if defragments && priority <= DEFRAGMENTATION {
        return Err(format!(
            "bad field 'priority' (above {DEFRAGMENTATION} expected, where packets are whole)"
        ));
    }
    let mark = mark(fields)?;
    let point = |family| {
        let place = NetfilterPlace { family, number: number_of_point as u32, priority, defragments, mark };
        Point::at(&NETFILTER, Place::Netfilter(place))
    };
    let handler = flows.handler_of(&field(fields, "hook")?);
    match &handler {
        Value::Nil if may_come_late => Ok((families.into_iter().map(point).collect(), handler)),
        Value::Function(_) => Ok((families.into_iter().map(point).collect(), handler)),
        other => Err(bad(other, "hook", "function")),
    }
}

/// The mark that packets have to have: 0 if nothing is said, as in Lunatik; `None` where any will do.
fn mark(fields: &Table) -> Result<Option<u32>, String> {
    match field(fields, "mark")? {
        Value::String(word) if word == "any" => Ok(None),
        Value::String(_) => Err("bad field 'mark' (a number or \"any\" expected)".to_string()),
        _ => {
            let mark = number(fields, "mark", Some(0))?;
            let mark = u32::try_from(mark).map_err(|_| "bad field 'mark' (integer of 32 bits expected)");
            Ok(Some(mark?))
        }
    }
}

/// `NF_IP_PRI_CONNTRACK_DEFRAG` (include/uapi/linux/netfilter_ipv4.h).
const DEFRAGMENTATION: i32 = -400;

/// Floats up to here have all integers; no field is larger.
const MOST: f64 = 9e15;

/// A field that is an integer, or a float with the value of one.
fn number(fields: &Table, name: &str, default: Option<i64>) -> Result<i64, String> {
    match (field(fields, name)?, default) {
        (Value::Integer(number), _) => Ok(number),
        (Value::Number(number), _) if number.fract() == 0.0 && number.abs() < MOST => Ok(number as i64),
        (Value::Nil, Some(default)) => Ok(default),
        (Value::Number(_), _) => Err(format!("bad field '{name}' (number has no integer representation)")),
        (other, _) => Err(bad(&other, name, "number")),
    }
}

fn field(fields: &Table, name: &str) -> Result<Value, String> {
    fields.raw_get(name).map_err(|error| error.to_string())
}

fn bad(value: &Value, name: &str, expected: &str) -> String {
    format!("bad field '{name}' ({expected} expected, got {})", type_name(value))
}
