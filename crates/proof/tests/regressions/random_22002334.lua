-- Random program 22002334, made small: what has no room in memory is "not enough memory", in Lua's words.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
local function outcome(ok, ...)
  return ok, ...
end
xdp.attach(function(pkt)
  print(outcome(pcall(function()
    return ("x"):rep(1 << 40)
  end)))
end)
