//! `print`: Lua's own, except that its output can be captured.
//!
//! Scripts get this function in place of the standard one (Lua manual § 6.2, `print`) and may keep it wherever they like;
//! so what it does with a line is decided at each call: a state that captures collects lines in a table of its registry,
//! any other writes them to standard output.

use std::ffi::{c_int, c_void};
use std::io::Write;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Table};

/// Its address is the key of the captured lines in the registry.
static KEY: u8 = 0;

/// Its address is the key of what is true if lines go to standard error.
static STDERR: u8 = 0;

/// Its address is the key of the function that gets the lines in the place of standard output.
static WRITER: u8 = 0;

/// From now on what this state prints, and does not keep, goes to a function, line by line.
pub(crate) fn print_to(lua: &Lua, writer: Function) -> mlua::Result<()> {
    // SAFETY: the closure takes the value on top of the stack, and owns nothing.
    unsafe {
        lua.exec_raw::<()>(writer, |state| {
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, (&raw const WRITER).cast());
        })
    }
}

/// From now on what this state prints, and does not keep, goes to standard error.
pub(crate) fn print_to_stderr(lua: &Lua) -> mlua::Result<()> {
    // SAFETY: the closure takes the value on top of the stack, and owns nothing.
    unsafe {
        lua.exec_raw::<()>(true, |state| {
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, (&raw const STDERR).cast());
        })
    }
}

fn key() -> *const c_void {
    (&raw const KEY).cast()
}

/// Has a script's `print` be this state's own, which programs know, where somebody has put another one into its surroundings: that gets the lines.
pub(crate) fn keep_own(lua: &Lua, globals: &Table) -> mlua::Result<()> {
    let (own, theirs): (Function, Function) = (lua.globals().get("print")?, globals.raw_get("print")?);
    if own != theirs {
        print_to(lua, theirs)?;
        globals.raw_set("print", own)?;
    }
    Ok(())
}

/// The function that scripts see as `print`.
pub(crate) fn function(lua: &Lua) -> mlua::Result<Function> {
    // SAFETY: `print` keeps to what C functions may do.
    unsafe { lua.create_c_function(print) }
}

/// From now on this state keeps what is printed, until [`captured_print`] takes it. What it kept so far is dropped.
pub fn capture_print(lua: &Lua) -> mlua::Result<()> {
    let lines = lua.create_table()?;
    // SAFETY: the closure takes the table on top of the stack, and owns nothing.
    unsafe { lua.exec_raw::<()>(lines, |state| ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, key())) }
}

/// Ends capturing; gives one entry for each call of `print` since [`capture_print`], without line end.
pub fn captured_print(lua: &Lua) -> mlua::Result<Vec<Vec<u8>>> {
    // SAFETY: as in `capture_print`; two stack slots are used.
    let lines: Option<Table> = unsafe {
        lua.exec_raw((), |state| {
            ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, key());
            ffi::lua_pushnil(state);
            ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, key());
        })?
    };
    let Some(lines) = lines else { return Ok(Vec::new()) };
    lines.sequence_values::<mlua::LuaString>().map(|line| Ok(line?.as_bytes().to_vec())).collect()
}

/// Adds a line to those that are kept, if any are.
pub(crate) fn capture_line(lua: &Lua, line: &[u8]) -> mlua::Result<()> {
    // SAFETY: the closure uses two stack slots, and owns nothing.
    unsafe {
        lua.exec_raw::<()>(lua.create_string(line)?, |state| {
            if ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, key()) == ffi::LUA_TTABLE {
                ffi::lua_insert(state, -2);
                ffi::lua_rawseti(state, -2, ffi::lua_rawlen(state, -2) as i64 + 1);
            }
            ffi::lua_settop(state, 0);
        })
    }
}

unsafe extern "C-unwind" fn print(state: *mut lua_State) -> c_int {
    // SAFETY: at most LUA_MINSTACK slots are used beyond those checked for; nothing with a destructor is alive where an
    // error may be raised.
    unsafe {
        let count = ffi::lua_gettop(state);
        ffi::luaL_checkstack(state, 2 * count + 4, c"too many arguments to print".as_ptr());
        for argument in 1..=count {
            if argument > 1 {
                ffi::lua_pushstring(state, c"\t".as_ptr());
            }
            ffi::luaL_tolstring(state, argument, std::ptr::null_mut());
        }
        match ffi::lua_gettop(state) - count {
            0 => drop(ffi::lua_pushstring(state, c"".as_ptr())),
            parts => ffi::lua_concat(state, parts),
        }
        if ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, key()) == ffi::LUA_TTABLE {
            ffi::lua_insert(state, -2);
            ffi::lua_rawseti(state, -2, ffi::lua_rawlen(state, -2) as i64 + 1);
        } else {
            ffi::lua_pop(state, 1);
            if ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, (&raw const WRITER).cast())
                == ffi::LUA_TFUNCTION
            {
                ffi::lua_insert(state, -2);
                ffi::lua_call(state, 1, 0);
            } else {
                ffi::lua_pop(state, 1);
                write_line(state);
            }
        }
        0
    }
}

/// Writes the string on top of the stack.
unsafe fn write_line(state: *mut lua_State) {
    let mut length = 0;
    // SAFETY: the string stays on the stack while it is written, below what is looked up; nothing here raises an error of Lua.
    let (line, to_stderr) = unsafe {
        let start = ffi::lua_tolstring(state, -1, &mut length);
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, (&raw const STDERR).cast());
        let to_stderr = ffi::lua_toboolean(state, -1) != 0;
        ffi::lua_pop(state, 1);
        (std::slice::from_raw_parts(start.cast::<u8>(), length), to_stderr)
    };
    if to_stderr {
        let _ = std::io::stderr().write_all(&[line, b"\n"].concat());
        return;
    }
    let mut out = std::io::stdout().lock();
    // As the standard `print`, which does not look at the outcome either.
    let _ = out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
}
