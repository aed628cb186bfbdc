//! `map{…}`: an empty table that handlers and control code are to share, and what the script says of it.

use mlua::{Table, Value};
use moonhook_schema::{Declaration, MAX_KEY, MAX_KEY_TEXT, Type, WhenFull};

use super::schema;
use crate::modules::module::Global;
use crate::modules::module::{Context, type_error, type_name};

pub(crate) const GLOBAL: Global = Global { name: "map", open };

type Apply = fn(&Value, &mut Declaration) -> Result<(), String>;

/// What stands in a declaration.
const OPTIONS: &[(&str, Apply)] = &[
    ("key", |value, declaration| key(value, declaration)),
    ("value", |value, declaration| {
        declaration.value = Some(schema::parse("value", value)?);
        Ok(())
    }),
    ("capacity", |value, declaration| {
        declaration.capacity = Some(capacity(value)?);
        Ok(())
    }),
    ("evict", |value, declaration| {
        declaration.when_full = evict(value)?;
        Ok(())
    }),
    ("ttl", |value, declaration| {
        declaration.lifetime = Some(lifetime(value)?);
        Ok(())
    }),
    ("percpu", |value, declaration| {
        declaration.per_cpu = flag("percpu", value)?;
        Ok(())
    }),
    ("lpm", |value, declaration| {
        declaration.prefixes = flag("lpm", value)?;
        Ok(())
    }),
];

fn open(context: &mut Context) -> mlua::Result<Value> {
    let declared = context.registry.declared.clone();
    let function = context.function("map", move |lua, arguments| {
        let declaration = match arguments.first() {
            None => Declaration::default(),
            Some(Value::Table(options)) => parse(options).map_err(|problem| format!("map: {problem}"))?,
            Some(_) => return Err(type_error(arguments, 1, "map", "table")),
        };
        let table = lua.create_table().map_err(|error| error.to_string())?;
        declared.add(&table, declaration)?;
        Ok(Value::Table(table))
    })?;
    Ok(Value::Function(function))
}

fn parse(options: &Table) -> Result<Declaration, String> {
    let mut declaration = Declaration::default();
    let mut given = Vec::new();
    for pair in options.pairs::<Value, Value>() {
        let (name, value) = pair.map_err(|error| error.to_string())?;
        given.push((known(&name)?, value));
    }
    // What is wrong is said in the order of the options, not in that of the table's hash; `lpm` says how `key` is read.
    let is_prefixes =
        |(name, value): &(usize, Value)| OPTIONS[*name].0 == "lpm" && *value == Value::Boolean(true);
    declaration.prefixes = given.iter().any(is_prefixes);
    given.sort_by_key(|(number, _)| *number);
    for (number, value) in &given {
        OPTIONS[*number].1(value, &mut declaration)?;
    }
    finish(declaration)
}

/// The number of an option.
fn known(name: &Value) -> Result<usize, String> {
    let shown = match name {
        Value::String(name) => name.to_string_lossy(),
        Value::Integer(number) => number.to_string(),
        other => type_name(other).to_string(),
    };
    OPTIONS.iter().position(|(known, _)| *known == shown).ok_or_else(|| {
        let names: Vec<_> = OPTIONS.iter().map(|(name, _)| *name).collect();
        format!("there is no option '{shown}'; there are {}", names.join(", "))
    })
}

/// What several options say together.
fn finish(mut declaration: Declaration) -> Result<Declaration, String> {
    if declaration.prefixes {
        declaration.key.get_or_insert(Type::Prefix4);
        if declaration.per_cpu {
            return Err("tables of prefixes cannot be per CPU: leave out `lpm` or `percpu`".into());
        }
        if declaration.when_full == WhenFull::Evict {
            return Err("tables of prefixes cannot evict entries: leave out `lpm` or `evict`".into());
        }
    }
    match &declaration.key {
        Some(key) if key.key_size() > MAX_KEY => {
            let size = key.key_size();
            let longest = match key {
                Type::Text { .. } => format!(": `string:{MAX_KEY_TEXT}` is the longest"),
                _ => String::new(),
            };
            Err(format!("keys of {key} take {size} bytes, and {MAX_KEY} are possible{longest}"))
        }
        _ => Ok(declaration),
    }
}

fn key(value: &Value, declaration: &mut Declaration) -> Result<(), String> {
    if !declaration.prefixes {
        declaration.key = Some(schema::parse_key(value)?);
        return Ok(());
    }
    let family = value.as_string().map(|family| family.to_string_lossy());
    declaration.key = Some(match family.as_deref() {
        Some("ipv4") => Type::Prefix4,
        Some("ipv6") => Type::Prefix6,
        _ => return Err("the key of a table of prefixes is \"ipv4\" or \"ipv6\"".into()),
    });
    Ok(())
}

fn capacity(value: &Value) -> Result<u32, String> {
    let number = match value {
        Value::Integer(number) => Some(*number),
        Value::Number(number) if number.fract() == 0.0 => Some(*number as i64),
        _ => None,
    };
    let capacity = number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    capacity.ok_or_else(|| format!("capacity is a whole number of entries from 1 to {}", u32::MAX))
}

fn evict(value: &Value) -> Result<WhenFull, String> {
    match value {
        Value::String(which) if which.as_bytes() == b"lru" => Ok(WhenFull::Evict),
        _ => Err("evict is \"lru\", or is left out: a full table is then an error".into()),
    }
}

/// Seconds, in nanoseconds.
fn lifetime(value: &Value) -> Result<u64, String> {
    let seconds = match value {
        Value::Integer(seconds) => *seconds as f64,
        Value::Number(seconds) => *seconds,
        _ => f64::NAN,
    };
    // A deadline is the present and this in 64 bits: 2^62 nanoseconds are 146 years.
    let nanoseconds = seconds * 1e9;
    if (1.0..(1u64 << 62) as f64).contains(&nanoseconds) {
        return Ok(nanoseconds as u64);
    }
    Err("ttl is a positive number of seconds".into())
}

fn flag(name: &str, value: &Value) -> Result<bool, String> {
    value.as_boolean().ok_or_else(|| format!("{name} is true or false"))
}
