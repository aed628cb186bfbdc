-- All types of keys and values visited, in code that cannot be expanded.
-- frames: all tcp udp6 all
local xdp = require "xdp"
local lengths, macs = map { key = "int", value = "int" }, map { key = "mac", value = "ip" }
local names, flags = map { key = "string:200", value = "string:100" }, map { key = "boolean", value = "boolean" }
local sources, fours = map { key = "ip", value = "int" }, map { key = "ipv4", value = "ipv4" }
local function sorted(t)
  local list = {}
  for k, v in pairs(t) do list[#list + 1] = tostring(k) .. "=" .. tostring(v) end
  table.sort(list)
  return table.concat(list, " ", math.max(1, #list - 3))
end
xdp.attach(function(pkt)
  local ip = pkt.ip
  lengths[#pkt] = (lengths[#pkt] or 0) + 1
  macs[pkt.eth.dst] = ip and ip.dst or "::"
  flags[ip ~= nil] = not flags[ip ~= nil]
  if ip then
    names[pkt:getstring(14, #pkt % 150)] = pkt:getstring(14, 3) .. ip.ttl
    sources[ip.src] = ip.proto
    if ip.version == 4 then fours[ip.src] = ip.dst end
  end
  print(sorted(lengths))
  print(sorted(macs))
  print(sorted(flags))
  print(sorted(sources))
  print(sorted(fours))
  local length, sum = 0, 0
  for name, value in pairs(names) do
    length, sum = length + #name + #value, sum + (name:byte(-1) or 0) * value:byte(-1)
    if names[name] ~= value then print "never" end
  end
  print(length, sum, #lengths, #macs, #names)
end)
