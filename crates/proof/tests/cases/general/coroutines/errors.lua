-- What is wrong with coroutines: errors in them, and calls that cannot be.
-- frames: tcp
local xdp = require "xdp"
local action = require "linux.xdp"

local function show(name, ...)
  print(name, ...)
end

xdp.attach(function(pkt)
  -- Errors end a coroutine; `resume` gives them, a wrapped one passes them on with the position of the call.
  local co = coroutine.create(function(v) coroutine.yield() error("text " .. v) end)
  coroutine.resume(co, "a")
  show("resume", coroutine.resume(co))
  show("status", coroutine.status(co))
  show("resume", coroutine.resume(co))
  show("object", coroutine.resume(coroutine.create(function() error({}, 2) end)) == false)
  show("nil", coroutine.resume(coroutine.create(function() error() end)))
  show("level", coroutine.resume(coroutine.create(function() error("level 2", 2) end)))
  show("operation", coroutine.resume(coroutine.create(function(v) return v.x.y end), {}))
  show("wrapped", pcall(coroutine.wrap(function() error("in it") end)))
  show("wrapped", pcall(function() coroutine.wrap(function() error("in it") end)() end))
  show("wrapped", pcall(function() coroutine.wrap(function() error({ code = 1 }) end)() end) == false)
  show("nested", pcall(function()
    coroutine.wrap(function()
      coroutine.wrap(function() coroutine.wrap(function() local x = nil + 1 end)() end)()
    end)()
  end))
  local once = coroutine.wrap(function() return "once" end)
  show("once", once())
  show("twice", pcall(once))
  show("twice", pcall(function() once() end))
  show("handler", coroutine.resume(coroutine.create(function()
    return xpcall(function() error("handled", 0) end, function(e) return pcall(coroutine.yield, e) end)
  end)))

  -- Outside of one, and where something is in between.
  show("outside", pcall(coroutine.yield, 1))
  show("yieldable", coroutine.isyieldable(), pcall(coroutine.isyieldable, 1))
  show("sort", coroutine.resume(coroutine.create(function()
    table.sort({ 3, 1, 2 }, function(a, b) coroutine.yield() return a < b end)
  end)))
  show("gsub", coroutine.resume(coroutine.create(function()
    return (("abc"):gsub("%w", function(c) show("within", coroutine.isyieldable()) return coroutine.yield(c) end))
  end)))
  show("tostring", coroutine.resume(coroutine.create(function()
    return tostring(setmetatable({}, { __tostring = function() return coroutine.yield("t") end }))
  end)))
  show("around", coroutine.resume(coroutine.create(function()
    local words = {}
    ;("b a"):gsub("%w", function(w)
      for v in coroutine.wrap(function() coroutine.yield(w .. w) end) do words[#words + 1] = v end
    end)
    return table.concat(words, "+")
  end)))

  -- Whatever is not suspended cannot be resumed.
  local main = coroutine.running()
  show("main", select(2, coroutine.running()), coroutine.status(main), pcall(coroutine.resume, main))
  local outer
  outer = coroutine.create(function()
    show("itself", coroutine.status(outer), coroutine.resume(outer))
    show("running", coroutine.running() == outer, select(2, coroutine.running()), coroutine.status(main))
    local inner = coroutine.create(function()
      show("outer", coroutine.status(outer), coroutine.resume(outer))
      show("close", pcall(coroutine.close, outer))
      show("main", pcall(coroutine.close, main))
      coroutine.yield("in")
      return "out"
    end)
    show("inner", coroutine.resume(inner))
    show("inner", coroutine.status(inner), coroutine.isyieldable(inner), coroutine.resume(inner))
    return "done"
  end)
  show("outer", coroutine.resume(outer))
  show("outer", coroutine.status(outer), coroutine.isyieldable(outer))

  -- Arguments.
  for _, name in ipairs { "create", "wrap", "resume", "status", "close" } do
    show(name, pcall(coroutine[name]))
    show(name, pcall(coroutine[name], 1))
    show(name, pcall(function() return coroutine[name]("x") end))
  end
  show("create", pcall(coroutine.create, {}))
  show("close", pcall(coroutine.close))
  show("wrap", pcall(function() return coroutine.wrap(nil) end))

  -- Calls within one another come to an end, as those of functions do.
  local function deep(n) return coroutine.wrap(function() if n > 0 then return deep(n - 1) + 1 end return 0 end)() end
  show("deep", deep(8))
  return action.DROP
end)
