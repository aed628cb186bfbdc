//! Fields of objects by layouts: what `lua/fields.lua` needs.

use mlua::{Function, Lua, Table, UserDataRef, Value};

use super::{Data, bits};
use crate::class::{Methods, Object};
use crate::layouts::fields;

/// Functions that read and write; what is not there is nil, and is not written.
fn access(lua: &Lua) -> mlua::Result<Table> {
    type Handle = UserDataRef<Object<Data>>;
    let access = lua.create_table()?;
    let read = |_: &Lua, (object, at, size, little): (Handle, i64, i64, bool)| {
        Ok(bits::read(&object.lock(), at, size, little))
    };
    access.raw_set("read", lua.create_function(read)?)?;
    let write = |_: &Lua, (object, at, size, little, value): (Handle, i64, i64, bool, i64)| {
        bits::write(&mut object.lock(), at, size, little, value);
        Ok(())
    };
    access.raw_set("write", lua.create_function(write)?)?;
    let text = |lua: &Lua, (object, at, size): (Handle, i64, i64)| {
        let bytes = object.lock();
        place(at, size).and_then(|place| bytes.get(place)).map(|text| lua.create_string(text)).transpose()
    };
    access.raw_set("text", lua.create_function(text)?)?;
    let put = |_: &Lua, (object, at, size, text): (Handle, i64, i64, mlua::LuaString)| {
        let mut bytes = object.lock();
        if let Some(there) = place(at, size).and_then(|place| bytes.get_mut(place)) {
            let count = there.len().min(text.as_bytes().len());
            there[..count].copy_from_slice(&text.as_bytes()[..count]);
        }
        Ok(())
    };
    access.raw_set("put", lua.create_function(put)?)?;
    Ok(access)
}

fn place(at: i64, size: i64) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(at).ok()?;
    Some(start..start.checked_add(usize::try_from(size).ok()?)?)
}

/// `data.layout`: the table that it is given, made a layout; nothing for other values.
pub(super) fn layout_from(lua: &Lua) -> mlua::Result<Function> {
    let make: Function = fields(lua, access)?.get("layout_from")?;
    lua.create_function(move |_, given: Value| match given {
        Value::Table(given) => make.call::<Value>(given),
        _ => Ok(Value::Nil),
    })
}

/// The metatable with these methods, `layout`, and fields.
pub(super) fn add(lua: &Lua, methods: Methods<Data>) -> mlua::Result<Table> {
    let fields = fields(lua, access)?;
    let set: Function = fields.get("set_layout")?;
    methods.add("layout", move |_, _, arguments| {
        let layout = arguments.value(2);
        if !layout.is_table() {
            return Ok(Value::Nil);
        }
        set.call::<()>((arguments.value(1), layout))?;
        Ok(arguments.value(1))
    })?;
    let index: Function = fields.get::<Function>("index")?.call(&methods.table)?;
    let metatable = methods.metatable()?;
    metatable.raw_set("__index", index)?;
    metatable.raw_set("__newindex", fields.get::<Function>("newindex")?)?;
    Ok(metatable)
}
