//! Layouts of objects of `data`: what a state has for them from its beginning, before scripts can change what is in its library.

use mlua::{Function, Lua, Table};
use moonhook_library::own::data::LAYOUTS;

/// The names under which a state has what makes fields, and fields once they are made.
const MAKER: &str = "moonhook.lunatik.make_fields";
const FIELDS: &str = "moonhook.lunatik.fields";

/// Prepares a state for [`fields`].
pub(crate) fn prepare(lua: &Lua) -> mlua::Result<()> {
    let library = lua.globals();
    let pairs: Function = library.get("pairs")?;
    let layouts: Table = lua.load(LAYOUTS).set_name("=moonhook").call((&library, pairs))?;
    let layouts: Table = layouts.get::<Function>("make")?.call(cfg!(target_endian = "little"))?;
    let chunk = lua.load(include_str!("lua/fields.lua")).set_name("=moonhook");
    let maker: Function = chunk.call((library, layouts))?;
    lua.set_named_registry_value(MAKER, maker)
}

/// What `lua/fields.lua` gives in a state; `access` makes the functions that it reads and writes objects by.
pub(crate) fn fields(lua: &Lua, access: impl FnOnce(&Lua) -> mlua::Result<Table>) -> mlua::Result<Table> {
    if let Some(fields) = lua.named_registry_value::<Option<Table>>(FIELDS)? {
        return Ok(fields);
    }
    let maker: Function = lua.named_registry_value(MAKER)?;
    let fields: Table = maker.call(access(lua)?)?;
    lua.set_named_registry_value(FIELDS, &fields)?;
    Ok(fields)
}
