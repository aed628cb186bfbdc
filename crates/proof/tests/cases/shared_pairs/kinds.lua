-- Integers, booleans, strings and addresses of Ethernet as keys and values, visited in an order that does not show.
-- frames: all tcp udp6 all
local xdp = require "xdp"
local lengths, macs, names, flags = {}, {}, {}, {}
xdp.attach(function(pkt)
  local ip = pkt.ip
  lengths[#pkt] = (lengths[#pkt] or 0) + 1
  macs[pkt.eth.dst] = #pkt
  flags[ip ~= nil] = not flags[ip ~= nil]
  if ip then
    names[pkt:getstring(14, 10)] = pkt:getstring(14, 3) .. ip.ttl
  end
  local count, sum = 0, 0
  for length, n in pairs(lengths) do
    count, sum = count + 1, sum + length * n
  end
  print("lengths", count, sum, #lengths)

  for address, length in pairs(macs) do
    if address == pkt.eth.dst then print("mac", address, length == #pkt) end
  end

  count, sum = 0, 0
  for name, ttl in pairs(names) do
    count, sum = count + #name + #ttl, sum + name:byte(10) * ttl:byte(3)
    if name:byte(10) == 17 then count = count + 1000 end
  end
  print("names", count, sum)

  for flag, value in pairs(flags) do
    if flag then print("flag", flag, value) else sum = sum + (value and 1 or 2) end
  end
  print("flags", sum)
end)
