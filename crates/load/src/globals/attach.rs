//! `attach(f)`: registers a handler for the hook that whoever runs the script has chosen.

use mlua::Value;
use moonhook_hook::{HOOKS, Point};

use crate::modules::attach::registering;
use crate::modules::module::{Context, Global, type_error};

pub(super) const GLOBAL: Global = Global { name: "attach", open };

fn open(context: &mut Context) -> mlua::Result<Value> {
    let hook = context.registry.chosen;
    let attach = registering(context, "attach", move |arguments| {
        let Some(Value::Function(function)) = arguments.first() else {
            return Err(type_error(arguments, 1, "attach", "function"));
        };
        let place = hook.place_by_itself().ok_or_else(|| needs_place(hook.name))?;
        Ok((vec![Point::at(hook, place)], Value::Function(function.clone())))
    })?;
    Ok(Value::Function(attach))
}

fn needs_place(hook: &str) -> String {
    let others = HOOKS.iter().filter(|other| other.place_by_itself().is_some()).map(|other| other.name);
    let others = others.collect::<Vec<_>>().join(", ");
    format!("'attach' cannot register for '{hook}', which has to be told where; it can for {others}")
}
