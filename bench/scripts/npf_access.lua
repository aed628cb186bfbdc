-- NPF's first experiment, as far as it is about Lua: what a field costs that is read by a layout. Drops ARP.
local xdp = require "xdp"
local action = require "linux.xdp"
local data = require "data"

local ethernet = data.layout { dst = { 0, 48 }, src = { 48, 48 }, type = { 96, 16 } }

xdp.attach(function(pkt)
  pkt:layout(ethernet)
  if pkt.type == 0x0806 then return action.DROP end
  return action.PASS
end)
