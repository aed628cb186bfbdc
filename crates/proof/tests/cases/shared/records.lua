-- Entries with named fields, made and used in all the usual ways.
-- frames: all tcp udp tcp udp6 syn tls all
local xdp = require "xdp"
local flows, hosts, plain = {}, { ["192.0.2.7"] = { name = "seven", seen = 5 } }, {}
local function new(key) local f = { pkts = 0, bytes = 0, last = "" } flows[key] = f return f end
xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip then return end
  local key = ip.src .. ">" .. ip.proto
  local flow = flows[key] or new(key)
  flow.pkts = flow.pkts + 1
  flow.bytes = flow.bytes + #pkt
  if pkt.payload and #pkt.payload > 2 then flow.last = pkt.payload:sub(1, 3) end
  print(flow.pkts, flows[key].bytes, flow.last, flow.none, #flow, type(flow))
  if flow.pkts == 3 then flow.third = ip.ttl elseif flow.pkts == 4 then flow.third = nil end
  print(flow.third)

  local host = hosts[ip.src]
  if host then
    host.seen = host.seen + 10
    host.first = host.first or #pkt
    print(host.name, host.seen, host.first)
  end

  if not plain[#pkt] then plain[#pkt] = { n = 0, at = { a = #pkt, b = true } } end
  plain[#pkt].n = plain[#pkt].n + 1
  plain[#pkt].at.a = plain[#pkt].at.a + 100
  local at = plain[#pkt].at
  if at.a > 400 then at.b = not at.b end
  print(plain[#pkt].n, at.a, at.b, plain[1])
  if plain[#pkt].n == 2 then plain[#pkt] = nil end
end)
