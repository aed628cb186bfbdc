//! What `updates.listen` is told.

use mlua::{Function, Lua, Table, Value};
use moonhook_updates::{Limits, MOST_BYTES, PublicKey};
use std::net::IpAddr;
use std::time::Duration;

use super::{EVENT, bad, said};

/// Bytes of a text, unless the script says otherwise.
const SIZE: i64 = 65_536;
/// Datagrams of one source in a second, and of all together: each takes a signature's check.
const RATE: i64 = 200;
const TOTAL: i64 = 1000;
/// Seconds that sequence numbers may be from the present time.
const AGE: f64 = 60.0;
/// Prefixes of a list.
const MOST_PREFIXES: usize = 1024;

const NAMES: [&str; 10] =
    ["port", "keys", "hook", "name", "addresses", "sources", "size", "rate", "total", "age"];

pub(super) struct Options {
    port: i64,
    rate: i64,
    total: i64,
    addresses: Option<Vec<String>>,
    sources: Option<Vec<String>>,
    pub keys: Vec<PublicKey>,
    pub limits: Limits,
}

impl Options {
    /// Key files are read by the script's own `io.open`, which is among `globals`.
    ///
    /// # Errors
    /// What is wrong with an option, by its name.
    pub fn read(given: &Table, globals: &Table) -> Result<Options, String> {
        for pair in given.pairs::<Value, Value>() {
            let name = pair.map_err(said)?.0.to_string().map_err(said)?;
            if !NAMES.contains(&name.as_str()) {
                let names: Vec<String> = NAMES.iter().map(|name| format!("'{name}'")).collect();
                return Err(bad(&format!("there is no option '{name}', but {}", names.join(", "))));
            }
        }
        let integer = |name: &str, most: i64, default: Option<i64>| match option(given, name)? {
            Value::Nil if default.is_some() => Ok(default.unwrap_or_default()),
            Value::Integer(value) if (1..=most).contains(&value) => Ok(value),
            _ => Err(bad(&format!("field '{name}': integer from 1 to {most} expected"))),
        };
        let name = match option(given, "name")? {
            Value::Nil => String::new(),
            Value::String(name) if (1..=255).contains(&name.as_bytes().len()) => name.to_string_lossy(),
            _ => return Err(bad("field 'name': string of 1 to 255 bytes expected")),
        };
        let size = integer("size", 1 << 20, Some(SIZE))?;
        Ok(Options {
            port: integer("port", 65_535, None)?,
            rate: integer("rate", 1_000_000, Some(RATE))?,
            total: integer("total", 1_000_000, Some(TOTAL))?,
            addresses: prefixes(given, "addresses")?,
            sources: prefixes(given, "sources")?,
            keys: keys(given, globals)?,
            limits: Limits { name, size: usize::try_from(size).unwrap_or_default(), age: age(given)? },
        })
    }

    /// What the text in Lua is told of them.
    pub fn table(&self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        table.raw_set("port", self.port)?;
        table.raw_set("rate", self.rate)?;
        table.raw_set("total", self.total)?;
        table.raw_set("most", MOST_BYTES)?;
        table.raw_set("event", lua.create_string(EVENT)?)?;
        table.raw_set("addresses", self.addresses.clone())?;
        table.raw_set("sources", self.sources.clone())?;
        Ok(table)
    }
}

fn option(given: &Table, name: &str) -> Result<Value, String> {
    given.raw_get(name).map_err(said)
}

/// The strings of a list; `None` where there is none.
fn list(given: &Table, name: &str, what: &str) -> Result<Option<Vec<String>>, String> {
    let expected = || bad(&format!("field '{name}': list of {what} expected"));
    match option(given, name)? {
        Value::Nil => Ok(None),
        Value::Table(list) if list.raw_len() > 0 => {
            let strings = list.sequence_values::<Value>().map(|value| match value.map_err(said)? {
                Value::String(text) => Ok(text.to_string_lossy()),
                _ => Err(expected()),
            });
            strings.collect::<Result<Vec<_>, _>>().map(Some)
        }
        _ => Err(expected()),
    }
}

/// A list of addresses and prefixes, as tables of prefixes take them.
fn prefixes(given: &Table, name: &str) -> Result<Option<Vec<String>>, String> {
    let Some(list) = list(given, name, "addresses or prefixes")? else { return Ok(None) };
    if list.len() > MOST_PREFIXES {
        return Err(bad(&format!("field '{name}': {MOST_PREFIXES} prefixes at most")));
    }
    for prefix in &list {
        let (address, length) = prefix.split_once('/').unwrap_or((prefix, "0"));
        let bits = address.parse::<IpAddr>().ok().map(|address| if address.is_ipv4() { 32 } else { 128 });
        let is_prefix = bits.is_some_and(|bits| length.parse::<u32>().is_ok_and(|length| length <= bits));
        if !is_prefix {
            return Err(bad(&format!("field '{name}': '{prefix}' is no IP address or prefix")));
        }
    }
    Ok(Some(list))
}

fn age(given: &Table) -> Result<Option<Duration>, String> {
    let seconds = match option(given, "age")? {
        Value::Nil => AGE,
        Value::Boolean(false) => return Ok(None),
        Value::Integer(seconds) => seconds as f64,
        Value::Number(seconds) => seconds,
        _ => -1.0,
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(age) if !age.is_zero() => Ok(Some(age)),
        _ => Err(bad("field 'age': number of seconds, or false, expected")),
    }
}

/// What PEM begins with.
const PEM: &str = "-----BEGIN";

/// The keys that `keys` has, in files that it names or as texts.
fn keys(given: &Table, globals: &Table) -> Result<Vec<PublicKey>, String> {
    let expected = || bad("field 'keys': list of public keys, or of files with such, expected");
    let names = list(given, "keys", "public keys, or of files with such,")?.ok_or_else(expected)?;
    let mut keys: Vec<PublicKey> = Vec::new();
    for name in names {
        let (text, name) = match name.starts_with(PEM) {
            true => (name, "a key".to_string()),
            false => {
                let text = content(globals, &name);
                (text.map_err(|problem| bad(&format!("field 'keys': {problem}")))?, name)
            }
        };
        let key =
            PublicKey::from_pem(&text).map_err(|problem| bad(&format!("field 'keys': {name}: {problem}")))?;
        if keys.contains(&key) {
            return Err(bad(&format!("field 'keys': {name}: the key is there twice")));
        }
        keys.push(key);
    }
    Ok(keys)
}

/// What is in a file that the script may read, as text.
pub fn content(globals: &Table, name: &str) -> Result<String, String> {
    bytes(globals, name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// What is in a file that the script may read.
pub fn bytes(globals: &Table, name: &str) -> Result<Vec<u8>, String> {
    let open: Function = globals.raw_get::<Table>("io").and_then(|io| io.raw_get("open")).map_err(said)?;
    let (file, problem): (Option<Value>, Option<String>) = open.call(name).map_err(said)?;
    let Some(Value::UserData(file)) = file else { return Err(problem.unwrap_or_default()) };
    use mlua::ObjectLike;
    let text: mlua::Result<mlua::LuaString> = file.call_method("read", "a");
    let closed: mlua::Result<Value> = file.call_method("close", ());
    let text = text.and_then(|text| closed.map(|_| text)).map_err(said)?;
    Ok(text.as_bytes().to_vec())
}
