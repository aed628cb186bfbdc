//! Source files as Lua compiles them.

use moonhook_load::chunk::{self, Function};
use moonhook_snapshot::{Prototype, PrototypeId};

/// Compiles a file with real Lua; gives its functions, each after those inside it, the main function last.
///
/// # Errors
/// Lua's message for what is no Lua.
pub fn read(name: &str, text: &str) -> Result<Vec<Prototype>, String> {
    let lua =
        mlua::Lua::new_with(mlua::StdLib::NONE, mlua::LuaOptions::default()).map_err(|e| e.to_string())?;
    let function = lua.load(text).set_name(format!("@{name}")).into_function().map_err(|e| e.to_string())?;
    let chunk = chunk::read(&function.dump(false)).map_err(|error| error.to_string())?;
    let mut prototypes = Vec::new();
    append(&mut prototypes, chunk);
    Ok(prototypes)
}

fn append(prototypes: &mut Vec<Prototype>, mut function: Function) -> PrototypeId {
    let inner = std::mem::take(&mut function.functions);
    let inner = inner.into_iter().map(|inner| append(prototypes, inner)).collect();
    prototypes.push(function.into_prototype(None, inner));
    PrototypeId(prototypes.len() as u32 - 1)
}
