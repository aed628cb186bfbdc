//! The library function that a primitive stands for, in real Lua.

use mlua::{Function, Lua, MultiValue, Value as LuaValue};

use super::{Simulator, Value};

/// A state of real Lua with its standard library.
pub struct Reference {
    lua: Lua,
}

impl Reference {
    pub fn new() -> Reference {
        Reference { lua: Lua::new() }
    }

    /// Whether there is a function of that name.
    pub fn has(&self, name: &str) -> bool {
        let of_type = self.lua.load(format!("return type({name})")).eval::<String>();
        of_type.is_ok_and(|of_type| of_type == "function")
    }

    /// Calls the function `name` (`string.rep`, `tonumber`): its results, or its error's message without a position.
    ///
    /// # Panics
    /// If the name is not one of a function, or a result cannot be a [`Value`].
    pub fn call(&self, name: &str, args: &[Value]) -> Result<Vec<Value>, String> {
        let text = format!("local f = {name}; return function(...) return pcall(f, ...) end");
        let caller: Function = self.lua.load(text).eval().unwrap_or_else(|error| panic!("{name}: {error}"));
        let args: MultiValue = args.iter().map(|arg| self.to_lua(arg)).collect();
        let mut results = caller.call::<MultiValue>(args).unwrap_or_else(|error| panic!("{name}: {error}"));
        match results.pop_front() {
            Some(LuaValue::Boolean(true)) => Ok(results.into_iter().map(from_lua).collect()),
            _ => Err(results.pop_front().map_or_else(String::new, |message| match message {
                LuaValue::String(message) => message.to_string_lossy(),
                other => format!("{other:?}"),
            })),
        }
    }

    fn to_lua(&self, value: &Value) -> LuaValue {
        match value {
            Value::Nil => LuaValue::Nil,
            Value::Boolean(truth) => LuaValue::Boolean(*truth),
            Value::Integer(value) => LuaValue::Integer(*value),
            Value::Float(value) => LuaValue::Number(*value),
            Value::String(bytes) => match self.lua.create_string(bytes) {
                Ok(string) => LuaValue::String(string),
                Err(error) => panic!("{error}"),
            },
            Value::Raw { .. } => panic!("{value:?} is no value of real Lua"),
        }
    }
}

impl Default for Reference {
    fn default() -> Self {
        Reference::new()
    }
}

fn from_lua(value: LuaValue) -> Value {
    match value {
        LuaValue::Nil => Value::Nil,
        LuaValue::Boolean(truth) => Value::Boolean(truth),
        LuaValue::Integer(value) => Value::Integer(value),
        LuaValue::Number(value) => Value::Float(value),
        LuaValue::String(string) => Value::String(string.as_bytes().to_vec()),
        other => panic!("{other:?} cannot be compared"),
    }
}

/// Calls the function `name` of real Lua and the routine that stands for it (`string_rep`, `base_tonumber`).
///
/// # Panics
/// If the results or the messages differ, apart from the name of the function in a message.
pub fn compare(simulator: &Simulator, reference: &Reference, name: &str, args: &[Value]) {
    let routine = match name.contains('.') {
        true => name.replace('.', "_"),
        false => format!("base_{name}"),
    };
    let expected = reference.call(name, args).map_err(|message| without_name(&message));
    simulator.reset();
    let found = simulator.call_primitive(&routine, args).map_err(|message| without_name(&message));
    assert_eq!(found, expected, "{name} with {args:?}");
}

/// `bad argument #1 to 'rep' (…)` with `?` for the name.
fn without_name(message: &str) -> String {
    let named = message.split_once(" to '").and_then(|(start, rest)| Some((start, rest.split_once('\'')?.1)));
    match named {
        Some((start, end)) if start.starts_with("bad argument #") => format!("{start} to '?'{end}"),
        _ => message.to_owned(),
    }
}
