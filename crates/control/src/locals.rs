//! Local variables of scripts, by name, for code from outside.
//!
//! A local variable outlives its script where a function has captured it. Goes from the functions that are called later (handlers, what
//! timers, events and signals call, global functions) through what these have captured; finds each variable as Lua has it, whatever it
//! holds. Large tables that nothing but handlers has are left out: control code would keep them in memory for a question that may never come.

use mlua::{Function, Lua, Table, Value};
use moonhook_load::Loaded;

/// The variables by name, as arrays of a function that has nothing but this variable, and 1; the first of a name counts. `shared` has
/// tables that stay in any case, as keys.
const LOCALS: &str = "
    local roots, shared, lib = ...
    local type, next, debug = lib.type, lib.next, lib.debug
    local getupvalue, getinfo, join = debug.getupvalue, debug.getinfo, debug.upvaluejoin
    -- Entries that are looked at: of a variable, and of a table on the way to functions.
    local MOST = 10000
    -- What the names of sources begin with that are no files, such as our own.
    local EQUALS = 61

    -- Calls `visit` with everything that a table or function holds at once, until it gives false.
    local function each(value, visit)
      if type(value) == 'function' then
        if getinfo(value, 'S').what == 'C' then return end
        for i = 1, 255 do
          local name, inner = getupvalue(value, i)
          if not name then break end
          if name ~= '_ENV' and visit(inner, value, i, name) == false then return end
        end
      elseif type(value) == 'table' and not shared[value] then
        for _, inner in next, value do
          if visit(inner) == false then return end
        end
      end
    end

    local function collector()
      local queue, seen = {}, {}
      return queue, function(value)
        local kind = type(value)
        if (kind == 'table' or kind == 'function') and not seen[value] then
          seen[value] = true
          queue[#queue + 1] = value
        end
      end
    end

    -- Whether a value may be kept: it is small, or holds what is kept in any case.
    local function may_stay(value)
      local queue, add = collector()
      local count, at = 0, 1
      local is_kept = shared[value]
      add(value)
      while queue[at] and count <= MOST and not is_kept do
        each(queue[at], function(inner)
          count = count + 1
          is_kept = is_kept or shared[inner]
          add(inner)
          return count <= MOST and not is_kept
        end)
        at = at + 1
      end
      return is_kept or count <= MOST
    end

    local found = {}
    local queue, add = collector()
    for i = 1, #roots do add(roots[i]) end
    local at = 1
    while queue[at] do
      local count = 0
      each(queue[at], function(inner, holder, number, name)
        count = count + 1
        add(inner)
        if holder and not found[name] and getinfo(holder, 'S').source:byte() ~= EQUALS and may_stay(inner) then
          local value
          local function own() return value end
          join(own, 1, holder, number)
          found[name] = {own, 1}
        end
        return count <= MOST
      end)
      at = at + 1
    end
    return found";

/// The local variables that functions of the scripts have, by name. `shared` are the tables that handlers write.
///
/// # Errors
/// Lua has no memory left.
pub(crate) fn by_name(loaded: &Loaded, shared: &[Table]) -> mlua::Result<Table> {
    let lua = &loaded.lua;
    let mut roots = loaded.handlers.clone();
    roots.extend(loaded.requests.functions());
    // A handler may have the table alone, behind which is what its packets go through.
    roots.extend(loaded.flows.handlers());
    roots.extend(loaded.flows.at_load_time().into_iter().flatten().map(|(_, own)| own.function));
    for script in &loaded.scripts {
        global_functions(&script.globals, &mut roots)?;
    }
    let known = lua.create_table()?;
    for table in shared {
        known.raw_set(table, true)?;
    }
    call(lua, (lua.create_sequence_from(roots)?, known, lua.globals()))
}

fn global_functions(globals: &Table, roots: &mut Vec<Function>) -> mlua::Result<()> {
    let mut named = Vec::new();
    globals.for_each(|key: Value, value: Value| {
        if let (Value::String(name), Value::Function(function)) = (key, value) {
            named.push((name.as_bytes().to_vec(), function));
        }
        Ok(())
    })?;
    // Of two variables of a name the same one is found each time.
    named.sort_by(|(one, _), (other, _)| one.cmp(other));
    roots.extend(named.into_iter().map(|(_, function)| function));
    Ok(())
}

fn call(lua: &Lua, arguments: (Table, Table, Table)) -> mlua::Result<Table> {
    lua.load(LOCALS).set_name("=moonhook").call(arguments)
}
