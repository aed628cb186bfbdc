-- The same in general code: what handlers of several hooks call, keep and raise, with tables and strings made at packet time.
-- frames: udp tcp arp udp6 udp tcp icmp arp/15 tcp/60
local xdp, tc = require "xdp", require "tc"

local history = {}
local names = setmetatable({}, { __index = function(_, key) return "protocol " .. key end })

local function note(where, pkt)
  local words = {}
  for word in (where .. " " .. names[pkt.ip and pkt.ip.proto or 0]):gmatch("%a+") do words[#words + 1] = word:upper() end
  table.sort(words)
  history[where] = (history[where] or 0) + #words
  print(table.concat(words, ","), history[where], history.ingress, history.egress)
  return words
end

local handlers = {
  ingress = function(pkt)
    local ok, message = pcall(function() return note("ingress", pkt)[9].x end)
    print(ok, message)
    if not pkt.ip then error({ "no address" }) end
    return pkt.tcp and 2 or nil
  end,
  egress = function(pkt)
    note("egress", pkt)
    return select("#", table.unpack({ "x", "y", "z" }, 1, #pkt % 3))
  end,
}

for name, handler in pairs(handlers) do tc[name](handler) end
xdp.attach(function(pkt) return #note("xdp", pkt) end)
