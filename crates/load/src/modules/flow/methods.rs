//! What scripts do with a flow table: the functions `set`, `get`, `delete` and `pairs` of the module.

use mlua::{Lua, MultiValue, Value};
use moonhook_diagnostic::Diagnostic;
use moonhook_flows::{Flow, KeyKind};
use moonhook_snapshot::FlowTable;
use std::time::Instant;

use super::keys::{key_argument, shown_key};
use super::said;
use crate::flows::{FlowFunction, Flows, Given};
use crate::modules::module::type_error;

pub(super) type Method = fn(&Lua, &Flows, usize, &[Value]) -> Result<MultiValue, String>;

pub(super) const METHODS: [(&str, Method); 4] =
    [("flow.set", set), ("flow.get", get), ("flow.delete", delete), ("flow.pairs", pairs)];

fn set(lua: &Lua, flows: &Flows, table: usize, arguments: &[Value]) -> Result<MultiValue, String> {
    let begin = Instant::now();
    let key = key_argument(flows, table, arguments, "set")?;
    let own = match arguments.get(2) {
        Some(Value::Function(function)) if function.info().what != "C" => {
            FlowFunction { function: function.clone(), source: None }
        }
        Some(Value::String(text)) => flows.function_of(lua, table, &text.to_string_lossy(), None)?,
        _ => return Err(type_error(arguments, 3, "set", "function or string")),
    };
    match flows.owner() {
        Some(owner) => {
            let changed = owner.set((lua, flows), table, &key, own)?;
            let form = lua.create_string(changed.form).map_err(said)?;
            let took = Value::Integer(begin.elapsed().as_micros() as i64);
            let mut results = MultiValue::from_iter([took, Value::String(form)]);
            if !changed.warnings.is_empty() {
                let lines: Vec<String> = changed.warnings.iter().map(Diagnostic::line).collect();
                results.push_back(Value::String(lua.create_string(lines.join("\n")).map_err(said)?));
            }
            Ok(results)
        }
        None => {
            let full = flows.change(table, |made| {
                let full = made.flows.len() >= made.capacity as usize && !made.flows.contains_key(&key);
                if !full {
                    made.flows.insert(key, own);
                }
                full.then_some(made.capacity)
            });
            match full.flatten() {
                Some(capacity) => Err(format!("the table has room for {capacity} flows")),
                None => Ok(MultiValue::new()),
            }
        }
    }
}

fn get(lua: &Lua, flows: &Flows, table: usize, arguments: &[Value]) -> Result<MultiValue, String> {
    let key = key_argument(flows, table, arguments, "get")?;
    let found = match flows.owner() {
        Some(owner) => owner.get(table, &key),
        None => flows.function(table, &key).map(|own| {
            let flow = Flow { key, function: 0, packets: 0, errors: 0, idle: 0 };
            (own.given(), flow)
        }),
    };
    let Some((own, flow)) = found else { return Ok(MultiValue::from_iter([Value::Nil])) };
    let given = given(lua, &own).map_err(said)?;
    let about = lua.create_table().map_err(said)?;
    let idle = FlowTable::seconds(flow.idle);
    let fields = [
        ("packets", Value::Integer(flow.packets as i64)),
        ("errors", Value::Integer(flow.errors.into())),
        ("idle", Value::Number(idle)),
    ];
    fields.into_iter().try_for_each(|(name, value)| about.raw_set(name, value)).map_err(said)?;
    Ok(MultiValue::from_iter([given, Value::Table(about)]))
}

/// What a flow was given: a text, or a function; `false` for a function of a state that is gone.
fn given(lua: &Lua, own: &Given) -> mlua::Result<Value> {
    Ok(match own {
        Given::Text(source) => Value::String(lua.create_string(&*source.text)?),
        Given::Function(function) => Value::Function(function.clone()),
        Given::Lost => Value::Boolean(false),
    })
}

fn delete(_: &Lua, flows: &Flows, table: usize, arguments: &[Value]) -> Result<MultiValue, String> {
    let key = key_argument(flows, table, arguments, "delete")?;
    let was_there = match flows.owner() {
        Some(owner) => owner.delete(table, &key),
        None => flows.change(table, |made| made.flows.remove(&key).is_some()).unwrap_or_default(),
    };
    Ok(MultiValue::from_iter([Value::Boolean(was_there)]))
}

/// An iterator over the keys that there are now, and what these flows were given.
fn pairs(lua: &Lua, flows: &Flows, table: usize, _: &[Value]) -> Result<MultiValue, String> {
    let kind = flows.key_kind(table).unwrap_or(KeyKind::Values);
    let keys = match flows.owner() {
        Some(owner) => owner.keys(table),
        None => flows.change(table, |made| made.flows.keys().cloned().collect()).unwrap_or_default(),
    };
    let (flows, mut keys) = (flows.clone(), keys.into_iter());
    let next = lua.create_function_mut(move |lua, _: MultiValue| {
        for words in keys.by_ref() {
            let own = match flows.owner() {
                Some(owner) => owner.get(table, &words).map(|(own, _)| own),
                None => flows.function(table, &words).map(|own| own.given()),
            };
            if let Some(own) = own {
                let key = shown_key(lua, &kind, &words)?;
                return Ok(MultiValue::from_iter([key, given(lua, &own)?]));
            }
        }
        Ok(MultiValue::new())
    });
    Ok(MultiValue::from_iter([Value::Function(next.map_err(said)?)]))
}
