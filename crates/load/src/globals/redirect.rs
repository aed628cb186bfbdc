//! `redirect(interface)`, `redirect{…}`: the verdict with which a packet goes elsewhere. In real Lua nothing is sent, and every interface and
//! every CPU exists.

mod targets;

use mlua::Value;
use moonhook_hook::targets::NOWHERE;
use moonhook_library::key;

use crate::modules::module::{Context, Global, type_error};
use crate::packet_time;

pub(super) const GLOBAL: Global = Global { name: "redirect", open };

fn open(context: &mut Context) -> mlua::Result<Value> {
    let receivers = context.registry.receivers.clone();
    context
        .function("redirect", move |_, arguments| match arguments.first() {
            Some(Value::Table(target)) => targets::verdict(target, &receivers),
            _ => forward("redirect", arguments),
        })
        .map(Value::Function)
}

const NO_HANDLER: &str = "only handlers redirect packets";

/// What a function of that canonical name gives which sends packets elsewhere.
pub(crate) fn forward(name: &'static str, arguments: &[Value]) -> Result<Value, String> {
    let hook = packet_time::hook().ok_or(NO_HANDLER)?;
    let (Some(_), Some(verdict)) = (hook.forward(name), hook.redirect()) else {
        return Err(NOWHERE.to_string());
    };
    match arguments.first() {
        Some(Value::Integer(number)) if i32::try_from(*number).is_ok_and(|number| number > 0) => {}
        Some(Value::Integer(_)) => {
            return Err(format!("bad argument #1 to '{}' (number of an interface expected)", key(name)));
        }
        Some(Value::String(_) | Value::Number(_)) => {}
        _ => return Err(type_error(arguments, 1, key(name), "string")),
    }
    Ok(Value::Integer(verdict.into()))
}
