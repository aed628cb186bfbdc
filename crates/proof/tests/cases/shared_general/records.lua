-- Entries with named fields: made, held, handed around, changed through whoever holds them.
-- frames: all tcp udp tcp udp6 syn tls tcp
local xdp = require "xdp"
local flows = map { key = "string:40", value = { pkts = "int", bytes = "int", at = { a = "int", b = "boolean" }, last = "string:8" } }
local hosts = map { key = "ip", value = { name = "string:16", seen = "int", first = "int" } }
hosts["192.0.2.7"] = { name = "seven", seen = 5 }
local function get(t, k)
  local e = t[k]
  if not e then
    e = { pkts = 0, bytes = 0 }
    t[k] = e
  end
  return e
end
local function bump(e, field, by)
  e[field] = (e[field] or 0) + by
  return e
end
xdp.attach(function(pkt)
  pcall(type, pkt)
  for word in (pkt.payload or "none at all"):gmatch("%a+") do
    local f = get(flows, word:sub(1, 40))
    f.pkts = f.pkts + 1
    bump(bump(f, "bytes", #pkt), "bytes", 1)
    f.last = word:sub(1, 2)
    flows[word:sub(1, 40)].pkts = flows[word:sub(1, 40)].pkts + 10
    f.at = f.at or { a = 1, b = false }
    local at = f.at
    at.a = at.a + 1
    if at.a > 3 then at.b = not at.b end
    if at.a == 5 then f.at = { a = -1 } end
    print(f.pkts, f.bytes, f.last, f.none, f[1], #f, type(f), f == flows[word:sub(1, 40)], f.at == at, f.at.a, f.at.b)
    if f.pkts > 60 then flows[word] = nil end
  end
  local host = pkt.ip and hosts[pkt.ip.src]
  if host then
    host.seen = host.seen + 10
    host.first = host.first or #pkt
    if host.seen > 40 then host.first = nil end
    print(host.name, host.seen, host.first)
  elseif pkt.ip then
    hosts[pkt.ip.src] = { name = pkt.ip.src:sub(1, 5), seen = 0 }
  end
  print(flows.nothing, flows[7], #tostring(flows.none) > 0)
end)
