//! Room and lengths of declared tables.

use std::cell::Cell;
use std::net::IpAddr;

use mlua::{Lua, MultiValue, Table, Value};
use moonhook_load::raising;
use moonhook_schema::{CAPACITY, Datum, Declaration, Schema, Type, WhenFull, encode_key, position};

/// What a declared table can take.
pub(super) struct Limits {
    pub name: String,
    /// Entries at most; none where old ones give way.
    capacity: Option<usize>,
    /// The declared types.
    key: Option<Type>,
    value: Option<Type>,
    /// Entries there were when they were counted, and those added since.
    counted: Cell<usize>,
}

impl Limits {
    pub fn new(name: &str, declaration: &Declaration) -> Limits {
        let capacity = declaration.capacity.unwrap_or(CAPACITY) as usize;
        Limits {
            name: name.to_string(),
            capacity: (declaration.when_full == WhenFull::Error).then_some(capacity),
            key: declaration.key.clone(),
            value: declaration.value.clone(),
            counted: Cell::new(usize::MAX),
        }
    }

    /// Lua calls `__newindex` for entries that are not there yet.
    pub fn apply(self, lua: &Lua, table: &Table) -> mlua::Result<()> {
        let metatable = lua.create_table()?;
        metatable.set("__newindex", raising(lua, move |_, arguments| self.insert(arguments))?)?;
        table.set_metatable(Some(metatable))
    }

    fn insert(&self, arguments: MultiValue) -> Result<MultiValue, String> {
        let arguments = Vec::from_iter(arguments);
        let [Value::Table(table), key, value] = arguments.as_slice() else {
            return Ok(MultiValue::new());
        };
        if *key == Value::Nil {
            return Err("table index is nil".to_string());
        }
        if *value != Value::Nil {
            self.check(key, value)?;
            self.make_room(table)?;
        }
        table.raw_set(key, value).map_err(|error| error.to_string())?;
        Ok(MultiValue::new())
    }

    /// Key and value have the declared types, and their strings are not too long.
    pub fn check(&self, key: &Value, value: &Value) -> Result<(), String> {
        for (what, value, ty) in [("key", key, &self.key), ("value", value, &self.value)] {
            let Some(ty) = ty else { continue };
            let value = &if what == "key" { plain_key(value) } else { value.clone() };
            fits(ty, value).map_err(|problem| match problem {
                Problem::TooLong => format!("{what} too long for table '{}'", self.name),
                Problem::Type { expected, got } => {
                    format!("bad {what} for table '{}' ({expected} expected, got {got})", self.name)
                }
            })?;
        }
        Ok(())
    }

    pub fn bad_key(&self, ty: &Type, key: &Value) -> String {
        format!("bad key for table '{}' ({ty} expected, got {})", self.name, type_name(key))
    }

    /// There is room for an entry in the table that holds them.
    pub fn make_room(&self, table: &Table) -> Result<(), String> {
        let Some(capacity) = self.capacity else { return Ok(()) };
        // Deletions are not seen: only where the table may be full its entries are counted.
        if self.counted.get() >= capacity {
            self.counted.set(table.pairs::<Value, Value>().count());
        }
        if self.counted.get() >= capacity {
            return Err(format!("table '{}' is full", self.name));
        }
        self.counted.set(self.counted.get() + 1);
        Ok(())
    }
}

enum Problem {
    TooLong,
    Type { expected: String, got: &'static str },
}

/// Whether a value can be kept as one of this type. Of a record, fields that are not there are none.
fn fits(ty: &Type, value: &Value) -> Result<(), Problem> {
    let fits = match (ty, value) {
        (Type::Integer, Value::Integer(_)) | (Type::Boolean, Value::Boolean(_)) => true,
        (Type::Float, Value::Number(_)) => true,
        (Type::Text { capacity }, Value::String(text)) => {
            if text.as_bytes().len() > usize::from(*capacity) {
                return Err(Problem::TooLong);
            }
            true
        }
        (Type::Mixed(mixed), value) => {
            let fitting = mixed.types().map(|(_, ty)| fits(&ty, value));
            let best = fitting.reduce(|best, next| match (best, next) {
                (Err(Problem::Type { .. }), next) => next,
                (best, _) => best,
            });
            match best {
                Some(Err(Problem::TooLong)) => return Err(Problem::TooLong),
                best => best.is_some_and(|best| best.is_ok()),
            }
        }
        (Type::Record(fields), Value::Table(record)) => {
            for field in fields {
                let value = match position(&field.name) {
                    Some(position) => record.get::<Value>(position),
                    None => record.get::<Value>(field.name.as_str()),
                };
                let value = value.unwrap_or(Value::Nil);
                if !value.is_nil() {
                    self::fits(&field.ty, &value)?;
                }
            }
            true
        }
        (Type::Boolean | Type::Integer | Type::Float | Type::Text { .. } | Type::Record(_), _) => false,
        (address, Value::String(text)) => is_address(address, &text.as_bytes()),
        _ => false,
    };
    if fits { Ok(()) } else { Err(Problem::Type { expected: ty.to_string(), got: type_name(value) }) }
}

/// The key under which Lua keeps it: a float of integral value is an integer (Lua manual § 2.1).
fn plain_key(key: &Value) -> Value {
    const FAR: f64 = 9_223_372_036_854_775_808.0;
    match key {
        Value::Number(x) if x.fract() == 0.0 && (-FAR..FAR).contains(x) => Value::Integer(*x as i64),
        key => key.clone(),
    }
}

/// Whether a text is that of an address or prefix.
fn is_address(ty: &Type, text: &[u8]) -> bool {
    let schema = Schema {
        key: ty.clone(),
        value: Type::Boolean,
        capacity: 1,
        when_full: WhenFull::Error,
        lifetime: None,
        per_cpu: false,
    };
    encode_key(&schema, &Datum::Text(text.to_vec())).is_ok() && is_usual(ty, text)
}

/// Whether an address is spelt as those of packets are: handlers know no other spelling (docs/packet.md).
fn is_usual(ty: &Type, text: &[u8]) -> bool {
    match ty {
        Type::Mac => !text.iter().any(u8::is_ascii_uppercase),
        Type::Ipv4 | Type::Address => {
            let text = std::str::from_utf8(text).unwrap_or_default();
            text.parse::<IpAddr>().is_ok_and(|address| address.to_string() == text)
        }
        _ => true,
    }
}

/// The Lua type name; mlua's own tell integers from floats.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) | Value::Number(_) => "number",
        other => other.type_name(),
    }
}
