-- Addresses out of a payload that are assigned to headers.
-- frames: udp:10.0.0.9 udp:2001:db8::9 udp:02-00-00-AA-bb-cc udp:none udp6 tcp6
local xdp = require "xdp"
local ip, mac = require "ip", require "mac"

xdp.attach(function(pkt)
  local text = pkt.payload
  if not text then return 1 end
  local address, station = ip.parse(text), mac.parse(text)
  if address then pkt.ip.dst = address end
  if station then pkt.eth.dst = station end
  pkt.ip.src = ip.prefix(pkt.ip.src, 17)
  return 3
end)
