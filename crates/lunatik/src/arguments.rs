//! What functions get and what they raise, in the words of Lua's auxiliary library (Lua manual § 5, `luaL_argerror`, `luaL_typeerror`).
//!
//! Errors that callbacks of Rust raise are userdata in Lua; scripts compare them with strings (`"EAGAIN"`). So a function in Lua around each callback
//! raises what the callback gives back.

use mlua::{Function, IntoLuaMulti, Lua, MultiValue, UserData, Value};
use nix::errno::Errno;

/// An error of a script.
#[derive(Debug)]
pub enum Raise {
    /// With the position of the script's call in front of it.
    At(String),
    /// The text alone.
    Bare(String),
    /// Of Lua itself: no memory.
    Lua(mlua::Error),
}

impl From<mlua::Error> for Raise {
    fn from(error: mlua::Error) -> Raise {
        Raise::Lua(error)
    }
}

impl From<Errno> for Raise {
    /// As `lunatik_throw` does: the error number's name.
    fn from(error: Errno) -> Raise {
        Raise::Bare(error_name(error))
    }
}

/// The name of an error number, as the kernel's `errname` gives it; `unknown` for one that has none.
pub(crate) fn error_name(error: Errno) -> String {
    if error == Errno::UnknownErrno { "unknown".to_string() } else { format!("{error:?}") }
}

/// The arguments of a call.
pub struct Arguments {
    values: Vec<Value>,
    /// What errors call the function.
    name: &'static str,
    /// The first argument is the object, which errors do not count.
    is_method: bool,
}

/// How errors count the arguments of a method.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    All,
    /// The object is not counted.
    BehindObject,
}

impl Arguments {
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The argument with that number, from 1.
    pub fn value(&self, number: usize) -> Value {
        self.values.get(number - 1).cloned().unwrap_or(Value::Nil)
    }

    pub fn is_none_or_nil(&self, number: usize) -> bool {
        self.value(number).is_nil()
    }

    /// `luaL_argerror`.
    pub fn error(&self, number: usize, text: &str) -> Raise {
        let number = if self.is_method { number - 1 } else { number };
        Raise::At(match number {
            0 => format!("calling '{}' on bad self ({text})", self.name),
            _ => format!("bad argument #{number} to '{}' ({text})", self.name),
        })
    }

    /// `luaL_typeerror`.
    pub fn type_error(&self, number: usize, expected: &str) -> Raise {
        let got = match self.values.get(number - 1) {
            None => "no value",
            Some(value) => type_name(value),
        };
        self.error(number, &format!("{expected} expected, got {got}"))
    }

    /// `luaL_checkinteger`.
    pub fn integer(&self, number: usize) -> Result<i64, Raise> {
        let value = self.value(number);
        match (integer(&value), value) {
            (Some(value), _) => Ok(value),
            (None, Value::Number(_)) => Err(self.error(number, "number has no integer representation")),
            (None, _) => Err(self.type_error(number, "number")),
        }
    }

    pub fn integer_or(&self, number: usize, default: i64) -> Result<i64, Raise> {
        if self.is_none_or_nil(number) { Ok(default) } else { self.integer(number) }
    }

    /// As [`Arguments::integer`], within `low..=high`; beyond them `out of bounds` is raised.
    pub fn integer_within(&self, number: usize, low: i64, high: i64) -> Result<i64, Raise> {
        let value = self.integer(number)?;
        if (low..=high).contains(&value) { Ok(value) } else { Err(self.error(number, "out of bounds")) }
    }

    /// `luaL_checklstring`.
    pub fn bytes(&self, number: usize) -> Result<Vec<u8>, Raise> {
        match self.value(number) {
            Value::String(text) => Ok(text.as_bytes().to_vec()),
            Value::Integer(value) => Ok(value.to_string().into_bytes()),
            Value::Number(value) => Ok(value.to_string().into_bytes()),
            _ => Err(self.type_error(number, "string")),
        }
    }

    /// A string; bytes that are no UTF-8 are replaced.
    pub fn text(&self, number: usize) -> Result<String, Raise> {
        self.bytes(number).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub fn function(&self, number: usize) -> Result<Function, Raise> {
        match self.value(number) {
            Value::Function(function) => Ok(function),
            _ => Err(self.type_error(number, "function")),
        }
    }

    pub fn boolean(&self, number: usize) -> bool {
        !matches!(self.value(number), Value::Nil | Value::Boolean(false))
    }

    /// One of these words, by its place (`luaL_checkoption`).
    pub fn option(&self, number: usize, default: usize, words: &[&str]) -> Result<usize, Raise> {
        if self.is_none_or_nil(number) {
            return Ok(default);
        }
        let word = self.text(number)?;
        let place = words.iter().position(|known| *known == word);
        place.ok_or_else(|| self.error(number, &format!("invalid option '{word}'")))
    }

    /// An object of that class.
    pub fn object<T: UserData + Clone + 'static>(&self, number: usize, class: &str) -> Result<T, Raise> {
        let value = self.value(number);
        let object =
            value.as_userdata().and_then(|object| object.borrow::<T>().ok().map(|object| object.clone()));
        object.ok_or_else(|| self.type_error(number, class))
    }
}

pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Boolean(_) => "boolean",
        Value::Integer(_) | Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Table(_) => "table",
        Value::Function(_) => "function",
        Value::Thread(_) => "thread",
        Value::LightUserData(_) => "light userdata",
        _ => "userdata",
    }
}

/// A value as Lua converts it to an integer (`lua_tointegerx`).
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(value) => Some(*value),
        Value::Number(value) => exact(*value),
        Value::String(text) => text.to_str().ok().and_then(|text| of_text(&text)),
        _ => None,
    }
}

/// The integer that equals a number.
fn exact(value: f64) -> Option<i64> {
    let is_one = value.floor() == value && (-(2f64.powi(63))..2f64.powi(63)).contains(&value);
    is_one.then_some(value as i64)
}

fn of_text(text: &str) -> Option<i64> {
    let text = text.trim();
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|value| value as i64),
        None => text.parse().ok().or_else(|| text.parse().ok().and_then(exact)),
    }
}

/// The name under which a state has what makes functions that raise.
const RAISING: &str = "moonhook.lunatik.raising";

/// Prepares a state for [`function`].
pub(crate) fn prepare(lua: &Lua) -> mlua::Result<()> {
    let raising: Function = lua.load(include_str!("lua/raising.lua")).set_name("=moonhook").eval()?;
    lua.set_named_registry_value(RAISING, raising)?;
    lua.set_named_registry_value(PROTECTED, lua.globals().get::<Function>("pcall")?)
}

/// The name under which a state has what calls functions of scripts, whatever these make of the global one.
const PROTECTED: &str = "moonhook.lunatik.pcall";

/// Calls a script's function, as `pcall` does: an error is the value that was raised.
///
/// # Errors
/// There is no memory.
pub fn protected(
    lua: &Lua,
    function: &Function,
    mut arguments: MultiValue,
) -> mlua::Result<Result<MultiValue, Value>> {
    arguments.push_front(Value::Function(function.clone()));
    let mut results = pcall(lua)?.call::<MultiValue>(arguments)?;
    match results.pop_front() {
        Some(Value::Boolean(true)) => Ok(Ok(results)),
        _ => Ok(Err(results.pop_front().unwrap_or(Value::Nil))),
    }
}

/// What calls functions of scripts as `pcall` does, whatever these make of the global one.
pub(crate) fn pcall(lua: &Lua) -> mlua::Result<Function> {
    lua.named_registry_value(PROTECTED)
}

/// A function of Lua that calls `called`; errors call it `name`.
pub(crate) fn function<R: IntoLuaMulti>(
    lua: &Lua,
    (name, counts): (&'static str, Counts),
    called: impl Fn(&Lua, &Arguments) -> Result<R, Raise> + 'static,
) -> mlua::Result<Function> {
    let raw = lua.create_function(move |lua, values: MultiValue| {
        let is_method = counts == Counts::BehindObject;
        let arguments = Arguments { values: values.into_iter().collect(), name, is_method };
        match called(lua, &arguments) {
            Ok(results) => {
                let mut results = results.into_lua_multi(lua)?;
                results.push_front(Value::Boolean(true));
                Ok(results)
            }
            Err(Raise::At(text)) => (2, text).into_lua_multi(lua),
            Err(Raise::Bare(text)) => (0, text).into_lua_multi(lua),
            Err(Raise::Lua(error)) => Err(error),
        }
    })?;
    lua.named_registry_value::<Function>(RAISING)?.call(raw)
}

/// Adds a function to a module.
///
/// # Errors
/// There is no memory.
pub fn add<R: mlua::IntoLuaMulti>(
    lua: &Lua,
    module: &mlua::Table,
    name: &'static str,
    called: impl Fn(&Lua, &Arguments) -> Result<R, Raise> + 'static,
) -> mlua::Result<()> {
    module.raw_set(name, function(lua, (name, Counts::All), called)?)
}
