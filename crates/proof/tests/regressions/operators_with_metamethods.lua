-- What tables hold is found out with the operands of metamethods in the order of the source, and with the operator that is written.
-- frames: tcp udp arp
local xdp = require "xdp"
local sums, texts, shifted = {}, {}, {}
local mt = { __add = function(a, b) return a end, __sub = function(a, b) return "less" end, __shl = function(a, b) return b end }
xdp.attach(function(pkt)
  local o = setmetatable({ v = #pkt }, mt)
  sums[#pkt & 3] = 7 + o
  texts[#pkt & 3] = o - 1
  shifted[#pkt & 3] = o << 1
  print(sums[#pkt & 3], texts[#pkt & 3], shifted[#pkt & 3])
end)
