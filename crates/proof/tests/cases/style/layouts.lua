-- What `layout_offsets.lua` does, with layouts and segments, which have the bounds.
-- frames: udp tcp icmp6 vlan-tls truncated:udp hex:000102030405060708090a0b0c0d
local xdp = require "xdp"
local action = require "linux.xdp"
local data = require "data"

local frame = data.layout { type = { 96, 16 } }
local packet = data.layout { length = { 4, 4 }, protocol = { 72, 8 } }
local datagram = data.layout { port = { 16, 16 }, length = { 32, 16 } }

xdp.attach(function(pkt)
  pkt:layout(frame)
  if pkt.type ~= 0x0800 then return action.PASS end
  local ip = pkt:segment(14)
  if not ip or ip:layout(packet).protocol ~= 17 then return action.PASS end
  local udp = ip:segment(ip.length * 4)
  if not udp then return action.PASS end
  local length = udp:layout(datagram).length
  if not length or length <= 8 then return action.PASS end
  return udp.port == 53 and action.DROP or action.PASS
end)
