//! Between values of Lua and data of shared tables.

use crate::record::Level;
use mlua::{Lua, MultiValue, Table, Value};
use moonhook_load::Proxied;
use moonhook_schema::{Datum, constructed, position, position_name};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::rc::Weak;

/// What all proxies of a state share.
pub(crate) struct Space {
    /// What `next` of the scripts asks, by metatable.
    pub steppers: Table,
    /// [`Space::metatable_of_keys`].
    pub of_keys: Table,
    /// What a table with this metatable stands for.
    pub kinds: RefCell<HashMap<*const c_void, ProxyTarget>>,
}

/// What a proxy stands for.
#[derive(Clone)]
pub(crate) enum ProxyTarget {
    /// A whole shared table.
    Table,
    /// A record in an entry. The metatable's functions hold the level: held from here too, neither would ever go.
    Record(Weak<Level>),
}

/// Deeper than any schema; a table that holds itself ends here.
const MAX_DEPTH: usize = 32;

impl Space {
    /// A key for a script. What is a record is a table of its own, which nothing else sees, and shows its fields where it is printed.
    pub fn shown_key(&self, lua: &Lua, datum: &Datum) -> mlua::Result<Value> {
        let key = value(lua, datum)?;
        if let Value::Table(table) = &key {
            table.set_metatable(Some(self.of_keys.clone()))?;
        }
        Ok(key)
    }

    /// The metatable of [`Space::shown_key`]'s tables, whose fields scripts may have changed.
    pub fn metatable_of_keys(lua: &Lua) -> mlua::Result<Table> {
        let text = moonhook_load::raising(lua, |lua, arguments| {
            let key = argument(&arguments, 0);
            lua.create_string(shown(&plain(&key, 0))).map(Value::String).map(one).map_err(said)
        })?;
        let metatable = lua.create_table()?;
        metatable.raw_set("__tostring", text)?;
        metatable.raw_set("__metatable", false)?;
        Ok(metatable)
    }

    pub fn kind(&self, table: &Table) -> Option<ProxyTarget> {
        self.kinds.borrow().get(&table.metatable()?.to_pointer()).cloned()
    }

    /// The data in a value of a script.
    ///
    /// # Errors
    /// Says what cannot be kept.
    pub fn datum(&self, value: &Value) -> Result<Datum, String> {
        self.nested(value, 0)
    }

    /// What events carry of a proxy: a record as it is now, nil if its entry is gone, nothing of lists and of a whole shared
    /// table. `None` for a table that is no proxy.
    pub fn in_event(&self, table: &Table) -> Option<Proxied> {
        Some(match self.kind(table)? {
            ProxyTarget::Table => Proxied::Nothing,
            ProxyTarget::Record(level) => {
                let value = level.upgrade().and_then(|level| level.datum(table).ok());
                match value.unwrap_or(Datum::Nil) {
                    value if value.has_list() => Proxied::Nothing,
                    value => Proxied::Value(value),
                }
            }
        })
    }

    fn nested(&self, value: &Value, depth: usize) -> Result<Datum, String> {
        match value {
            Value::Nil => Ok(Datum::Nil),
            Value::Boolean(value) => Ok(Datum::Boolean(*value)),
            Value::Integer(value) => Ok(Datum::Integer(*value)),
            Value::Number(value) => Ok(Datum::Float(value.to_bits())),
            Value::String(text) => Ok(Datum::Text(text.as_bytes().to_vec())),
            Value::Table(_) if depth == MAX_DEPTH => Err("tables are nested too deeply".into()),
            Value::Table(table) => match self.kind(table) {
                None => self.record(table, depth),
                Some(ProxyTarget::Table) => Err(unkept("another shared table")),
                // It is there as long as its metatable is.
                Some(ProxyTarget::Record(level)) => {
                    level.upgrade().map_or(Ok(Datum::Nil), |level| level.datum(table))
                }
            },
            other => Err(unkept(&format!("a {} value", other.type_name()))),
        }
    }

    fn record(&self, table: &Table, depth: usize) -> Result<Datum, String> {
        let mut fields = Vec::new();
        for pair in table.pairs::<Value, Value>() {
            let (name, value) = pair.map_err(|error| error.to_string())?;
            let name = field_name(&name).ok_or("the fields of a record have names or places from 1 to 64")?;
            fields.push((name, self.nested(&value, depth + 1)?));
        }
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Datum::Record(fields))
    }
}

fn unkept(what: &str) -> String {
    format!("numbers, strings, booleans and records of them can be kept, not {what}")
}

/// A value for a script; records are tables of their own, which nothing else sees.
pub(crate) fn value(lua: &Lua, datum: &Datum) -> mlua::Result<Value> {
    Ok(match datum {
        Datum::Nil => Value::Nil,
        Datum::Boolean(value) => Value::Boolean(*value),
        Datum::Integer(value) => Value::Integer(*value),
        Datum::Float(bits) => Value::Number(f64::from_bits(*bits)),
        Datum::Text(bytes) => Value::String(lua.create_string(bytes)?),
        Datum::Record(fields) => {
            let table = lua.create_table()?;
            for (name, datum) in fields {
                table.raw_set(field_key(lua, name)?, value(lua, datum)?)?;
            }
            Value::Table(table)
        }
    })
}

/// What is to be shown of a table that stands for no entry.
fn plain(value: &Value, depth: usize) -> Datum {
    match value {
        Value::Boolean(value) => Datum::Boolean(*value),
        Value::Integer(value) => Datum::Integer(*value),
        Value::Number(value) => Datum::Float(value.to_bits()),
        Value::String(text) => Datum::Text(text.as_bytes().to_vec()),
        Value::Table(table) if depth < MAX_DEPTH => {
            let fields = table.pairs::<Value, Value>().flatten();
            let fields =
                fields.filter_map(|(name, value)| Some((field_name(&name)?, plain(&value, depth + 1))));
            let mut fields: Vec<_> = fields.collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Datum::Record(fields)
        }
        _ => Datum::Nil,
    }
}

/// The name of the field of a record that has this key, if one can have it.
pub(crate) fn field_name(key: &Value) -> Option<String> {
    match key {
        Value::Integer(place) => position_name(*place),
        Value::Number(place) if place.fract() == 0.0 => position_name(*place as i64),
        Value::String(name) => Some(name.to_string_lossy()).filter(|name| position(name).is_none()),
        _ => None,
    }
}

/// The key of a record's field.
pub(crate) fn field_key(lua: &Lua, name: &str) -> mlua::Result<Value> {
    match position(name) {
        Some(position) => Ok(Value::Integer(position)),
        None => lua.create_string(name).map(Value::String),
    }
}

/// One result of a function.
pub(crate) fn one(value: Value) -> MultiValue {
    MultiValue::from_iter([value])
}

/// The argument at `index`, from 0.
pub(crate) fn argument(arguments: &MultiValue, index: usize) -> Value {
    arguments.get(index).cloned().unwrap_or(Value::Nil)
}

/// Errors of Lua itself (no memory) as text.
pub(crate) fn said(error: impl ToString) -> String {
    error.to_string()
}

/// As people write it: strings quoted, records with their fields.
pub(crate) fn shown(datum: &Datum) -> String {
    match datum {
        Datum::Nil => "nil".to_string(),
        Datum::Boolean(value) => value.to_string(),
        Datum::Integer(value) => value.to_string(),
        Datum::Float(_) => String::from_utf8_lossy(&datum.line()).into_owned(),
        Datum::Text(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Datum::Record(fields) => {
            let fields = constructed(fields.iter().map(|(name, value)| (name.as_str(), value)));
            let fields = fields.iter().map(|(label, value)| format!("{label}{}", shown(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}
