-- Events with entries of shared tables.
-- frames: tcp udp tcp arp tls udp icmp tcp
local xdp = require "xdp"
local flows = {}
local short = map{ ttl = 60 }
local newest = { length = 0, note = "none" }
xdp.attach(function(pkt)
  newest.length = #pkt
  event("newest", newest)
  local key = pkt.udp and 2 or pkt.tcp and 1 or 3
  event("before", flows[key])
  event("short", short[key])
  short[key] = { length = #pkt, inner = { key = key } }
  event("short", short[key], { inner = short[key].inner }, short[key].inner)
  local flow = flows[key]
  if not flow then
    flows[key] = { packets = 0, last = { length = #pkt } }
    flow = flows[key]
  end
  if flow then
    flow.packets = flow.packets + 1
    if pkt.ip then flow.from = pkt.ip.src end
    event("after", key, flow, flow.last, { entry = flow.last })
  end
end)
