-- What format refuses (manual § 6.5).
-- frames: udp:x udp:10
local xdp = require "xdp"
local function try(...) return (select(2, pcall(string.format, ...))) end
xdp.attach(function(pkt)
  local s = pkt.payload or ""
  print(try("%d", s), try("%d", s .. "x"))
  print(try("%d"), try("%s"), try("%d", nil), try("%d", {}))
  print(try("%y", 1), try("%", 1), try("%10"), try("%-"))
  print(try("%123d", 1), try("%.123d", 1), try("%0100d", 1), try("% 5 d", 1))
  print(try("%#s", s), try("%0s", s), try("%+s", s), try("%+c", 65), try("%#d", 1), try("%.3c", 65), try("%5q", s))
  print(try("%5s", s .. "\0"), try("%s", s .. "\0") == s .. "\0", try("%.5s", "a\0b"))
  print(try("%q", {}), try("%q", print))
  print(try(), try(nil), try({}))
  print(try("%c", "x"), try("%x", s .. "g"))
end)
