-- Drops datagrams to one port whose UDP header says that they are longer than 128 bytes, as filters of NetBSD's NPF in Lua do it: each header has a
-- layout, and each is a segment of the packet (docs/data.md). Fields that are not there are nil.
local xdp = require "xdp"
local action = require "linux.xdp"
local data = require "data"

local ethernet = data.layout { type = { 96, 16 } }
local ip = data.layout {
  version = { 0, 4 }, ihl = { 4, 4 }, tos = { 8, 8 }, length = { 16, 16 }, id = { 32, 16 }, flags = { 48, 3 }, offset = { 51, 13 },
  ttl = { 64, 8 }, proto = { 72, 8 }, checksum = { 80, 16 }, src = { 96, 32 }, dst = { 128, 32 },
}
local udp = data.layout { src_port = { 0, 16 }, dst_port = { 16, 16 }, length = { 32, 16 }, checksum = { 48, 16 } }

xdp.attach(function(pkt)
  if pkt:layout(ethernet).type ~= 0x0800 then return action.PASS end
  local header = pkt:segment(14)
  if not header or header:layout(ip).proto ~= 17 then return action.PASS end
  local datagram = header:segment(header.ihl * 4)
  if not datagram then return action.PASS end
  local length = datagram:layout(udp).length
  if length and length > 128 and datagram.dst_port == 5060 then return action.DROP end
  return action.PASS
end)
