-- What pack and unpack refuse (manual § 6.5.2).
-- frames: hex:0102030405060708090a0b0c0d0e hex:ff7f000000000000000000000000
local xdp = require "xdp"
local function try(f, ...) return (select(2, pcall(f, ...))) end
local pack, unpack, size = string.pack, string.unpack, string.packsize
xdp.attach(function(pkt)
  local n, s = pkt:getint8(0), pkt:getstring(0, 4)
  print(try(pack, "b", n + 200), try(pack, "B", n - 200), try(pack, "i2", 1 << 20), try(pack, "I3", -1), try(pack, "I8", -1) == pack("i8", -1))
  print(try(pack, "i17", n), try(pack, "i0", n), try(pack, "y", n), try(pack, "!17 i4", n), try(pack, "!3 i4", n) ~= nil)
  print(try(pack, "b"), try(pack, "b", "x"), try(pack, "b", {}), try(pack, "z", "a\0b"), try(pack, "c2", "abc"), try(pack, "s1", ("x"):rep(300)))
  print(try(unpack, "i8", s), try(unpack, "z", s), try(unpack, "s1", "\5ab"), try(unpack, "c9", s), try(unpack, "b", s, 9), try(unpack, "b", s, -9))
  print(try(unpack, "i9", ("\255"):rep(9)), try(unpack, "I9", ("\255"):rep(9)), try(unpack, "<i9", "\1\0\0\0\0\0\0\0\1"))
  print(try(size, "s1"), try(size, "z"), try(size, "i17"), try(size, "c"), try(pack, "Xb"), try(pack, "X"), try(size, "!4 X i4") ~= nil)
  print(try(unpack, "b"), try(unpack), try(pack), try(size, nil))
end)
