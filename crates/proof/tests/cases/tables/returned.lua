-- Tables that functions return and that functions inside have, indexed by keys made at packet time: nothing else is in the program for them.
-- frames: udp tcp udp6 arp
local xdp = require "xdp"

local function count(text)
  local counts, order = {}, {}
  for char in text:gmatch(".") do
    if not counts[char] then order[#order + 1] = char end
    counts[char] = (counts[char] or 0) + 1
  end
  if #order == 0 then return nil, order end
  return counts, order
end

xdp.attach(function(pkt)
  local counts, order = count(pkt:getstring(0, 20))
  local function of(char) return counts[char] end
  table.sort(order, function(a, b)
    if of(a) ~= of(b) then return counts[a] > counts[b] end
    return a < b
  end)
  print(#order, counts[order[1]], counts[order[#order] .. ""], order[1]:byte())
end)
