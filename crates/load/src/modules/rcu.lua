-- The part of the module `rcu` that calls functions of the script: errors of theirs pass through.

local lib, pairs = ...
local error, select, type = lib.error, lib.select, lib.type

local function expect(kind, n, ...)
  local value = select(n, ...)
  if type(value) ~= kind then
    local got = select("#", ...) < n and "no value" or type(value)
    error("bad argument #" .. n .. " to 'map' (" .. kind .. " expected, got " .. got .. ")", 3)
  end
end

return function(...)
  expect("table", 1, ...)
  expect("function", 2, ...)
  local t, callback = ...
  for key, value in pairs(t) do callback(key, value) end
end
