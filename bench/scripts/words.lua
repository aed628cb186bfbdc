-- Drops UDP datagrams whose most frequent word is "offer".
local xdp = require "xdp"
local action = require "linux.xdp"

local payload = 42

xdp.attach(function(pkt)
  local counts = {}
  for word in pkt:getstring(payload):gmatch("%w+") do
    counts[word] = (counts[word] or 0) + 1
  end
  local most, times = "", 0
  for word, count in pairs(counts) do
    if count > times or count == times and word < most then
      most, times = word, count
    end
  end
  return most == "offer" and action.DROP or action.PASS
end)
