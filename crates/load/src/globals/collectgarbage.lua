-- `collectgarbage` (Lua manual § 6.2, luaB_collectgarbage in lbaselib.c).
--
-- Reads `lib` (the standard library). Lua's own function does the work where there is a collector. At packet time there is none, and
-- what remains of it there (`builtins/base.rs`, `prelude/basic.lua`) gives how much memory is in use, `true` for a step, and nothing for a
-- parameter; arguments, and what an option answers, are the same everywhere. Whether the collector runs and in which mode are variables
-- as any other, so handlers and control code are told the same.

local lib = ...
local collect, error, select, type = lib.collectgarbage, lib.error, lib.select, lib.type
local tointeger, tostring = lib.math.tointeger, lib.tostring

local running, generational = true, false

local parameters = {}
for _, name in lib.ipairs { "minormul", "majorminor", "minormajor", "pause", "stepmul", "stepsize" } do
  parameters[name] = collect("param", name)
end

-- The level is that of the script. Strings and integers are taken as luaL_checkstring and luaL_checkinteger take them.
local function refuse(n, reason, level)
  error("bad argument #" .. n .. " to 'collectgarbage' (" .. reason .. ")", level)
end

local function mismatch(n, expected, count, value)
  refuse(n, expected .. " expected, got " .. (n > count and "no value" or type(value)), 5)
end

local function option(n, value, count)
  if type(value) == "number" then return tostring(value) end
  if type(value) ~= "string" then mismatch(n, "string", count, value) end
  return value
end

local function integer(n, value, default, count)
  if value == nil then return default end
  local found = tointeger(value)
  if found then return found end
  if type(value) == "number" then refuse(n, "number has no integer representation", 4) end
  mismatch(n, "number", count, value)
end

local function name_of_mode(is_generational)
  return is_generational and "generational" or "incremental"
end

-- Sets the mode; gives the previous one.
local function change_mode(name, is_generational)
  local before = name_of_mode(generational)
  collect(name)
  generational = is_generational
  return before
end

return function(...)
  local what, second, third = ...
  local count = select("#", ...)
  what = what == nil and "collect" or option(1, what, count)
  if what == "collect" or what == "count" then return (collect(what)) end
  if what == "step" then return (collect("step", integer(2, second, 0, count))) end
  if what == "isrunning" then return running end
  if what == "stop" or what == "restart" then
    collect(what)
    running = what == "restart"
    return 0
  end
  if what == "generational" then return (change_mode(what, true)) end
  if what == "incremental" then return (change_mode(what, false)) end
  if what ~= "param" then refuse(1, "invalid option '" .. what .. "'", 3) end
  local name = option(2, second, count)
  if parameters[name] == nil then refuse(2, "invalid option '" .. name .. "'", 3) end
  return (collect("param", name, integer(3, third, -1, count))) or parameters[name]
end
