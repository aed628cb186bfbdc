-- `warn` (Lua manual § 6.2, luaB_warn in lbaselib.c), with Lua's standard warning function: warnings are off until `warn("@on")`. One
-- that is emitted is a line as `print` makes them, with `Lua warning: ` in front.
--
-- Reads `lib` (the standard library). Handlers that warn have this compiled like the script's functions; whether warnings are on is a
-- variable as any other, so handlers and control code mean the same one.

local lib = ...
local error, print, select, tostring, type = lib.error, lib.print, lib.select, lib.tostring, lib.type
local format, sub = lib.string.format, lib.string.sub

local on = false

-- Level 3 is the script: it called the function that calls this one.
local function text(n, value, count)
  if type(value) == "string" then return value end
  if type(value) == "number" then return tostring(value) end
  local got = n > count and "no value" or type(value)
  error("bad argument #" .. n .. " to 'warn' (string expected, got " .. got .. ")", 3)
end

-- A message of one piece that starts with @ is for the warning function itself, which ignores what it does not know.
local function control(message)
  if message == "@on" then
    on = true
  elseif message == "@off" then
    on = false
  end
end

return function(...)
  local count = select("#", ...)
  local message = text(1, (...), count)
  if count <= 1 then
    if sub(message, 1, 1) == "@" then
      control(message)
    elseif on then
      print(format("Lua warning: %s", message))
    end
    return
  end
  for n = 2, count do
    message = message .. text(n, (select(n, ...)), count)
  end
  if on then print(format("Lua warning: %s", message)) end
end
