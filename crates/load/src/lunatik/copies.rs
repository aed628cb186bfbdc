//! What methods of copies of packets are made of, at load time and in the user tier.

use crate::functions::without_lines;
use crate::names::Names;
use mlua::{Function, Lua, LuaString, Table};
use moonhook_library::own::copies::{
    AGAIN, BYTES, CLEAR, DEVICE, KEPT, LINK, MAKE, PEEKS, POKES, PUT, ROOM, SEND, SENT, SUM,
};
use moonhook_schema::Datum;

/// What these are called in `copies.lua`.
const FUNCTIONS: [(&str, &str); 7] = [
    ("make", MAKE),
    ("again", AGAIN),
    ("device", DEVICE),
    ("bytes", BYTES),
    ("put", PUT),
    ("clear", CLEAR),
    ("sum", SUM),
];

/// The functions in a table, `peek` and `poke` by how many bytes they are about; programs have their own under the canonical names. `event` sends an event of that name.
pub fn functions(
    lua: &Lua,
    names: &mut Names,
    event: impl Fn(&Lua, &str, Vec<Datum>) -> mlua::Result<()> + 'static,
) -> mlua::Result<Table> {
    let text = include_str!("copies.lua");
    let own: Table = without_lines(lua, text)?.call((lua.globals(), LINK, KEPT, ROOM))?;
    for (key, name) in FUNCTIONS {
        names.add_function(name, own.get(key)?);
    }
    for (rows, what) in [(PEEKS, "peek"), (POKES, "poke")] {
        let functions: Table = own.get(what)?;
        for (name, width) in rows {
            names.add_function(name, functions.get(width as i64)?);
        }
    }
    let bytes: Function = own.get("bytes")?;
    let send = lua.create_function(move |lua, part: (Table, i64, i64, i64)| {
        let (buffer, at, length, device) = part;
        let frame: LuaString = bytes.call((buffer, at, length))?;
        let values = vec![Datum::Integer(device), Datum::Text(frame.as_bytes().to_vec())];
        event(lua, SENT, values)
    })?;
    names.add_function(SEND, send.clone());
    own.set("send", send)?;
    own.set("LINK", LINK)?;
    own.set("KEPT", KEPT)?;
    own.set("ROOM", ROOM)?;
    Ok(own)
}
