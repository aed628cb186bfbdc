-- Fields of tables that are in a variable until something else is: assigned in a loop's next turn, or by a function inside.
-- frames: tcp udp short arp
local first, second = { mode = 1 }, { mode = 2 }
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = {}
  for i = 1, 2 do n.mode = i + 5 n = first end
  local m = {}
  local function change() m = second end
  change()
  m.mode = #pkt
  print(first.mode, n.mode, second.mode, m.mode, string.pack("B", 65))
end)
