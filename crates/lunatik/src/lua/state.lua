-- Makes a state what Lunatik's are: where modules are found, and how memory is counted. Gives what calls functions: with the one that is
-- called and its arguments, it gives true and the first result (or the coroutine, if it yields), or false and the error.
local globals, path, constants = ...
local create, resume, status, type = coroutine.create, coroutine.resume, coroutine.status, type
local collect, floor = collectgarbage, math.floor

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
