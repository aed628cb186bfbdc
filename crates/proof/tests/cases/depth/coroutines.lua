-- Coroutines that resume one another without end: an error, which can be caught.
-- frames: tcp
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local function endless() return coroutine.wrap(endless)() end
  local ok, message = pcall(endless)
  print("endless", ok, type(message))
  return action.DROP
end)
