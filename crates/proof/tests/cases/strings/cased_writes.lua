-- The packet is written while strings in another case are held: they stay what they were.
-- frames: udp:AbCdEf udp:abc udp-empty tcp
local xdp = require "xdp"
local seen = { abcdef = true, ABC = 1, a = 2, b = 3, c = 4, d = 5 }
local function clear(pkt, low)
  pkt:setbyte(0, 90)
  return low
end
xdp.attach(function(pkt)
  local s = pkt:getstring(0, 14)
  local up, low = s:upper(), pkt.payload and pkt.payload:lower()
  pkt:setbyte(0, 97)
  local function get() return up end
  pkt:setbyte(1, 98)
  print(up, get() == up, low, seen[low], pkt:getstring(0, 14):upper() == up)
  local again = pkt:getstring(0, 6):upper()
  print(clear(pkt, again), again, pkt:getstring(0, 6):lower())
  local t = { [s:sub(1, 1):lower()] = up, [up] = low or 1 }
  pkt:setbyte(0, 65)
  print(t[s:sub(1, 1):lower()], t[up], t[up] == low)
  local last = up
  for i = 1, 4 do
    last = i % 2 == 0 and last:lower() or last
    pkt:setbyte(i, 64 + i)
  end
  print(last, up)
end)
