-- Integers as text: every number of digits, in concatenations, formats and by themselves, beside known text of many lengths.
-- frames: hex:00000000000000000000000000000000 hex:ffffffffffffffffffffffffffffffff hex:0000000000000080640ac7f563090a01
-- frames: hex:ffe0f50500000000e70300000000ff00 hex:00e1f505000000000027100f0000ffff hex:ffffffffffffff7f09000a0000000000 udp:abc tcp
local xdp = require "xdp"
local long = ("0123456789"):rep(8)
xdp.attach(function(pkt)
  local n, b, s, w = pkt:getint64(0), pkt:getuint8(8), pkt:getint8(9), pkt:getuint32(10)
  local h, d = pkt:getuint16(12), pkt:getuint8(9) // 26
  print(tostring(n), n .. "", b .. s .. w .. h .. d .. n, "[" .. b .. "]" .. h .. "." .. d, d .. "/" .. n .. "/" .. d)
  print(string.format("%d.%d.%d.%d", b, h, d, w) .. ":" .. h, string.format("%s=%d,%i", n, s, b), #tostring(w), ("x" .. n):rep(2))
  print(long .. b .. long, "1" .. b .. "12" .. b .. "123" .. b .. "1234" .. b .. "12345" .. b .. "123456" .. b .. "1234567" .. b .. "12345678" .. b .. "123456789")
  print(n // 10 .. "|" .. n // 100000 .. "|" .. n // 100000000 .. "|" .. n // 1000000000000 .. "|" .. -(n & 0xffff))
  local t = ""
  for i = 98, 102 do t = t .. i * 100 .. "," .. b * i .. ";" end
  print(t, #t, t == "9800,0;9900,0;10000,0;10100,0;10200,0;", tostring(b) == "255", tostring(h) < tostring(d))
  print(tostring(pkt.ip and pkt.ip.src) .. "!", pkt.ip and pkt.ip.dst .. ":" .. h, "from " .. tostring(pkt.eth.src) .. " " .. b)
end)
