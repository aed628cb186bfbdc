-- The module `set`: sets of strings that are built once and then only asked.
--
-- Reads `lib` (the standard library) and `pairs` (in the order of the sandbox). Handlers reach what the functions below reach:
-- a set is a table of load time that nobody writes, so packet code has its members as read-only data.

local lib, pairs = ...
local error, getmetatable, rawlen, select, tostring, type =
  lib.error, lib.getmetatable, lib.rawlen, lib.select, lib.tostring, lib.type
local find, sub = lib.string.find, lib.string.sub
local sort, math_type = lib.table.sort, lib.math.type

-- Level 3 is the script: it called the function of the module that calls this one.
local function refuse(n, name, reason)
  error("bad argument #" .. n .. " to '" .. name .. "' (" .. reason .. ")", 3)
end

local function class()
  local methods = {}
  local metatable = { __index = methods }
  metatable.__len = function(set) return set.count end
  metatable.__newindex = function() error("sets do not change", 2) end
  return methods, metatable
end

local plain_methods, plain = class()
local labeled_methods, labeled = class()

-- The string that a method is given; numbers are texts, as for all functions that take strings.
function plain_methods.has(self, ...)
  if type(self) ~= "table" or getmetatable(self) ~= plain then
    refuse(1, "has", "set expected, got " .. type(self))
  end
  local text = ...
  if type(text) == "number" then text = tostring(text) end
  if type(text) ~= "string" then
    refuse(1, "has", "string expected, got " .. (select("#", ...) == 0 and "no value" or type(text)))
  end
  return self.members[text] ~= nil
end

function labeled_methods.match(self, ...)
  if type(self) ~= "table" or getmetatable(self) ~= labeled then
    refuse(1, "match", "set.labeled expected, got " .. type(self))
  end
  local text = ...
  if type(text) == "number" then text = tostring(text) end
  if type(text) ~= "string" then
    refuse(1, "match", "string expected, got " .. (select("#", ...) == 0 and "no value" or type(text)))
  end
  local members = self.members
  local labels, start = members[text] or 0, 1
  while true do
    local dot = find(text, ".", start, true)
    if not dot then return labels end
    start = dot + 1
    labels = labels | (members[sub(text, start)] or 0)
  end
end

local M = {}

local function expect_table(name, ...)
  if type((...)) ~= "table" then
    local got = select("#", ...) == 0 and "no value" or type((...))
    error("bad argument #1 to '" .. name .. "' (table expected, got " .. got .. ")", 3)
  end
end

function M.new(...)
  expect_table("new", ...)
  local strings = ...
  local members, count = {}, rawlen(strings)
  for i = 1, count do
    if type(strings[i]) ~= "string" then refuse(1, "new", "members must be strings") end
    members[strings[i]] = true
  end
  sort(strings)
  return lib.setmetatable({ members = members, count = count }, plain)
end

function M.labeled(...)
  expect_table("labeled", ...)
  local members, count = {}, 0
  for member, label in pairs((...)) do
    if type(member) ~= "string" then refuse(1, "labeled", "members must be strings") end
    if math_type(label) ~= "integer" or label < 1 or label > 0xffffffff then
      refuse(1, "labeled", "labels must be integers in [1, 2^32)")
    end
    members[member], count = label, count + 1
  end
  return lib.setmetatable({ members = members, count = count }, labeled)
end

return M
