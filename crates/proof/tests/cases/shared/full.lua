-- Tables that are full, and strings that are too long for them.
-- frames: all tcp udp tcp syn udp
local xdp = require "xdp"
local few = map { capacity = 3 }
local names = map { key = "string:6", value = "string:5", capacity = 100 }
local flows = map { key = "int", value = { n = "int", at = { b = "int" } }, capacity = 2 }
few[0] = 1
xdp.attach(function(pkt)
  few[pkt.eth.type] = (few[pkt.eth.type] or 0) + 1
  local payload = pkt.payload
  if payload then
    print(names[payload:sub(1, 7)], names[payload:sub(1, 6)])
    local n = #pkt % 8
    local name = payload:sub(1, n)
    if not names[name] then names[name] = ("abcdefgh"):sub(1, n) end
    names["too long to be there"] = nil
  end
  local flow = flows[#pkt]
  if not flow then
    flow = { n = 1 }
    flows[#pkt] = flow
  end
  flow.n = flow.n + 1
  print(flow.n, flow.at)
end)
