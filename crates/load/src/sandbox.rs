//! The Lua state that scripts run in, and the globals of each script.
//!
//! Reads the rows of Lua's functions ([`moonhook_library`]), `prelude.lua` and the module table ([`crate::modules`]). Guarantees that a
//! script reaches no process, network, environment, file for writing or C library, and that scripts do not see one
//! another's globals or changes to library tables. Knows the canonical name of every function it hands out.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value};
use moonhook_library as library;

use crate::files::{self, Files};
use crate::functions::without_lines;
use crate::globals::GLOBALS;
use crate::modules::MODULES;
use crate::modules::constants;
use crate::modules::module::Context;
use crate::names::Names;
use crate::registry::Registry;
use crate::roots::Roots;
use crate::traversal;

const PRELUDE: &str = include_str!("prelude.lua");

/// A script's surroundings.
pub(crate) struct Globals {
    pub table: Table,
    /// `package.loaded`.
    pub loaded: Table,
    /// The modules that register handlers.
    pub registering: Vec<&'static str>,
}

/// A state with the libraries that the allow list draws on. They stand in its own globals, which no script gets. `for_processes`: scripts are to write files,
/// too.
pub(crate) fn new_state(for_processes: bool) -> mlua::Result<Lua> {
    let libraries = StdLib::COROUTINE
        | StdLib::TABLE
        | StdLib::IO
        | StdLib::OS
        | StdLib::STRING
        | StdLib::UTF8
        | StdLib::MATH
        | StdLib::DEBUG;
    // SAFETY: the debug library is used by `prelude.lua` and the snapshot only; scripts cannot reach it. The
    // `package` library, which loads C code, is not opened, and precompiled chunks are refused everywhere.
    let lua = unsafe { Lua::unsafe_new_with(libraries, LuaOptions::default()) };
    // `math.random` starts from a random seed; the same script has to give the same snapshot.
    lua.globals().get::<Table>("math")?.get::<Function>("randomseed")?.call::<()>(0)?;
    lua.globals().set("print", crate::print::function(&lua)?)?;
    if !for_processes {
        remove_file_writing(&lua)?;
    }
    crate::guards::install(&lua)?;
    // References to values have a stack of their own, which must be able to grow: it does so before memory is limited.
    drop((0..REFERENCES).map(|_| lua.globals()).collect::<Vec<_>>());
    Ok(lua)
}

/// References that a script's surroundings may hold at once, with some to spare.
const REFERENCES: usize = 1024;

/// Files are open for reading only; the methods that would say so at run time only are not there at all.
fn remove_file_writing(lua: &Lua) -> mlua::Result<()> {
    let library: Table = lua.globals().get("io")?;
    let metatable_of: Function = lua.globals().get::<Table>("debug")?.get("getmetatable")?;
    let metatable: Table = metatable_of.call(library.get::<Value>("stdin")?)?;
    let methods: Table = metatable.get("__index")?;
    for method in ["write", "flush", "setvbuf"] {
        methods.raw_set(method, Value::Nil)?;
    }
    metatable.raw_set("__metatable", false)
}

/// The globals of a script in `folder`, against which module names and file names are resolved.
pub(crate) fn globals(
    lua: &Lua,
    folder: PathBuf,
    roots: &Roots,
    files: &Rc<Files>,
    registry: &Registry,
    steppers: &Table,
    names: &mut Names,
) -> mlua::Result<Globals> {
    let globals = lua.create_table()?;
    let raw = files::functions(lua, (folder, registry.root.clone()), roots, files, &globals)?;
    let modules = lua.create_table()?;
    raw.set("modules", &modules)?;
    raw.set("steppers", steppers)?;
    raw.set("next", lua.create_function(traversal::next)?)?;
    raw.set("pairs", lua.create_function(traversal::pairs)?)?;
    let replaced: Table = without_lines(lua, PRELUDE)?.call((lua.globals(), raw, &globals))?;
    let pairs = replaced.get("pairs")?;
    let registering = open_modules(lua, registry, names, (&globals, &pairs), &modules)?;

    let package: Table = globals.get("package")?;
    let loaded: Table = package.get("loaded")?;
    let tables = fill_libraries(lua, &globals, &loaded, &replaced, names)?;
    for global in GLOBALS {
        let value = (global.open)(&mut Context::new(lua, registry, names, (&globals, &pairs))?)?;
        if let Value::Table(table) = &value {
            names.add_table(global.name, table.clone());
        }
        globals.raw_set(global.name, value)?;
    }
    names.add_table("package", package.clone());
    names.add_table("package.loaded", loaded.clone());
    names.add_table("package.preload", package.get("preload")?);
    loaded.raw_set("package", package)?;
    if let Some(lunatik) = &registry.lunatik {
        lunatik.begin(lua, (names, &registry.requests), &globals)?;
    }
    if let Some(string) = tables.get("string") {
        use_string_methods(lua, string)?;
    }
    Ok(Globals { table: globals, loaded, registering })
}

/// Puts the libraries that scripts have into their globals and under `package.loaded`, with functions of `replaced` in the place of those
/// of the same names; gives them by name.
fn fill_libraries(
    lua: &Lua,
    globals: &Table,
    loaded: &Table,
    replaced: &Table,
    names: &mut Names,
) -> mlua::Result<HashMap<&'static str, Table>> {
    let mut tables = HashMap::from([("_G", globals.clone())]);
    for library in library::standard() {
        let original: Table =
            if library.name == "_G" { lua.globals() } else { lua.globals().get(library.name)? };
        let table = match tables.get(library.name) {
            Some(table) => table.clone(),
            None => lua.create_table()?,
        };
        for row in library.functions {
            let function = match replaced.get(row.name)? {
                Some(function) => function,
                None => original.get::<Function>(row.key())?,
            };
            table.raw_set(row.key(), &function)?;
            names.add_function(row.name, function);
        }
        for constant in library.constants {
            table.raw_set(*constant, original.get::<Value>(*constant)?)?;
        }
        globals.raw_set(library.name, &table)?;
        loaded.raw_set(library.name, &table)?;
        names.add_table(library.name, table.clone());
        tables.insert(library.name, table);
    }
    Ok(tables)
}

/// Strings have the methods of this script's `string` table while it loads, so additions to it work as in plain Lua.
fn use_string_methods(lua: &Lua, string: &Table) -> mlua::Result<()> {
    let metatable_of: Function = lua.globals().get::<Table>("debug")?.get("getmetatable")?;
    let metatable: Table = metatable_of.call("")?;
    metatable.raw_set("__index", string)?;
    metatable.raw_set("__metatable", false)
}

/// Makes Moonhook's modules; gives the names of those that register handlers.
fn open_modules(
    lua: &Lua,
    registry: &Registry,
    names: &mut Names,
    script: (&Table, &Function),
    opened: &Table,
) -> mlua::Result<Vec<&'static str>> {
    let mut registering = Vec::new();
    for module in MODULES {
        let mut context = Context::new(lua, registry, names, script)?;
        let table = (module.open)(&mut context)?;
        registering.extend(context.registers.then_some(module.name));
        opened.raw_set(module.name, &table)?;
        if registry.lunatik.is_some() {
            constants::fill(lua, module.name, &table)?;
        }
        names.add_table(module.name, table);
    }
    constants::find_in(lua, opened)?;
    Ok(registering)
}
