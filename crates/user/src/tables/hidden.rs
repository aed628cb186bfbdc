//! Declared tables of which Lua's own would show too much: with lifetimes, with values of a declared type, and with keys that are
//! prefixes or compared by their fields. The table that the script has is empty; its entries are in another one, which its metatable holds. Records in tables with
//! lifetimes are made alike, for an assignment to a field gives the entry another lifetime.

use std::rc::Rc;

use mlua::{Function, Lua, MultiValue, Table, Value};
use moonhook_load::{Proxied, raising};
use moonhook_schema::{
    Datum, Declaration, MAX_DEPTH, Schema, Type, WhenFull, decode_key, encode_key, position, position_name,
};

use super::limits::Limits;

/// Fields of metatables: the entries, the keys that stand for those under which they are kept, when the time of each is over, and
/// what traverses them.
const ENTRIES: &str = "entries";
const KEYS: &str = "keys";
const DEADLINES: &str = "deadlines";
const NEXT: &str = "next";

/// The only other error that `next` has.
const INVALID_KEY: &str = "invalid key to 'next'";

pub(super) struct Hidden {
    limits: Limits,
    /// In nanoseconds.
    lifetime: Option<i64>,
    /// Of keys that are kept in another form.
    keyed: Option<Schema>,
}

/// What a shared table, or a record in one, has: its entries whose time is not over, in no particular order.
///
/// # Errors
/// Lua has no memory left.
pub fn content(table: &Table) -> mlua::Result<Vec<(Value, Value)>> {
    let Some(entries) = hidden(table, ENTRIES) else { return table.pairs().collect() };
    let deadlines = hidden(table, DEADLINES);
    let is_there = |pair: &mlua::Result<(Value, Value)>| {
        pair.as_ref().map_or(true, |(key, _)| is_alive(deadlines.as_ref(), key))
    };
    let keys = hidden(table, KEYS);
    let shown = |pair: mlua::Result<(Value, Value)>| {
        let (key, value) = pair?;
        Ok((shown_key(keys.as_ref(), key)?, value))
    };
    entries.pairs().filter(is_there).map(shown).collect()
}

/// What events carry of a table that holds its fields in another one: records; not of whole shared tables.
pub(super) fn in_event(table: &Table) -> Option<Proxied> {
    let fields = hidden(table, ENTRIES)?;
    if hidden(table, "__index").as_ref() == Some(&fields) {
        return Some(Proxied::Fields(fields));
    }
    table.metatable()?.raw_get::<Option<Function>>("step").ok().flatten().map(|_| Proxied::Nothing)
}

/// What the script has as the key of an entry.
fn shown_key(keys: Option<&Table>, key: Value) -> mlua::Result<Value> {
    keys.map_or(Ok(key.clone()), |keys| keys.raw_get(key))
}

/// A table that the metatable of this one holds.
fn hidden(table: &Table, name: &str) -> Option<Table> {
    table.metatable()?.raw_get(name).ok()
}

/// Nanoseconds of a clock that never goes back, and is there on every Linux.
fn now() -> i64 {
    moonhook_load::time().map_or(0, |now| now.monotonic)
}

fn is_alive(deadlines: Option<&Table>, key: &Value) -> bool {
    let deadline = deadlines.and_then(|deadlines| deadlines.raw_get::<Option<i64>>(key).ok().flatten());
    deadline.is_none_or(|deadline| deadline > now())
}

/// Errors of Lua itself (no memory) as text.
fn said(error: mlua::Error) -> String {
    error.to_string()
}

impl Hidden {
    /// `Err` where the limits alone say all that there is to a table.
    pub fn new(limits: Limits, declaration: &Declaration) -> Result<Hidden, Limits> {
        let is_kept_otherwise = |key: &&Type| declaration.prefixes || matches!(key, Type::Record(_));
        let keyed = declaration.key.as_ref().filter(is_kept_otherwise);
        if declaration.lifetime.is_none() && declaration.value.is_none() && keyed.is_none() {
            return Err(limits);
        }
        let schema = |key: &Type| Schema {
            key: key.clone(),
            value: Type::Boolean,
            capacity: 1,
            when_full: WhenFull::Error,
            lifetime: None,
            per_cpu: false,
        };
        let keyed = keyed.map(schema);
        let lifetime = declaration.lifetime.map(|lifetime| i64::try_from(lifetime).unwrap_or(i64::MAX));
        Ok(Hidden { limits, lifetime, keyed })
    }

    /// Moves what load time left in `table` behind it. `next` traverses tables in the scripts' order, and asks `steppers` first.
    pub fn apply(self, lua: &Lua, table: &Table, next: &Function, steppers: &Table) -> mlua::Result<()> {
        let metatable = lua.create_table()?;
        metatable.raw_set(ENTRIES, lua.create_table()?)?;
        if self.lifetime.is_some() {
            metatable.raw_set(DEADLINES, lua.create_table()?)?;
        }
        if self.keyed.as_ref().is_some_and(|schema| !schema.is_prefixes()) {
            metatable.raw_set(KEYS, lua.create_table()?)?;
        }
        metatable.raw_set(NEXT, next)?;
        let this = Rc::new(self);
        let method = |name: &str, body: Body| {
            let this = Rc::clone(&this);
            let function = move |lua: &Lua, arguments: MultiValue| {
                let mut arguments = arguments.into_iter();
                let Some(Value::Table(table)) = arguments.next() else { return Ok(MultiValue::new()) };
                let mut argument = || arguments.next().unwrap_or(Value::Nil);
                body(&this, lua, &table, [argument(), argument()])
            };
            metatable.raw_set(name, raising(lua, function)?)
        };
        method("__index", Hidden::index)?;
        method("__newindex", Hidden::assign)?;
        method("__len", |_, _, table, _| {
            let length = hidden(table, ENTRIES).map_or(0, |entries| entries.raw_len());
            Ok(MultiValue::from_iter([Value::Integer(length as i64)]))
        })?;
        method("__pairs", |_, _, table, _| {
            let step =
                table.metatable().map(|metatable| metatable.raw_get("step")).transpose().map_err(said)?;
            Ok(MultiValue::from_iter([step.unwrap_or(Value::Nil), Value::Table(table.clone()), Value::Nil]))
        })?;
        method("step", Hidden::step)?;
        steppers.raw_set(&metatable, metatable.raw_get::<Function>("step")?)?;
        let before: Vec<(Value, Value)> = table.pairs().collect::<mlua::Result<_>>()?;
        table.clear()?;
        table.set_metatable(Some(metatable))?;
        for (key, value) in before {
            this.put(lua, table, key, value).map_err(mlua::Error::runtime)?;
        }
        Ok(())
    }

    fn index(&self, lua: &Lua, table: &Table, [key, _]: [Value; 2]) -> Result<MultiValue, String> {
        let (entries, deadlines) = (hidden(table, ENTRIES), hidden(table, DEADLINES));
        let mut value = Value::Nil;
        for key in self.candidates(lua, key)? {
            let found: Value = match &entries {
                Some(entries) if !key.is_nil() => entries.raw_get(&key).map_err(said)?,
                _ => Value::Nil,
            };
            if !found.is_nil() {
                value = if is_alive(deadlines.as_ref(), &key) { found } else { Value::Nil };
                break;
            }
        }
        Ok(MultiValue::from_iter([value]))
    }

    fn assign(&self, lua: &Lua, table: &Table, [key, value]: [Value; 2]) -> Result<MultiValue, String> {
        if key.is_nil() {
            return Err("table index is nil".to_string());
        }
        let Some(entries) = hidden(table, ENTRIES) else { return Ok(MultiValue::new()) };
        if !value.is_nil() {
            self.limits.check(&key, &value)?;
            let stored = self.stored(lua, &key)?;
            if entries.raw_get::<Value>(stored).map_err(said)?.is_nil() {
                self.limits.make_room(&entries)?;
            }
        }
        self.put(lua, table, key, value)?;
        Ok(MultiValue::new())
    }

    /// Assigns without asking for room.
    fn put(&self, lua: &Lua, table: &Table, key: Value, value: Value) -> Result<(), String> {
        let shown = key;
        // What cannot be in the table is not.
        let key = match self.stored(lua, &shown) {
            Err(_) if value.is_nil() => return Ok(()),
            stored => stored?,
        };
        if let Some(keys) = hidden(table, KEYS) {
            keys.raw_set(&key, if value.is_nil() { Value::Nil } else { shown }).map_err(said)?;
        }
        if let (Some(lifetime), Some(deadlines)) = (self.lifetime, hidden(table, DEADLINES)) {
            let renewal = Renewal { deadlines, key: key.clone(), lifetime };
            if let Value::Table(record) = &value {
                renewal.watch(lua, record).map_err(said)?;
            }
            renewal.renew(value.is_nil()).map_err(said)?;
        }
        hidden(table, ENTRIES).map_or(Ok(()), |entries| entries.raw_set(key, value)).map_err(said)
    }

    /// `next` of the table.
    fn step(&self, lua: &Lua, table: &Table, [key, _]: [Value; 2]) -> Result<MultiValue, String> {
        let (entries, deadlines) = (hidden(table, ENTRIES), hidden(table, DEADLINES));
        let next: Option<Function> = table.metatable().and_then(|metatable| metatable.raw_get(NEXT).ok());
        let (Some(entries), Some(next)) = (entries, next) else { return Ok(MultiValue::new()) };
        let mut key = match key {
            Value::Nil => key,
            key => self.stored(lua, &key).map_err(|_| INVALID_KEY)?,
        };
        loop {
            let results = next.call::<MultiValue>((&entries, key));
            let mut results = results.map_err(|error| match error {
                mlua::Error::MemoryError(_) => said(error),
                _ => INVALID_KEY.to_string(),
            })?;
            key = results.pop_front().unwrap_or(Value::Nil);
            if key.is_nil() || is_alive(deadlines.as_ref(), &key) {
                results.push_front(shown_key(hidden(table, KEYS).as_ref(), key).map_err(said)?);
                return Ok(results);
            }
        }
    }

    /// The key under which an entry is kept: of prefixes the text that all texts of one have in common, of records their bytes.
    fn stored(&self, lua: &Lua, key: &Value) -> Result<Value, String> {
        let Some(schema) = &self.keyed else { return Ok(key.clone()) };
        let bytes = datum(key).map(|key| encode_key(schema, &key));
        let Some(Ok(bytes)) = bytes else { return Err(self.limits.bad_key(&schema.key, key)) };
        kept(lua, schema, &bytes)
    }

    /// The keys of the entries that a key finds, the best one first.
    fn candidates(&self, lua: &Lua, key: Value) -> Result<Vec<Value>, String> {
        let Some(schema) = &self.keyed else { return Ok(vec![key]) };
        let Some(Ok(bytes)) = datum(&key).map(|key| encode_key(schema, &key)) else { return Ok(Vec::new()) };
        let (true, Value::String(given)) = (schema.is_prefixes(), &key) else {
            return Ok(vec![kept(lua, schema, &bytes)?]);
        };
        let longest = bytes.first_chunk().map_or(0, |length| u32::from_ne_bytes(*length));
        let given = given.to_string_lossy();
        let address = given.split('/').next().unwrap_or_default();
        let prefix = |length: u32| {
            let shorter = Datum::Text(format!("{address}/{length}").into_bytes());
            let bytes = encode_key(schema, &shorter).map_err(|problem| problem.to_string())?;
            kept(lua, schema, &bytes)
        };
        (0..=longest).rev().map(prefix).collect()
    }
}

/// The form in which the key of these bytes is kept.
fn kept(lua: &Lua, schema: &Schema, bytes: &[u8]) -> Result<Value, String> {
    let text = match decode_key(schema, bytes) {
        Datum::Text(text) => lua.create_string(text),
        _ => lua.create_string(bytes),
    };
    text.map(Value::String).map_err(said)
}

/// A key as data; `None` for what can be none.
fn datum(value: &Value) -> Option<Datum> {
    nested(value, MAX_DEPTH)
}

/// As [`datum`], of tables at most `room` deep: one can hold itself.
fn nested(value: &Value, room: usize) -> Option<Datum> {
    Some(match value {
        Value::Boolean(value) => Datum::Boolean(*value),
        Value::Integer(value) => Datum::Integer(*value),
        Value::Number(value) => Datum::Float(value.to_bits()).as_key(),
        Value::String(text) => Datum::Text(text.as_bytes().to_vec()),
        Value::Table(record) => {
            let room = room.checked_sub(1)?;
            let mut fields = Vec::new();
            for pair in record.pairs::<Value, Value>() {
                let (key, value) = pair.ok()?;
                let name = match key {
                    Value::Integer(place) => position_name(place)?,
                    Value::String(name) => {
                        Some(name.to_string_lossy()).filter(|name| position(name).is_none())?
                    }
                    _ => return None,
                };
                fields.push((name, nested(&value, room)?));
            }
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Datum::Record(fields)
        }
        _ => return None,
    })
}

type Body = fn(&Hidden, &Lua, &Table, [Value; 2]) -> Result<MultiValue, String>;

/// What gives an entry another lifetime.
#[derive(Clone)]
struct Renewal {
    deadlines: Table,
    key: Value,
    lifetime: i64,
}

impl Renewal {
    /// The entry lives from now on, or is gone.
    fn renew(&self, gone: bool) -> mlua::Result<()> {
        let deadline = if gone { None } else { Some(now().saturating_add(self.lifetime)) };
        self.deadlines.raw_set(&self.key, deadline)
    }

    /// Notes assignments to fields of a record, and of records in it, which can hold one another. A record that is an entry
    /// already remains that.
    fn watch(&self, lua: &Lua, record: &Table) -> mlua::Result<()> {
        let mut records = vec![record.clone()];
        while let Some(record) = records.pop() {
            if record.metatable().is_none() {
                self.watch_one(lua, &record, &mut records)?;
            }
        }
        Ok(())
    }

    /// As [`Renewal::watch`]; the records in it are added to `inside`.
    fn watch_one(&self, lua: &Lua, record: &Table, inside: &mut Vec<Table>) -> mlua::Result<()> {
        let fields = lua.create_table()?;
        for pair in record.pairs::<Value, Value>() {
            let (name, value) = pair?;
            if let Value::Table(inner) = &value {
                inside.push(inner.clone());
            }
            fields.raw_set(name, value)?;
        }
        record.clear()?;
        let metatable = lua.create_table()?;
        metatable.raw_set("__index", &fields)?;
        let length = |_: &Lua, arguments: MultiValue| {
            let fields =
                arguments.front().and_then(Value::as_table).and_then(|record| hidden(record, ENTRIES));
            let length = fields.map_or(0, |fields| fields.raw_len());
            Ok(MultiValue::from_iter([Value::Integer(length as i64)]))
        };
        metatable.raw_set("__len", raising(lua, length)?)?;
        metatable.raw_set(ENTRIES, fields)?;
        let this = self.clone();
        let assign = move |lua: &Lua, arguments: MultiValue| {
            let [Value::Table(record), name, value] = &Vec::from_iter(arguments)[..] else {
                return Ok(MultiValue::new());
            };
            if let Value::Table(inner) = value {
                this.watch(lua, inner).map_err(said)?;
            }
            this.renew(false).map_err(said)?;
            hidden(record, ENTRIES).map_or(Ok(()), |fields| fields.raw_set(name, value)).map_err(said)?;
            Ok(MultiValue::new())
        };
        metatable.raw_set("__newindex", raising(lua, assign)?)?;
        record.set_metatable(Some(metatable))
    }
}
