//! Keys of flows as scripts write them and handlers give them.

use mlua::{Lua, Value};
use moonhook_flows::{Field, KeyError, KeyKind, KeyValue};

use super::integer;
use crate::flows::Flows;

/// The words of a key as handlers give it: the values of the fields, numbers of which are put together already, or those of a function.
pub(super) fn words(kind: &KeyKind, values: &[Value]) -> Result<Vec<u64>, KeyError> {
    let is_there = |value: &&Value| !value.is_nil();
    let own = values.iter().take_while(is_there).map(key_value).collect::<Result<Vec<_>, KeyError>>()?;
    match kind {
        KeyKind::Values => kind.encode(&own),
        KeyKind::Fields(_) => Ok(own.iter().flat_map(|value| value.words()).collect()),
    }
}

/// A key for Lua: the value where it has one, else a table of the fields or a list.
pub(super) fn shown_key(lua: &Lua, kind: &KeyKind, words: &[u64]) -> mlua::Result<Value> {
    let shown = |value: &KeyValue| {
        Ok(match value {
            KeyValue::Integer(integer) => Value::Integer(*integer),
            other => Value::String(lua.create_string(other.to_string())?),
        })
    };
    let values = kind.decode(words);
    if let [value] = values.as_slice() {
        return shown(value);
    }
    let table = lua.create_table()?;
    for (number, value) in values.iter().enumerate() {
        match kind {
            KeyKind::Fields(fields) => table.raw_set(fields[number].name, shown(value)?)?,
            KeyKind::Values => table.raw_set(number + 1, shown(value)?)?,
        }
    }
    Ok(Value::Table(table))
}

/// The words of the key that is the second argument.
pub(super) fn key_argument(
    flows: &Flows,
    table: usize,
    arguments: &[Value],
    name: &str,
) -> Result<Vec<u64>, String> {
    let kind = flows.key_kind(table).unwrap_or(KeyKind::Values);
    let key = arguments.get(1).cloned().unwrap_or(Value::Nil);
    let encoded = key_values(&kind, &key).and_then(|values| kind.encode(&values));
    encoded.map_err(|problem| format!("bad argument #2 to '{name}' ({problem})"))
}

fn key_values(kind: &KeyKind, key: &Value) -> Result<Vec<KeyValue>, KeyError> {
    match (key, kind) {
        (Value::String(text), _) => kind.parse(&text.to_string_lossy()),
        (Value::Table(table), KeyKind::Fields(fields)) if table.raw_len() == 0 => {
            let mut unknown = None;
            for (name, _) in table.pairs::<Value, Value>().flatten() {
                let name = name.to_string().unwrap_or_default();
                unknown = unknown.or(fields.iter().all(|field| field.name != name).then_some(name));
            }
            if let Some(name) = unknown {
                return Err(kind.no_such_field(&name));
            }
            let value = |field: &Field| match table.raw_get::<Value>(field.name) {
                Ok(Value::String(text)) => field.parse(&text.to_string_lossy()),
                Ok(Value::Nil) | Err(_) => Err(KeyError::Missing { name: field.name }),
                Ok(value) => key_value(&value),
            };
            fields.iter().map(value).collect()
        }
        (Value::Table(table), _) => {
            table.sequence_values::<Value>().flatten().map(|value| key_value(&value)).collect()
        }
        (value, _) => Ok(vec![key_value(value)?]),
    }
}

fn key_value(value: &Value) -> Result<KeyValue, KeyError> {
    match value {
        Value::String(text) => KeyValue::parse(&text.to_string_lossy()),
        value => integer(value).map(KeyValue::Integer).ok_or_else(|| KeyError::Value {
            text: value.to_string().unwrap_or_default(),
            expected: "integer, IP address or MAC address".to_string(),
        }),
    }
}
