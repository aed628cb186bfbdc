-- More values wait for a flow's function than the kernel's stack has room for above a tail call.
-- frames: udp tcp udp6 tcp6 icmp udp*3 dns arp udp/30
local xdp = require "xdp"
local flow = require "flow"

local flows = flow.new{key = {"proto"}, capacity = 10, default = function(pkt) print("default", #pkt) end}
flows:set({proto = "udp"}, function(pkt) print("udp", #pkt) end)

local function both(pkt, from)
  return pkt:getbyte(from) * 3 + from, pkt:getbyte(from + 1) * 5 - from, pkt:getbyte(from + 2) << 3, pkt:getbyte(from + 3) ~ from
end

xdp.attach(function(pkt)
  if #pkt < 40 then return end
  local a, b, c, d = both(pkt, 0)
  local e, f, g, h = both(pkt, 4)
  local i, j, k, l = both(pkt, 8)
  local m, n, o, p = both(pkt, 12)
  local q, r, s, t = both(pkt, 16)
  local u, v, w, x = both(pkt, 20)
  local y, z, aa, bb = both(pkt, 24)
  local cc, dd, ee, ff = both(pkt, 28)
  local gg, hh, ii, jj = both(pkt, 32)
  local verdict = flows(pkt)
  print(a, b, c, d, e, f, g, h, i, j)
  print(k, l, m, n, o, p, q, r, s, t)
  print(u, v, w, x, y, z, aa, bb, cc, dd)
  print(ee, ff, gg, hh, ii, jj)
  return verdict
end)
