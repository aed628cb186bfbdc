-- What `select("#", …)` gives is an integer, whatever the arguments, also in a field of a record.
-- frames: tcp udp short arp
local t = {}
require("xdp").attach(function(pkt)
  local k = #pkt & 3
  print(utf8.char(70))
  local r = t[k]
  if not r then
    r = { last = 0 }
    t[k] = r
  end
  r.last = select("#", (pkt.udp and pkt.udp.dport or -7), "x")
  print(r.last, t[k].last)
end)
