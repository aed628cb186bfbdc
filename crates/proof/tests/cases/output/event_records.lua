-- Events that carry records: tables made here, nested ones, tables of load time, fields that may be nil.
-- frames: all tcp:GET\s/ tcp udp tls arp icmp
local xdp = require "xdp"
local rules <const> = { name = "web", ports = { high = 443, low = 80 }, strict = true }
local function pair(a, b)
  return { first = a, second = b }
end
xdp.attach(function(pkt)
  event("empty", {})
  event("constant", rules, rules.ports)
  if pkt.ip then
    event("seen", { src = pkt.ip.src, length = #pkt, tcp = { port = pkt.tcp and pkt.tcp.dport }, ["odd name"] = false })
    event("more", 1, pair(pkt.ip.dst, pair(pkt.ip.version, nil)), "end", pair(nil, pkt.payload))
  end
  local record = { length = #pkt, note = "n" }
  if pkt.udp then record.port = pkt.udp.dport end
  record.note = nil
  local value = 7
  if pkt.tcp then value = record end
  if not pkt.ip then value = pair(record, record) end
  event("record", value, setmetatable(record, { __index = rules }))
end)
