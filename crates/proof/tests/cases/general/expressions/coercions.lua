-- Strings as numbers and numbers as strings (manual § 3.4.3).
-- frames: udp:10 udp:0x1F udp:\s-7\s udp:abc udp:12x udp:9223372036854775807 udp:-0x8000000000000000
local xdp = require "xdp"
local function try(f, ...) return (select(2, pcall(f, ...))) end
xdp.attach(function(pkt)
  local s, n = pkt.payload, pkt:getuint8(41) % 5 + 2
  print(try(function() return s + 1 end), try(function() return 1 + s end), try(function() return s * s end))
  print(try(function() return s // 2 end), try(function() return s % 3 end), try(function() return -s end))
  print(try(function() return s & 0xff end), try(function() return s | n end), try(function() return ~s end))
  print(try(function() return s << 1 end), try(function() return 1 << s end), try(function() return s ~ "3" end))
  print(s .. n, n .. s, 1 .. 2, s .. -1, n .. "" == tostring(n), math.type(n .. ""))
  print(s == n, "10" == 10, 10 .. "" == "10", s < "2", try(function() return s < 2 end), try(function() return 2 <= s end))
  print("10" + n, n - "3", "2" * "3", "7" // "2", "7" % n, -"2", "0x10" + 0, " 5 " + n)
  print(try(string.rep, s, "2"), try(string.rep, "x", s), try(string.sub, "hello", "2", n), ("x"):rep("3"))
end)
