-- A filter by offset, as those of NPF in Lua: large datagrams to a port, with every bound written out. `layouts.lua` does the same by layouts.
-- frames: udp tcp icmp6 vlan-tls truncated:udp hex:000102030405060708090a0b0c0d
local xdp = require "xdp"
local action = require "linux.xdp"
local ntoh16 = require("byteorder").ntoh16

xdp.attach(function(pkt)
  if #pkt < 14 or ntoh16(pkt:getuint16(12)) ~= 0x0800 then return action.PASS end
  if #pkt < 24 or pkt:getbyte(23) ~= 17 then return action.PASS end
  local at = 14 + (pkt:getbyte(14) & 15) * 4
  if #pkt < at + 6 or ntoh16(pkt:getuint16(at + 4)) <= 8 then return action.PASS end
  return ntoh16(pkt:getuint16(at + 2)) == 53 and action.DROP or action.PASS
end)
