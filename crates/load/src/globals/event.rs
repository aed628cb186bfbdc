//! `event(name, value…)`: tells those who listen with `on`. Handlers use it too; here it is what control code and handlers in
//! real Lua get. A C function, so that its errors are those of Lua's own functions.

use std::ffi::{CStr, c_int};

use mlua::ffi::{self, lua_State};
use mlua::{Function, MultiValue, Table, Value};
use moonhook_schema::{Datum, MAX_NESTED};

use crate::modules::module::Context;
use crate::modules::module::Global;
use crate::registry::{Proxied, Requests};

pub(crate) const GLOBAL: Global = Global { name: "event", open };

const VALUES: &CStr = c"number, string, boolean, nil or record of those";

fn open(context: &mut Context) -> mlua::Result<Value> {
    let requests = context.registry.requests.clone();
    // Gives the number of the first argument that events do not carry, 0 if they carry all.
    let send = context.lua.create_function(move |lua, arguments: MultiValue| {
        let mut values = Vec::new();
        for (index, argument) in arguments.iter().enumerate() {
            match datum(&requests, argument, 0) {
                Some(datum) => values.push(datum),
                None => return Ok(index + 1),
            }
        }
        if let Datum::Text(name) = values.remove(0) {
            requests.event(lua, name, values)?;
        }
        Ok(0)
    })?;
    // SAFETY: `event` keeps to what C functions may do, and gets the one upvalue that it uses.
    let function: Function =
        unsafe { context.lua.exec_raw(send, |state| ffi::lua_pushcclosure(state, event, 1))? };
    context.names.add_function("event", function.clone());
    Ok(Value::Function(function))
}

/// A value, which `depth` tables are around, as events carry it; `None` if they do not.
fn datum(requests: &Requests, value: &Value, depth: usize) -> Option<Datum> {
    Some(match value {
        Value::Nil => Datum::Nil,
        Value::Boolean(value) => Datum::Boolean(*value),
        Value::Integer(value) => Datum::Integer(*value),
        Value::Number(value) => Datum::Float(value.to_bits()),
        Value::String(text) => Datum::Text(text.as_bytes().to_vec()),
        Value::Table(table) => match requests.proxy(table) {
            Some(Proxied::Value(datum)) => datum,
            Some(Proxied::Nothing) => return None,
            _ if depth == MAX_NESTED => return None,
            Some(Proxied::Fields(fields)) => record(requests, &fields, depth + 1)?,
            None => record(requests, table, depth + 1)?,
        },
        _ => return None,
    })
}

fn record(requests: &Requests, table: &Table, depth: usize) -> Option<Datum> {
    let mut fields = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (Value::String(name), value) = pair.ok()? else { return None };
        match datum(requests, &value, depth)? {
            Datum::Nil => {}
            datum => fields.push((name.as_bytes().to_vec(), datum)),
        }
    }
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    let text = |name: Vec<u8>| String::from_utf8_lossy(&name).into_owned();
    Some(Datum::Record(fields.into_iter().map(|(name, value)| (text(name), value)).collect()))
}

/// Makes a string of its first argument, gives all of them to its upvalue and raises the error about the one that it refuses.
unsafe extern "C-unwind" fn event(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls C functions with LUA_MINSTACK stack slots beyond the arguments, and `luaL_checkstack` makes room for
    // the copies; nothing here has a destructor.
    unsafe {
        let count = ffi::lua_gettop(state);
        ffi::luaL_checklstring(state, 1, std::ptr::null_mut());
        ffi::luaL_checkstack(state, count + 1, c"too many values".as_ptr());
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        for index in 1..=count {
            ffi::lua_pushvalue(state, index);
        }
        ffi::lua_call(state, count, 1);
        match ffi::lua_tointeger(state, -1) as c_int {
            0 => 0,
            refused => wrong_type(state, refused),
        }
    }
}

/// `luaL_typeerror`.
unsafe fn wrong_type(state: *mut lua_State, index: c_int) -> c_int {
    // SAFETY: as in `event`; the strings are on the stack or static.
    unsafe {
        let got = if ffi::luaL_getmetafield(state, index, c"__name".as_ptr()) == ffi::LUA_TSTRING {
            ffi::lua_tostring(state, -1)
        } else {
            ffi::lua_typename(state, ffi::lua_type(state, index))
        };
        let message = ffi::lua_pushfstring(state, c"%s expected, got %s".as_ptr(), VALUES.as_ptr(), got);
        ffi::luaL_argerror(state, index, message)
    }
}
