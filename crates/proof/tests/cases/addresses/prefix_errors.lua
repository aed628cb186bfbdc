-- What is no address, or no number of its bits, is an error.
-- frames: udp:0 udp:1 udp:2 udp:3 udp:4 udp:5 udp:6 udp:7 udp:8 udp6 icmp
local xdp = require "xdp"
local ip, mac = require "ip", require "mac"

xdp.attach(function(pkt)
  local text = pkt.payload
  if not text then return 1 end
  local case = (text:byte() or 0) - 48
  local mask = case == 0 and 33 or case == 1 and -1 or 8
  local result
  if case <= 1 then result = ip.prefix(pkt.ip.src, mask) end
  if case == 2 then result = ip.prefix(text, 8) end
  if case == 3 then result = ip.prefix(pkt.eth.src, 8) end
  if case == 4 then result = ip.prefix("::1", 129 + #text - 1) end
  if case == 5 then result = ip.prefix("10.1.2.3/8", #text) end
  if case == 6 then result = ip.prefix("10.1.2.3", math.mininteger + #text) end
  if case == 7 then result = mac.parse(text .. "2:54:00:12:34:56") end
  if case == 8 then result = ip.prefix(ip.parse(text .. ".9.9.9"), 5) end
  print(result)
end)
