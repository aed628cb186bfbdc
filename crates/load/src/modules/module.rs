//! What a module or a global variable of Moonhook's is made with.

use mlua::{AnyUserData, FromLua, Function, Lua, MultiValue, ObjectLike, Table, Value};

use crate::functions::{raising, userdata_name, without_lines};
use crate::names::Names;
use crate::registry::Registry;

/// A module of Moonhook's own library.
pub(crate) struct Module {
    /// What a script gives to `require`.
    pub name: &'static str,
    pub open: fn(&mut Context) -> mlua::Result<Table>,
}

/// A global variable.
pub(crate) struct Global {
    pub name: &'static str,
    /// A function or a table of functions.
    pub open: fn(&mut Context) -> mlua::Result<Value>,
}

/// What a module needs to make its table.
pub(crate) struct Context<'a> {
    pub lua: &'a Lua,
    pub registry: &'a Registry,
    pub names: &'a mut Names,
    /// The script's global variables.
    pub globals: &'a Table,
    /// The script's `pairs`.
    pairs: &'a Function,
    /// Whether what is made registers handlers.
    pub registers: bool,
}

impl<'a> Context<'a> {
    pub fn new(
        lua: &'a Lua,
        registry: &'a Registry,
        names: &'a mut Names,
        (globals, pairs): (&'a Table, &'a Function),
    ) -> mlua::Result<Self> {
        Ok(Context { lua, registry, names, globals, pairs, registers: false })
    }

    /// What Lua text of our own returns; it is given the standard library as Lua made it, and the script's `pairs`. Its functions
    /// have no names of their own: handlers that call them have them compiled like the script's.
    pub fn chunk<T: FromLua>(&self, text: &'static str) -> mlua::Result<T> {
        without_lines(self.lua, text)?.call((self.lua.globals(), self.pairs))
    }

    /// A function with this canonical name, which gives a value, or nothing where that is nil. An `Err` is raised at the line of the
    /// script that called it.
    pub fn function<F>(&mut self, name: &'static str, body: F) -> mlua::Result<Function>
    where
        F: Fn(&Lua, &[Value]) -> Result<Value, String> + 'static,
    {
        self.values_function(name, move |lua, arguments| {
            let value = body(lua, arguments)?;
            Ok(if value.is_nil() { MultiValue::new() } else { MultiValue::from_iter([value]) })
        })
    }

    /// As [`Context::function`], of one that gives the bytes of a string, or nil.
    pub fn text_function<F>(&mut self, name: &'static str, body: F) -> mlua::Result<Function>
    where
        F: Fn(&Lua, &[Value]) -> Result<Option<String>, String> + 'static,
    {
        self.values_function(name, move |lua, arguments| {
            let text = body(lua, arguments)?;
            let text = text.map(|text| lua.create_string(text).map(Value::String)).transpose();
            let value = text.map_err(|error| error.to_string())?.unwrap_or(Value::Nil);
            Ok(MultiValue::from_iter([value]))
        })
    }

    /// As [`Context::function`], of one that gives any number of values.
    pub fn values_function<F>(&mut self, name: &'static str, body: F) -> mlua::Result<Function>
    where
        F: Fn(&Lua, &[Value]) -> Result<MultiValue, String> + 'static,
    {
        let function = raising(self.lua, move |lua, arguments: MultiValue| {
            body(lua, &arguments.into_iter().collect::<Vec<_>>())
        })?;
        self.names.add_function(name, function.clone());
        Ok(function)
    }
}

/// The message of Lua for an argument of the wrong type (`lauxlib.c`, `luaL_typeerror`). `number` counts from 1.
pub(crate) fn type_error(arguments: &[Value], number: usize, function: &str, expected: &str) -> String {
    let got = arguments.get(number - 1).map_or("no value", type_name);
    format!("bad argument #{number} to '{function}' ({expected} expected, got {got})")
}

/// The same, of userdata by the name that their metatable has.
pub(crate) fn named_type_error(
    lua: &Lua,
    arguments: &[Value],
    number: usize,
    function: &str,
    expected: &str,
) -> String {
    let name = arguments.get(number - 1).and_then(|argument| userdata_name(lua, argument));
    match name {
        Some(got) => format!("bad argument #{number} to '{function}' ({expected} expected, got {got})"),
        None => type_error(arguments, number, function, expected),
    }
}

/// The packet that is the first argument; `not_packet` is what is wrong with the second argument of handlers, which has bytes, too.
pub(crate) fn packet_argument<'a>(
    lua: &Lua,
    arguments: &'a [Value],
    function: &str,
    not_packet: &str,
) -> Result<&'a AnyUserData, String> {
    let object = arguments.first().and_then(Value::as_userdata);
    match object.filter(|object| object.get::<Value>("getbyte").is_ok()) {
        // Only packets have a name for what they begin with.
        Some(packet) if packet.get::<Value>("eth").is_ok() => Ok(packet),
        Some(_) => Err(format!("bad argument #1 to '{function}' ({not_packet})")),
        None => Err(named_type_error(lua, arguments, 1, function, "data")),
    }
}

/// Argument `number` (from 1) as Lua converts it to an integer (`luaL_checkinteger`).
pub(crate) fn integer(lua: &Lua, arguments: &[Value], number: usize, function: &str) -> Result<i64, String> {
    let argument = arguments.get(number - 1).cloned().unwrap_or(Value::Nil);
    if let Ok(Some(integer)) = lua.coerce_integer(argument.clone()) {
        return Ok(integer);
    }
    match lua.coerce_number(argument) {
        Ok(Some(_)) => {
            Err(format!("bad argument #{number} to '{function}' (number has no integer representation)"))
        }
        _ => Err(named_type_error(lua, arguments, number, function, "number")),
    }
}

/// Argument `number` (from 1) as Lua converts it to a string (`luaL_checklstring`).
pub(crate) fn text(lua: &Lua, arguments: &[Value], number: usize, function: &str) -> Result<Vec<u8>, String> {
    let argument = arguments.get(number - 1).cloned().unwrap_or(Value::Nil);
    match lua.coerce_string(argument) {
        Ok(Some(text)) => Ok(text.as_bytes().to_vec()),
        Ok(None) => Err(named_type_error(lua, arguments, number, function, "string")),
        Err(error) => Err(error.to_string()),
    }
}

/// The Lua type name of a value; mlua's own names tell integers from floats.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) | Value::Number(_) => "number",
        Value::Error(_) | Value::LightUserData(_) => "userdata",
        _ => value.type_name(),
    }
}
