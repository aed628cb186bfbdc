-- `string.format` with integers, strings, addresses and modifiers, made in the kernel and sent to whoever prints it.
-- frames: udp:abc tcp udp-empty icmp6 hex:ffffffffffffffff0102030405060708 hex:0000000000000080ff02030405060708
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n, b = pkt:getint64(0), pkt:getint8(8)
  print(string.format("%d %i %x %X %o %c|", n, b, n, b, pkt:getbyte(9), 64 + (b & 15)))
  print(string.format("%5d|%-5d|%05d|%+d|% d|%.3d|%#x|%5x", b, b, b, b, b, b, b & 255, n))
  print(string.format("%s %10s|%-10s|%.2s|%5.1s|", pkt.payload, "ab", "cd", "efg", "hij"))
  local s = string.format("%d:%s:%x", n, pkt.ip and pkt.ip.src, b)
  print(s, #s, s == "1:nil:2", ("%d%%"):format(b), string.format("%s %s %s", true, nil, b > 0))
  print(tostring(pkt.ip and pkt.ip.dst) .. "/" .. tostring(pkt.eth.src), (pkt.ip and pkt.ip.src or "none"):match("[^.:]+"))
end)
