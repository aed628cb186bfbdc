-- Makes a state what Lunatik's are: where modules are found, how memory is counted, and who calls finalizers (`mark` sets metatables that have one). Gives what calls functions: with the one that is
-- called and its arguments, it gives true and the first result (or the coroutine, if it yields), or false and the error.
local globals, path, constants, mark = ...
local create, resume, status, type = coroutine.create, coroutine.resume, coroutine.status, type
local collect, floor = collectgarbage, math.floor
local error, metatable, rawget, select, set = error, debug.getmetatable, rawget, select, setmetatable

package.path, package.cpath, package.loadlib = path, "", nil
package.searchers[4], package.searchers[3] = nil, function(name)
  local found = constants(name)
  if found then return function() return found end, ":headers:" end
  return "no constants of the kernel's headers have that name"
end

function globals.collectgarbage(option, ...)
  local result = collect(option, ...)
  if option == "count" then return floor(result * 1024) end
  return result
end

-- With the errors of `luaB_setmetatable` (lbaselib.c), at the script's line.
local function expected(number, what, ...)
  local got = select("#", ...) < number and "no value" or type((select(number, ...)))
  error("bad argument #" .. number .. " to 'setmetatable' (" .. what .. " expected, got " .. got .. ")", 3)
end

function globals.setmetatable(...)
  local object, meta = ...
  if type(object) ~= "table" then expected(1, "table", ...) end
  if type(meta) ~= "table" and (meta ~= nil or select("#", ...) < 2) then expected(2, "nil or table", ...) end
  local present = metatable(object)
  if present and rawget(present, "__metatable") ~= nil then error("cannot change a protected metatable", 2) end
  if meta and rawget(meta, "__gc") ~= nil then return mark(object, meta) end
  return set(object, meta)
end

local set_any = debug.setmetatable
function debug.setmetatable(...)
  local object, meta = ...
  if type(object) == "table" and type(meta) == "table" and rawget(meta, "__gc") ~= nil then return mark(object, meta) end
  return set_any(...)
end

local function finish(thread, is_done, ...)
  if is_done and status(thread) == "suspended" then return true, thread end
  return is_done, (...)
end

return function(called, ...)
  local thread = called
  if type(called) ~= "thread" then
    if type(called) ~= "function" then return false, "attempt to call a " .. type(called) .. " value" end
    thread = create(called)
  end
  return finish(thread, resume(thread, ...))
end
