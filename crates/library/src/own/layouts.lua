-- Layouts of objects that are bytes, as in luadata: what tables say of fields.
--
-- Reads `lib` (the standard library) and `pairs` (in the order of the state that has it). Gives `number`, which makes integers of what is one, and
-- `make`, which gives what finds fields in layouts and what makes layouts of tables.

local lib, pairs = ...
local getmetatable, setmetatable, tostring, type = lib.getmetatable, lib.setmetatable, lib.tostring, lib.type
local sub, tointeger = lib.string.sub, lib.math.tointeger

-- What tables have that are layouts: whether all of their fields have been taken apart.
local MARK <const> = "\0layout"

-- The first letters of types and of byte orders count.
local function first(value, default)
  if type(value) == "number" then value = tostring(value) end
  return type(value) == "string" and sub(value, 1, 1) or default
end

local function number(value, default)
  if type(value) == "number" or type(value) == "string" then return tointeger(value) or default end
  return default
end

-- `host_is_little` says what the byte order "host" is.
local function make(host_is_little)
  -- The metatable of fields that have been taken apart.
  local entries = {}

  local function entry_from(given)
    if type(given) ~= "table" then return nil end
    local offset, length = number(given[1], 0), number(given[2], 0)
    local kind, order = first(given[3], "n"), first(given[4], "b")
    offset, length = number(given.offset, offset), number(given.length, length)
    kind, order = first(given.type, kind), first(given.endian, order)
    if length == 0 then return nil end
    local little = order == "l" or order == "h" and host_is_little
    return setmetatable({ offset = offset, length = length, text = kind == "s", little = little }, entries)
  end

  local M = {}

  -- What a layout says under a name that is a field. Tables that have not been made layouts of are read as they are.
  function M.entry_of(layout, name)
    if not layout or name == nil then return nil end
    local entry = layout[name]
    if type(entry) ~= "table" then return nil end
    if getmetatable(entry) == entries then return entry end
    if not layout[MARK] then return entry_from(entry) end
  end

  -- A layout whose fields are taken apart when they are asked for.
  function M.mark(given)
    if not given[MARK] then given[MARK] = false end
    return given
  end

  -- Makes a table a layout.
  function M.layout_from(given)
    if given[MARK] then return given end
    for name, described in pairs(given) do
      given[name] = entry_from(described)
    end
    given[MARK] = true
    return given
  end

  return M
end

return { number = number, make = make }
