-- What cannot be closed, and what happens to the rest (manual § 3.3.8).
-- frames: hex:0305010000000000000000000000
local xdp = require "xdp"
local function closer(name)
  return setmetatable({}, { __close = function(_, e) print("close", name, type(e) == "table" and e.code or e) end })
end
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  print(pcall(function() local x <close> = n return 1 end))
  print(pcall(function() local named <close> = {} return 1 end))
  print(pcall(function() local first <close> = closer "first" local second <close> = "x" return 1 end))
  print(pcall(function() local x <close> = closer "x" error { code = n } end) == false)
  print(pcall(function()
    local t = setmetatable({}, { __close = function() print "never" end })
    local x <close> = t
    setmetatable(t, {})
  end))
  print(xpcall(function()
    local x <close> = closer "under xpcall"
    error("message", 0)
  end, function(e) print("handler", e) return e .. "!" end))
  print(pcall(function()
    local a <close> = closer "a"
    local ok, e = pcall(function() local b <close> = closer "b" error("inner", 0) end)
    print(ok, e)
    error("outer", 0)
  end))
  local undone <close> = setmetatable({}, { __close = function(_, e) print("undone", e ~= nil) end })
  local x = nil
  return x.field
end)
