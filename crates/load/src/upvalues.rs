//! The variables a Lua closure shares with others: their values and identities.

use std::ffi::c_void;

use mlua::{Function, Lua, MultiValue, Table, Value, ffi};

/// A variable that functions share, by one of the functions that have it.
#[derive(Clone, Debug)]
pub struct Upvalue {
    pub function: Function,
    /// Which of the function's variables it is, from 1.
    pub number: i64,
}

impl Upvalue {
    pub fn get(&self, lua: &Lua) -> mlua::Result<Value> {
        let (_, value): (Value, Value) = debug(lua, "getupvalue")?.call((&self.function, self.number))?;
        Ok(value)
    }

    pub fn set(&self, lua: &Lua, value: &Value) -> mlua::Result<()> {
        debug(lua, "setupvalue")?.call((&self.function, self.number, value))
    }
}

/// A function of the debug library, which no script can reach.
fn debug(lua: &Lua, name: &str) -> mlua::Result<Function> {
    lua.globals().get::<Table>("debug")?.get(name)
}

/// One upvalue of a closure.
pub(crate) struct Variable {
    /// Equal for two upvalues exactly if they are the same variable (Lua manual, `lua_upvalueid`).
    pub identity: *const c_void,
    pub value: Value,
}

/// The upvalues of a closure written in Lua, in the order of its prototype.
pub(crate) fn variables(lua: &Lua, function: &Function) -> mlua::Result<Vec<Variable>> {
    // A closure has at most 255 upvalues (`lfunc.h`, MAXUPVAL).
    let mut identities = [std::ptr::null::<c_void>(); 255];
    // SAFETY: the closure runs in protected mode; the values fit because of `luaL_checkstack`, and it owns nothing that
    // an error would leak. Each identity is taken while `function` holds the variable.
    let values: MultiValue = unsafe {
        lua.exec_raw(function, |state| {
            ffi::luaL_checkstack(state, 260, std::ptr::null());
            for (index, identity) in (1..).zip(&mut identities) {
                if ffi::lua_getupvalue(state, 1, index).is_null() {
                    break;
                }
                *identity = ffi::lua_upvalueid(state, 1, index);
            }
            ffi::lua_remove(state, 1);
        })
    }?;
    Ok(values.into_iter().zip(identities).map(|(value, identity)| Variable { identity, value }).collect())
}
