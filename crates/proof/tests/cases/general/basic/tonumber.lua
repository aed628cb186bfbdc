-- tonumber with and without a base (manual § 6.2).
-- frames: udp:10 udp:\s\s-7\n udp:0x1f udp:0X udp:zz udp:7fffffffffffffff udp:-8000000000000000 udp:1\x000 udp: udp:12a udp:-
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s, n = pkt.payload or "", #pkt % 35 + 2
  for _, base in ipairs { 2, 8, 10, 16, 36, n } do print(base, tonumber(s, base)) end
  print(tonumber(s), tonumber(n), tonumber(nil), tonumber({}), tonumber(true), tonumber(""), tonumber(" "), tonumber("- 1"))
  print(tonumber("0x7fffffffffffffff"), tonumber("0xffffffffffffffff"), tonumber("9223372036854775807"), tonumber("-9223372036854775808"))
  print(tonumber("1z", 36), tonumber("-ff", 16), tonumber("8", 8), tonumber("", 10), tonumber("  11  ", 2), tonumber("1 1", 2))
  print(tonumber("0x10", 16), tonumber("1e", 16), tonumber("ZZ", 36), tonumber("7fffffffffffffffff", 16))
  print(pcall(tonumber, s, 1))
  print(pcall(tonumber, s, 37))
  print(pcall(tonumber, n, 10))
  print(pcall(tonumber))
  print(pcall(tonumber, s, "x"))
  print(pcall(tonumber, {}, 10))
end)
