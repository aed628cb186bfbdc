-- format: every conversion but those of floats, with flags, widths and precisions (manual § 6.5).
-- frames: hex:0305fffffffffffffffe000000000000 hex:00ff00000000000000800a0000000000 hex:7f41ffffffffffffff7f410000000000
local xdp = require "xdp"
local function try(...) return (select(2, pcall(string.format, ...))) end
xdp.attach(function(pkt)
  local a, b, c = pkt:getint8(0), pkt:getuint8(1), pkt:getint64(2)
  local s = pkt:getstring(1, 1) .. "tail"
  for _, f in ipairs { "%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%i", "%.3d", "%8.3d|", "%-8.3d|", "%+.2d", "%x", "%X", "%#x", "%#X", "%o", "%#o",
    "%08x", "%-8x|", "%.5x", "%c", "%5c|", "%-5c|", "%q", "%s", "%10s|", "%-10s|", "%.2s|", "%20d", "%.0d", "%+05d" } do
    print(f, try(f, a), try(f, b), try(f, c), try(f, 42))
  end
  for _, f in ipairs { "%s", "%10s|", "%-10s|", "%.3s|", "%10.2s|", "%q", "%-5.1s|", "%.0s|", "%.20s" } do
    print(f, try(f, (s:gsub("%z", "."))), try(f, "text"))
  end
  print(string.format("%s %s %s %s", a, b > 4, nil, "x"), string.format("%%"), string.format("%d%%%s", b, s:len()), string.format(""))
  print(string.format("%q", s), string.format("%q", "a\n\r\0b\"\\\200" .. b), string.format("%q", a), string.format("%q", true), string.format("%q", nil))
  print(string.format("%q", math.mininteger), string.format("%d", "10"), string.format("%s", "1") + a, string.format("%d", "0x10"))
  print(string.format("%5s%-5s|%s", "ab", "cd", setmetatable({}, { __tostring = function() return "T" .. a end })))
  print(("%d-%d"):format(a, b), ("%2d:%02d"):format(b, b), ("x%sx"):format(("y"):rep(b % 8)))
end)
