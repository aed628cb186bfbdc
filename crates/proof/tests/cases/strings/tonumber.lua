-- `tonumber` of texts from packets, with and without a base.
-- frames: udp:10 udp:\s\s-7\n udp:0x1f udp:0X udp:zz udp:7fffffffffffffff udp:-8000000000000000 udp:1\x000 udp: udp:12a udp:-
-- frames: udp:9223372036854775807 udp:-9223372036854775808 udp:0xffffffffffffffffff udp:+0 udp:00012 udp:1\s1 udp:0x udp:. udp:e5
-- frames: udp:1e udp:0x.p1 udp:--1 udp:\t\x0b\x0c\r1\t udp:-0X1F\s udp:1.. udp:0b1 udp:inf udp:nan udp:ZZ udp:+\s1 udp:5\s\x00
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload or ""
  local n = #s % 35 + 2
  print(tonumber(s), tonumber(s, 10), tonumber(s, 16), tonumber(s, 36), tonumber(s, 2), tonumber(s, n))
  print(tonumber("1z", 36), tonumber(" -ff\n", 16), tonumber("8", 8), tonumber("", 10), tonumber("- 1", 10), tonumber("7fffffffffffffffff", 16))
  print(tonumber("20", n), tonumber(n), tonumber(nil), tonumber(true), tonumber("0x10"), tonumber("x"), tonumber("1" .. #s))
  local value = tonumber(s)
  if value and value > 0 then print(value + 1, tonumber(s, value & 63)) end
end)
