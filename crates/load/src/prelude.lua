-- The part of the load-time library that is Lua: functions that replace one of the standard library because the
-- original would reach outside the sandbox, or would make the outcome of a script differ from run to run.
--
-- Reads `lib` (the untouched standard library), `raw` (Rust functions that return values and never raise, Moonhook's
-- modules by name, `steppers`: the functions that walk tables whose content is elsewhere, by metatable, and makers of `next`
-- and `pairs`) and `globals` (the script's). Returns the functions by canonical name.

local lib, raw, globals = ...
local error, next, rawequal, rawget, select, setmetatable, type =
  lib.error, lib.next, lib.rawequal, lib.rawget, lib.select, lib.setmetatable, lib.type
local getmetatable = lib.debug.getmetatable
local sort, find = lib.table.sort, lib.string.find
local math_type = lib.math.type
local open, lines = lib.io.open, lib.io.lines
local modules, steppers = raw.modules, raw.steppers

local M = {}

local function expected(what, value, present)
  return what .. " expected, got " .. (present == 0 and "no value" or type(value))
end

local function bad_argument(n, name, reason)
  return "bad argument #" .. n .. " to '" .. name .. "' (" .. reason .. ")"
end

-- Files ---------------------------------------------------------------------------------------------------------

M["io.open"] = function(...)
  local path, mode = ...
  if type(path) ~= "string" then
    error(bad_argument(1, "open", expected("string", path, select("#", ...))), 2)
  end
  if mode == nil then mode = "r" end
  if type(mode) ~= "string" or not find(mode, "^[rwa]%+?b?$") then
    error(bad_argument(2, "open", "invalid mode"), 2)
  end
  if mode ~= "r" and mode ~= "rb" then
    return nil, path .. ": files can only be read at load time", 13
  end
  local real, message, code = raw.readable(path)
  if not real then return nil, message, code end
  local file, problem, number = open(real, mode)
  if not file then return nil, path .. ": " .. lib.string.match(problem, ": (.*)$"), number end
  return file
end

M["io.lines"] = function(...)
  local path = ...
  if type(path) ~= "string" then
    error(bad_argument(1, "lines", expected("string", path, select("#", ...))), 2)
  end
  local real, message = raw.readable(path)
  if not real then error(message, 2) end
  return lines(real, select(2, ...))
end

-- Code ----------------------------------------------------------------------------------------------------------

M["load"] = function(chunk, name, mode, ...)
  if type(chunk) ~= "string" and type(chunk) ~= "function" then
    error(bad_argument(1, "load", expected("function", chunk)), 2)
  end
  if mode ~= nil and not (type(mode) == "string" and find(mode, "t", 1, true)) then
    return nil, "only text chunks can be loaded (mode is '" .. lib.tostring(mode) .. "')"
  end
  local env = globals
  if select("#", ...) > 0 then env = (...) end
  return lib.load(chunk, name, "t", env)
end

local function load_file(name, ...)
  local path, mode = ...
  if type(path) ~= "string" then
    error(bad_argument(1, name, expected("string", path, select("#", ...))), 3)
  end
  if mode ~= nil and not (type(mode) == "string" and find(mode, "t", 1, true)) then
    return nil, "only text chunks can be loaded (mode is '" .. lib.tostring(mode) .. "')"
  end
  local env = globals
  if select("#", ...) > 2 then env = select(3, ...) end
  return raw.load_file(path, env)
end

M["loadfile"] = function(...)
  local f, message = load_file("loadfile", ...)
  return f, message
end

M["dofile"] = function(...)
  local f, message = load_file("dofile", (...))
  if not f then error(message, 0) end
  return f()
end

local loaded = {}
local loading = {}
-- Separators as on every system with `/` (Lua manual § 6.4, `package.config`).
globals.package = { config = "/\n;\n?\n!\n-\n", loaded = loaded, preload = {} }
local preload = globals.package.preload

M["require"] = function(...)
  local name = ...
  if type(name) ~= "string" then
    error(bad_argument(1, "require", expected("string", name, select("#", ...))), 2)
  end
  if loaded[name] ~= nil then return loaded[name] end
  if loading[name] then
    error("module '" .. name .. "' requires itself, directly or through another module", 2)
  end
  if modules[name] then
    loaded[name] = modules[name]
    return modules[name]
  end
  local f, where = preload[name], ":preload:"
  if f == nil then
    f, where = raw.find_module(name)
    if f == nil then error(where, find(where, "^error loading") and 0 or 2) end
  end
  loading[name] = true
  local value = f(name, where)
  loading[name] = nil
  if value ~= nil then
    loaded[name] = value
  elseif loaded[name] == nil then
    loaded[name] = true
  end
  return loaded[name], where
end

-- Metatables ----------------------------------------------------------------------------------------------------

-- Finalizers run with hooks off, where the instruction limit does not reach. Scripts for processes have them, by a function that sees to that (`finalizers`).
M["setmetatable"] = function(...)
  local t, meta = ...
  if type(t) ~= "table" then
    error(bad_argument(1, "setmetatable", expected("table", t, select("#", ...))), 2)
  end
  if type(meta) ~= "table" and (meta ~= nil or select("#", ...) < 2) then
    error(bad_argument(2, "setmetatable", expected("nil or table", meta, select("#", ...) - 1)), 2)
  end
  local present = getmetatable(t)
  if present ~= nil and rawget(present, "__metatable") ~= nil then
    error("cannot change a protected metatable", 2)
  end
  if meta ~= nil and rawget(meta, "__gc") ~= nil then
    if lib.finalizers then return lib.finalizers(t, meta) end
    error("finalizers ('__gc') do not exist at load time", 2)
  end
  return setmetatable(t, meta)
end

-- Traversal -----------------------------------------------------------------------------------------------------

-- The order in which the C `next` walks a table depends on a seed that differs from run to run. Here it is the order
-- of a snapshot's table: the sequence, other booleans, integers, floats, strings, then the rest.
local function sorted_keys(t)
  local booleans, integers, floats, strings, others = {}, {}, {}, {}, {}
  local groups = { boolean = booleans, integer = integers, float = floats, string = strings }
  for key in next, t do
    local group = groups[math_type(key) or type(key)] or others
    group[#group + 1] = key
  end
  sort(integers)
  sort(floats)
  sort(strings)
  if #booleans == 2 then booleans[1], booleans[2] = false, true end
  local keys, sequence = {}, 0
  while rawget(t, sequence + 1) ~= nil do
    sequence = sequence + 1
    keys[sequence] = sequence
  end
  for i = 1, #booleans do keys[#keys + 1] = booleans[i] end
  for i = 1, #integers do
    local key = integers[i]
    if key < 1 or key > sequence then keys[#keys + 1] = key end
  end
  for _, group in lib.ipairs { floats, strings, others } do
    lib.table.move(group, 1, #group, #keys + 1, keys)
  end
  return keys
end

-- For each table under traversal its keys, and where the traversal stands.
local traversals = setmetatable({}, { __mode = "k" })

local function position(traversal, key)
  local at = traversal.at
  if at > 0 and rawequal(traversal.keys[at], key) then return at end
  if not traversal.index then
    local index = {}
    for i, k in lib.ipairs(traversal.keys) do index[k] = i end
    traversal.index = index
  end
  return traversal.index[key]
end

local function ordered_next(t, key)
  local meta = getmetatable(t)
  local step = meta and steppers[meta]
  if step then return step(t, key) end
  local traversal = traversals[t]
  local at = 0
  if key == nil then
    if next(t) == nil then return nil end
    traversal = { keys = sorted_keys(t), at = 0 }
    traversals[t] = traversal
  else
    at = traversal and position(traversal, key)
    if not at then
      traversal = { keys = sorted_keys(t), at = 0 }
      traversals[t] = traversal
      at = position(traversal, key)
      if not at then error("invalid key to 'next'", 0) end
    end
  end
  local keys = traversal.keys
  for i = at + 1, #keys do
    local value = rawget(t, keys[i])
    if value ~= nil then
      traversal.at = i
      return keys[i], value
    end
  end
  traversals[t] = nil
  return nil
end

M["next"] = raw.next(ordered_next)
M["pairs"] = raw.pairs(M["next"])

return M
