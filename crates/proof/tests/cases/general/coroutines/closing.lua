-- Variables that are to be closed in coroutines, and `coroutine.close`.
-- frames: tcp
local xdp = require "xdp"
local action = require "linux.xdp"

local function closing(name, fails)
  return setmetatable({}, { __close = function(_, ...)
    print("close", name, select("#", ...), ...)
    if fails then error(fails, 0) end
  end })
end

local function with_two(fails)
  return coroutine.create(function(v)
    local kept = v
    local first <close> = closing("first")
    local second <close> = closing("second", fails)
    local read = coroutine.yield(function() kept = kept + 1 return kept end)
    if read == "error" then error("raised", 0) end
    return read
  end)
end

xdp.attach(function(pkt)
  -- As it ends by itself.
  local co = with_two()
  local _, kept = coroutine.resume(co, 1)
  print(kept(), coroutine.resume(co, "ended"))
  print(kept(), coroutine.status(co), coroutine.close(co))

  -- While it waits.
  co = with_two()
  _, kept = coroutine.resume(co, 1)
  print(kept(), coroutine.close(co))
  print(kept(), coroutine.status(co), coroutine.close(co))

  -- An error in closing.
  co = with_two("in closing")
  coroutine.resume(co, 1)
  print(coroutine.close(co))
  print(coroutine.status(co), coroutine.close(co))

  -- After an error: only when it is closed, or at once by a call of what `wrap` gave.
  co = with_two()
  _, kept = coroutine.resume(co, 1)
  print("resume", coroutine.resume(co, "error"))
  print(coroutine.status(co), kept())
  print("close", coroutine.close(co))
  print("close", coroutine.close(co), kept())
  co = with_two("instead")
  coroutine.resume(co, 1)
  print("resume", coroutine.resume(co, "error"))
  print("close", coroutine.close(co))
  local wrapped = coroutine.wrap(function()
    local a <close> = closing("a", "in a")
    local b <close> = closing("b")
    coroutine.yield()
    error("raised", 0)
  end)
  wrapped()
  print(pcall(wrapped))
  print(pcall(wrapped))

  -- It closes itself.
  co = coroutine.create(function()
    local a <close> = closing("a")
    pcall(function()
      local b <close> = closing("b")
      coroutine.close()
    end)
    print("never")
  end)
  print(coroutine.resume(co))
  print(coroutine.status(co), coroutine.close(co))
  co = coroutine.create(function()
    local a <close> = closing("a", "at last")
    coroutine.close(coroutine.running())
  end)
  print(coroutine.resume(co))
  print(coroutine.close(co))

  co = coroutine.create(function()
    local a <close> = setmetatable({}, { __close = function() coroutine.close() end })
    coroutine.yield()
  end)
  coroutine.resume(co)
  print(select("#", coroutine.close(co)), coroutine.status(co), coroutine.close(co))
  co = coroutine.create(function()
    local a <close> = setmetatable({}, { __close = function() coroutine.close() end })
    coroutine.yield()
  end)
  coroutine.resume(co)
  print(coroutine.close(co))

  -- One that has not begun, and one without such variables.
  co = coroutine.create(print)
  print(coroutine.close(co), coroutine.status(co), coroutine.resume(co))
  co = coroutine.create(function() coroutine.yield(1) end)
  coroutine.resume(co)
  print(coroutine.close(co), coroutine.status(co))

  -- Within loops, and yielding while variables are closed.
  local function each(list)
    return coroutine.wrap(function()
      for i, v in ipairs(list) do
        local step <close> = closing("step " .. i)
        coroutine.yield(v)
      end
    end)
  end
  for v in each { "x", "y" } do print(v) end
  co = coroutine.wrap(function()
    do
      local slow <close> = setmetatable({}, { __close = function() print("closes", coroutine.yield("closing")) end })
    end
    return "after"
  end)
  print(co())
  print(co("go on"))
  co = coroutine.create(function()
    local slow <close> = setmetatable({}, { __close = function()
      print(coroutine.status(co), coroutine.running() == co, coroutine.isyieldable(), coroutine.resume(co))
      coroutine.yield("closing")
    end })
    coroutine.yield()
  end)
  coroutine.resume(co)
  print(coroutine.close(co))
  return action.DROP
end)
