-- A table without fields has no type: no declaration takes it.
local xdp = require "xdp"
local conns = {}

xdp.attach(function(pkt)
  if not pkt.ip then return end
  local key = pkt.ip.src
  conns[key] = conns[key] or { state = "new", packets = 0, history = {} }
  conns[key].packets = conns[key].packets + 1
end)
