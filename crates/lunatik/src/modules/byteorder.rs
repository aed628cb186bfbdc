//! `byteorder`: integers from the machine's byte order to another one and back (Lunatik's `lib/luabyteorder.c`).

use std::sync::Arc;

use mlua::{Lua, Table};

use crate::arguments::add;
use crate::host::{Host, Module};

pub(crate) const MODULE: Module = Module { name: "byteorder", open, shared: None };

fn open(lua: &Lua, _: &Arc<Host>) -> mlua::Result<Table> {
    let module = lua.create_table()?;
    macro_rules! functions {
        ($type:ty, $to:ident: $($name:literal),*) => {
            $(add(lua, &module, $name, |_, arguments| Ok((arguments.integer(1)? as $type).$to() as i64))?;)*
        };
    }
    // A function and the one back are the same.
    functions!(u16, to_be: "ntoh16", "hton16", "htobe16", "be16toh");
    functions!(u32, to_be: "ntoh32", "hton32", "htobe32", "be32toh");
    functions!(u64, to_be: "ntoh64", "hton64", "htobe64", "be64toh");
    functions!(u16, to_le: "htole16", "le16toh");
    functions!(u32, to_le: "htole32", "le32toh");
    functions!(u64, to_le: "htole64", "le64toh");
    Ok(module)
}
