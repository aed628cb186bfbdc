-- Strings as keys and values: bytes of the packet, constants, made ones, empty ones, with NULs.
-- frames: all tcp:GET\s/ tcp:GET\x00x tcp:GET tcp:GET\x00x udp tls tls6 tcp
local xdp = require "xdp"
local seen, last, names, words = {}, {}, {}, { GET = 0, [""] = 7 }
xdp.attach(function(pkt)
  local payload = pkt.payload
  if not payload then return "no" == "yes" and 1 or nil end
  local first = payload:sub(1, 20)
  print(seen[first], last[#first], words[first:sub(1, 3)])
  seen[first] = (seen[first] or 0) + 1
  last[#first] = first
  if words[first:sub(1, 3)] then words[first:sub(1, 3)] = words[first:sub(1, 3)] + 1 end
  local sni = pkt.tls and pkt.tls.sni
  if sni then names[sni .. "." .. #pkt] = pkt.ip.src .. "!" end
  print(seen[first], last[#first], names["www.example.org." .. #pkt], #last[#first])
end)
