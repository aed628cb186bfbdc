-- Addresses of both families as keys and values: their texts, and the least of them.
-- frames: all tcp udp6 tls
local xdp = require "xdp"
local sources, ends, v4 = {}, {}, map { key = "ipv4", value = "ipv4" }
xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip then return end
  sources[ip.src] = ip.proto
  ends[ip.proto] = ip.dst
  if ip.version == 4 then v4[ip.dst] = ip.src end
  local least
  for address, proto in pairs(sources) do
    local text = address .. "/" .. proto
    if not least or text < least then least = text end
  end
  local count, sum = 0, 0
  for proto, address in pairs(ends) do
    if address == "198.51.100.23" then count = count + 1 end
    sum = sum + proto * #address
  end
  for to, from in pairs(v4) do
    if v4[to] == from then sum = sum + #to * #from end
  end
  print(least, count, sum, #v4)
end)
