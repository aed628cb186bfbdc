-- Events that carry entries of shared tables, whole and their records, in code that cannot be expanded.
-- frames: tcp udp icmp tls tcp6 udp6 tcp udp
local xdp = require "xdp"
local flows = map { key = "int", value = { pkts = "int", from = "ip", at = { port = "int", open = "boolean" }, last = "string:20" } }
local counts = map { key = "int", value = "int" }
local function count(key, from)
  flows[key] = flows[key] or { pkts = 0, from = from }
  local flow = flows[key]
  flow.pkts = flow.pkts + 1
  return flow
end
xdp.attach(function(pkt)
  pcall(type, pkt)
  local ip = pkt.ip
  local flow = count(#pkt, ip and ip.src)
  event("flow", flow)
  event("flow", #pkt, flows[#pkt], flow.at, flows[7])
  if flow.pkts == 2 then flow.from = nil end
  flow.at = flow.at or { port = ip and ip.proto }
  event("at", flow.at, { flow = flow, list = counts[1] })
  flow.at.open = flow.pkts > 1
  flow.last = pkt.eth.dst
  local at = flow.at
  event("all", flow, flow)
  print(at == flow.at, at.port, flow.last, flow.pkts, flows[#pkt] == flow)
  print(pcall(function() event("no", { counts = counts, n = 1 }) end))
  print(pcall(function() event("no", counts) end))
  if flow.pkts > 1 then flows[#pkt] = nil end
  event("deleted", flows[#pkt])
end)
