//! `require "linux.eth"` and its like: constants of the kernel's headers, with Lunatik's names. Lunatik makes such a module for each header, where
//! names have lost the prefix that they have in common (`ETH_P_IP` is `linux.eth`'s `IP`).
//!
//! The values are in `constants.txt`, which `scripts/constants.py` writes: a line for each, with the table, the name and the value. `layouts.txt`
//! has structures: a line with the table, the structure's name and its size, and one for each field, with its name, offset, size and whether
//! it is signed. Sizes and offsets are in bytes.

use mlua::{Lua, Table, Value};

const CONSTANTS: &str = include_str!("constants.txt");
const LAYOUTS: &str = include_str!("layouts.txt");

/// Puts the module of that name into `table`, without what is there already; gives whether there is such a module.
///
/// # Errors
/// There is no memory.
pub fn fill(lua: &Lua, name: &str, table: &Table) -> mlua::Result<bool> {
    let mut is_one = false;
    for line in CONSTANTS.lines() {
        let mut words = line.split(' ');
        let (Some(path), Some(constant), Some(value)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let Some(path) = inside(name, path) else { continue };
        is_one = true;
        let value = value.parse::<i64>().map_err(mlua::Error::external)?;
        add(&at(lua, table, path)?, constant, Value::Integer(value))?;
    }
    Ok(is_one | fill_layouts(lua, name, table)?)
}

fn fill_layouts(lua: &Lua, name: &str, table: &Table) -> mlua::Result<bool> {
    let mut open: Option<Table> = None;
    let mut is_one = false;
    for line in LAYOUTS.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), &open) {
            ([field, offset, size, sign], Some(fields)) if line.starts_with(' ') => {
                let number = |text: &str| text.parse::<i64>().map_err(mlua::Error::external);
                let row = lua.create_table()?;
                row.raw_set("name", *field)?;
                row.raw_set("offset", number(offset)?)?;
                row.raw_set("size", number(size)?)?;
                row.raw_set("signed", *sign == "signed")?;
                fields.raw_push(row)?;
            }
            ([path, structure, size], _) if !line.starts_with(' ') => {
                open = None;
                let Some(path) = inside(name, path) else { continue };
                is_one = true;
                let layout = lua.create_table()?;
                let fields = lua.create_table()?;
                layout.raw_set("size", size.parse::<i64>().map_err(mlua::Error::external)?)?;
                layout.raw_set("fields", &fields)?;
                add(&at(lua, table, path)?, structure, Value::Table(layout))?;
                open = Some(fields);
            }
            _ => {}
        }
    }
    Ok(is_one)
}

/// What of a table's path is inside of the module: `ip.pri` of `linux.nf.ip.pri` in `linux.nf`.
fn inside<'a>(module: &str, path: &'a str) -> Option<&'a str> {
    match path.strip_prefix(module)? {
        "" => Some(""),
        rest => rest.strip_prefix('.'),
    }
}

/// The table at a path in another one, which is made where it is not there.
fn at(lua: &Lua, table: &Table, path: &str) -> mlua::Result<Table> {
    let mut found = table.clone();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let next: Option<Table> = found.raw_get(part)?;
        found = match next {
            Some(next) => next,
            None => {
                let made = lua.create_table()?;
                found.raw_set(part, &made)?;
                made
            }
        };
    }
    Ok(found)
}

fn add(table: &Table, name: &str, value: Value) -> mlua::Result<()> {
    if table.raw_get::<Value>(name)?.is_nil() { table.raw_set(name, value) } else { Ok(()) }
}

/// Makes modules when they are asked for: scripts need few of them.
///
/// # Errors
/// There is no memory.
pub(crate) fn find_in(lua: &Lua, modules: &Table) -> mlua::Result<()> {
    let find = lua.create_function(|lua, (modules, name): (Table, mlua::LuaString)| {
        let table = lua.create_table()?;
        // A part of a module is none.
        let name = name.to_string_lossy();
        let is_module = name.strip_prefix("linux.").is_some_and(|rest| !rest.contains('.'));
        if !is_module || !fill(lua, &name, &table)? {
            return Ok(None);
        }
        modules.raw_set(&*name, &table)?;
        Ok(Some(table))
    })?;
    let metatable = lua.create_table()?;
    metatable.raw_set("__index", find)?;
    modules.set_metatable(Some(metatable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_have_the_kernels_constants() {
        let lua = Lua::new();
        let modules = lua.create_table().unwrap();
        find_in(&lua, &modules).unwrap();
        lua.globals().set("M", modules).unwrap();
        for (expression, value) in [
            ("M['linux.eth'].IP", 0x0800),
            ("M['linux.eth']['8021Q']", 0x8100),
            ("M['linux.stat'].IRUGO", 0o444),
            ("M['linux.socket'].sock.RAW", 3),
            ("M['linux.socket'].af.PACKET", 17),
            ("M['linux.nf'].ip.pri.FIRST", i64::from(i32::MIN)),
            ("M['linux.nf'].ct.dir.REPLY", 1),
            ("M['linux.netlink'].layout.nlmsghdr.size", 16),
            ("M['linux.netlink'].layout.nlmsghdr.fields[2].offset", 4),
            ("M['linux.notify'].OK", 1),
        ] {
            assert_eq!(lua.load(expression).eval::<i64>().unwrap(), value, "{expression}");
        }
        for name in ["linux.socket.sock", "linux", "linux.", "linux.none", "eth"] {
            assert!(lua.load(format!("M['{name}']")).eval::<Value>().unwrap().is_nil(), "{name}");
        }
    }

    #[test]
    fn what_is_there_already_stays() {
        let lua = Lua::new();
        let table = lua.create_table_from([("PASS", 7)]).unwrap();
        assert!(fill(&lua, "linux.xdp", &table).unwrap());
        assert_eq!((table.get::<i64>("PASS").unwrap(), table.get::<i64>("TX").unwrap()), (7, 3));
    }
}
