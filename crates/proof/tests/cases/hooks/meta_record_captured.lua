-- Records that functions capture; fields that are assigned and never read; names that are computed, and that packets have as well.
-- frames: udp tcp arp
local xdp = require "xdp"

local function classify(m)
  m.class = m.class + 1
  return m.class, m.port
end

xdp.attach(function(pkt)
  pkt.meta = { class = 5, other = 7 }
  local m = pkt.meta
  local function read() return m.class end
  local function assign(value) m.other = value end
  assign(9)
  print(read(), pcall(function() m.third = 4 end))
  m.fifth = true
  print(pcall(function() m.fourth = "x" end))
  local t = { class = #pkt }
  for _, name in ipairs { "port" } do t[name] = 4 end
  pkt.meta = t
  t.class = 1
  print(classify(pkt.meta))
  local holder = { get = function(_, name) return m[name] end }
  print(holder:get("port"), holder:get("class"), holder:get("none"))
  print(pcall(classify, pkt.meta))
  pkt.meta = 9
  print(m.class, pkt.meta)
  print(pcall(classify, m))
end)
