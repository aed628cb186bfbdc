-- Entries for which there is no room, and strings that are too long for a field.
-- frames: tcp udp syn tcp udp icmp tls
local xdp = require "xdp"
local flows = map { key = "int", value = { n = "int", name = "string:4" }, capacity = 2 }
local function try(f, ...)
  local ok, message = pcall(f, ...)
  return ok, message
end
xdp.attach(function(pkt)
  print(try(function()
    if not flows[#pkt] then flows[#pkt] = { n = 0, name = "a" } end
    flows[#pkt].n = flows[#pkt].n + 1
  end))
  print(flows[#pkt] and flows[#pkt].n, flows[#pkt] and flows[#pkt].name)
  if flows[#pkt] and flows[#pkt].n > 1 then flows[#pkt] = nil end
  flows[#pkt].n = 5
end)
