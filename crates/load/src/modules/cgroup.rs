//! `require "cgroup"`: registers handlers for the packets of a control group's processes, a function for each direction, and for the
//! connections that they begin, which are two programs, one for each version of IP.

use super::attach::{add_at, add_detach, add_points};
use super::module::{Context, Module, type_error};
use mlua::{Table, Value};
use moonhook_hook::{CGROUP_EGRESS, CGROUP_INGRESS, CONNECT_4, CONNECT_6, Place, Point};
use moonhook_library::key;

pub(super) const MODULE: Module = Module { name: "cgroup", open };

fn open(context: &mut Context) -> mlua::Result<Table> {
    let table = context.lua.create_table()?;
    for (name, hook) in [("cgroup.ingress", &CGROUP_INGRESS), ("cgroup.egress", &CGROUP_EGRESS)] {
        add_at(context, &table, (name, hook), 2, move |arguments| group(name, arguments))?;
    }
    add_points(context, &table, "cgroup.connect", |arguments| {
        let place = group("cgroup.connect", arguments)?;
        match arguments.get(1) {
            Some(Value::Function(function)) => {
                let points = [&CONNECT_4, &CONNECT_6].map(|hook| Point::at(hook, place.clone()));
                Ok((points.to_vec(), Value::Function(function.clone())))
            }
            _ => Err(type_error(arguments, 2, key("cgroup.connect"), "function")),
        }
    })?;
    add_detach(context, &table, "cgroup.detach", &[&CGROUP_INGRESS, &CGROUP_EGRESS, &CONNECT_4, &CONNECT_6])?;
    Ok(table)
}

/// The group that is the first argument.
fn group(name: &str, arguments: &[Value]) -> Result<Place, String> {
    let Some(Value::String(path)) = arguments.first() else {
        return Err(type_error(arguments, 1, key(name), "string"));
    };
    match path.to_str() {
        Ok(path) if !path.is_empty() && !path.contains('\0') => Ok(Place::Cgroup((*path).into())),
        _ => Err(format!("bad argument #1 to '{}' (path of a control group expected)", key(name))),
    }
}
