-- Objects of packets have all that packets have; what a layout names comes first, but for `layout` and `segment`.
-- frames: tcp udp icmp6
local data = require "data"
local xdp = require "xdp"

local ports = data.layout { checksum = { 0, 16 }, ip = { 0, 8 }, getbyte = { 16, 16 }, segment = { 0, 8 }, layout = { 0, 8 } }

local function source(pkt) return pkt.ip and pkt.ip.src end

xdp.attach(function(pkt, arg)
  local tcp = pkt.tcp
  print(source(pkt), tcp and tcp.sport, pkt.udp and pkt.udp.dport, pkt.payload and #pkt.payload, pkt.eth.dst, pkt.none, #pkt)
  print(pkt:getbyte(12), pkt:checksum(0, 14), #tostring(pkt), arg:getbyte(1), pkt.ifindex > 0)
  if tcp then tcp.dport = 81 end
  if pkt.ip then pkt.ip.ttl = 7 end
  pkt.nobody = 1
  pkt.packet:setbyte(0, 2)
  print(pkt:getbyte(0), type(pkt.packet), pkt.packet:getbyte(1))
  pkt:layout(ports)
  print(pkt.checksum, pkt.ip, pkt.getbyte, type(pkt.segment), type(pkt.layout), pkt.tcp and pkt.tcp.dport)
  pkt.ip, pkt.segment = 9, 3
  print(pkt.ip, pkt.checksum, type(pkt.segment))
  local part = pkt:segment(14)
  print(part.tcp, part.ip, #part)
  print(pkt:segment(#pkt), pkt:segment(#pkt, 0), pkt:segment(-1), #pkt:segment(#pkt - 1), pkt:segment(3, 100000))
end)
