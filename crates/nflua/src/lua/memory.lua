-- The module `memory`: sequences of bytes that can be written, as in lua-memory.
--
-- Reads `lib` (the global variables of the state). A memory is a table with its bytes as a string, so that packet code can have some, too.

local lib = ...
local error, getmetatable, select, setmetatable, type =
  lib.error, lib.getmetatable, lib.select, lib.setmetatable, lib.type
local byte, char, find, format, rep, sub =
  lib.string.byte, lib.string.char, lib.string.find, lib.string.format, lib.string.rep, lib.string.sub
local pack, unpack = lib.string.pack, lib.string.unpack
local tointeger = lib.math.tointeger

local M = {}
local kind = {}
local class = { __index = M, __name = "memory", __metatable = kind }

local function is_memory(value) return type(value) == "table" and getmetatable(value) == kind end

local function refuse(number, name, problem)
  error("bad argument #" .. number .. " to '" .. name .. "' (" .. problem .. ")", 3)
end

-- What a memory or a string has.
local function bytes_of(value, number, name)
  if is_memory(value) then return value.bytes end
  if type(value) == "string" then return value end
  refuse(number, name, "memory expected, got " .. (value == nil and "no value" or type(value)))
end

local function integer(value, default, number, name)
  if value == nil then value = default end
  local whole = tointeger(value)
  if whole then return whole end
  refuse(number, name, "number expected, got " .. type(value))
end

-- A position that counts from the end is one from the beginning, or 0 where it is before that.
local function position(at, length)
  if at >= 0 then return at end
  if -at > length then return 0 end
  return length + at + 1
end

local function new(bytes, how) return setmetatable({ bytes = bytes, how = how }, class) end

function M.create(value, i, j)
  if value == nil then return new("", "resizable") end
  local size = type(value) == "number" and tointeger(value)
  if size then
    if size < 0 then refuse(1, "create", "invalid size") end
    return new(rep("\0", size), "fixed")
  end
  local bytes = bytes_of(value, 1, "create")
  return new(sub(bytes, integer(i, 1, 2, "create"), integer(j, -1, 3, "create")), "fixed")
end

function M.type(value)
  if is_memory(value) then return value.how end
  return nil
end

function M.len(memory) return #bytes_of(memory, 1, "len") end

function M.resize(memory, size, filling)
  if not is_memory(memory) or memory.how ~= "resizable" then
    refuse(1, "resize", "resizable memory expected")
  end
  size = integer(size, nil, 2, "resize")
  if size < 0 then refuse(2, "resize", "invalid size") end
  local more = size - #memory.bytes
  if more <= 0 then
    memory.bytes = sub(memory.bytes, 1, size)
  else
    local text = filling and bytes_of(filling, 3, "resize") or "\0"
    if text == "" then text = "\0" end
    memory.bytes = memory.bytes .. sub(rep(text, more // #text + 1), 1, more)
  end
end

function M.diff(one, other)
  local a, b = bytes_of(one, 1, "diff"), bytes_of(other, 2, "diff")
  for at = 1, #a < #b and #a or #b do
    if byte(a, at) ~= byte(b, at) then return at, byte(a, at) < byte(b, at) end
  end
  if #a == #b then return nil, false end
  return (#a < #b and #a or #b) + 1, #a < #b
end

function M.get(memory, i, j)
  local bytes = bytes_of(memory, 1, "get")
  local first = integer(i, 1, 2, "get")
  return byte(bytes, first, integer(j, first, 3, "get"))
end

-- The bytes with others in the place of those from `first` on.
local function replaced(bytes, first, others)
  return sub(bytes, 1, first - 1) .. others .. sub(bytes, first + #others)
end

function M.set(memory, i, ...)
  local bytes = bytes_of(memory, 1, "set")
  local first = position(integer(i, nil, 2, "set"), #bytes)
  if first < 1 or first > #bytes then refuse(2, "set", "index out of bounds") end
  local count = select("#", ...)
  if count > #bytes - first + 1 then count = #bytes - first + 1 end
  local text = ""
  for at = 1, count do text = text .. char(integer(select(at, ...), nil, at + 2, "set") & 0xff) end
  memory.bytes = replaced(bytes, first, text)
end

-- A range of positions that are in `bytes`, and a position of the other text.
local function range(bytes, i, j, o, name, length)
  local first, last = position(integer(i, 1, 3, name), #bytes), position(integer(j, -1, 4, name), #bytes)
  local from = position(integer(o, 1, 5, name), length)
  if first < 1 or first > #bytes and first > 1 then refuse(3, name, "index out of bounds") end
  if last > #bytes then refuse(4, name, "index out of bounds") end
  return first, last, from < 1 and 1 or from
end

function M.fill(memory, text, i, j, o)
  if not is_memory(memory) then bytes_of(nil, 1, "fill") end
  if type(text) == "number" then text, o = char(integer(text, nil, 2, "fill") & 0xff), 1 end
  local others = bytes_of(text, 2, "fill")
  local first, last, from = range(memory.bytes, i, j, o, "fill", #others)
  local part = sub(others, from)
  if first > last or part == "" then return end
  local size = last - first + 1
  memory.bytes = replaced(memory.bytes, first, sub(rep(part, size // #part + 1), 1, size))
end

function M.find(memory, text, i, j, o)
  local bytes, others = bytes_of(memory, 1, "find"), bytes_of(text, 2, "find")
  local first, last, from = range(bytes, i, j, o, "find", #others)
  local part = sub(others, from)
  if first > last or part == "" then return nil end
  local at = find(sub(bytes, first, last), part, 1, true)
  if at then return at + first - 1 end
  return nil
end

function M.tostring(memory, i, j)
  local bytes = bytes_of(memory, 1, "tostring")
  return sub(bytes, integer(i, 1, 2, "tostring"), integer(j, -1, 3, "tostring"))
end

function M.unpack(memory, fmt, i)
  return unpack(fmt, bytes_of(memory, 1, "unpack"), integer(i, 1, 3, "unpack"))
end

-- Whether all was packed, the first position that is not written, and what was not. Values go in one after another, each by what its part of the format
-- says, so that those that fit are there.
function M.pack(memory, fmt, i, ...)
  if not is_memory(memory) then bytes_of(nil, 1, "pack") end
  local bytes = memory.bytes
  local at = position(integer(i, nil, 3, "pack"), #bytes)
  if at < 1 then refuse(3, "pack", "index out of bounds") end
  local order, next = "", 1
  local from = 1
  while from <= #fmt do
    local first, last, option = find(fmt, "^%s*([<>=!]%d*)", from)
    if first then
      order, from = order .. option, last + 1
    else
      first, last, option = find(fmt, "^%s*(%a%d*)", from)
      if not first then break end
      if option == "x" then
        if at > #bytes then return false, at, select(next, ...) end
        bytes, at = replaced(bytes, at, "\0"), at + 1
      else
        if select("#", ...) < next then refuse(next + 3, "pack", format("value for '%s' expected", option)) end
        local text = pack(order .. option, (select(next, ...)))
        if at + #text - 1 > #bytes then
          memory.bytes = bytes
          return false, at, select(next, ...)
        end
        bytes, at, next = replaced(bytes, at, text), at + #text, next + 1
      end
      from = last + 1
    end
  end
  memory.bytes = bytes
  return true, at
end

class.__len = function(memory) return #memory.bytes end
class.__tostring = function(memory) return memory.bytes end

return M, bytes_of, position
