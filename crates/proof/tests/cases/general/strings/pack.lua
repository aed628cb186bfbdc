-- pack, unpack, packsize: integers of all sizes, orders, alignment, strings (manual § 6.5.2).
-- frames: hex:0102030405060708090a0b0c0d0e0f10 hex:fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0 hex:80000000000000807f00000000000000
local xdp = require "xdp"
local function hex(s) return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end
xdp.attach(function(pkt)
  local bytes = pkt:getstring(0)
  local a, b, c = pkt:getint64(0), pkt:getuint8(0), pkt:getint8(8)
  for _, f in ipairs { "b", "B", "h", "H", "i", "I", "l", "L", "j", "J", "T", "i1", "I2", "i3", "I3", "i5", "I7", "i8", "I8", "i12", "i16" } do
    print(f, string.packsize(f), pcall(string.unpack, "<" .. f, bytes))
    print(pcall(string.unpack, ">" .. f, bytes))
  end
  print(hex(string.pack("<i8>i8=i8", a, a, a)), hex(string.pack("bBhH", c, b, c, b)), hex(string.pack("<i3>i3", c, c)), hex(string.pack(">I16", b)))
  print(hex(string.pack("!8 b i8", c, a)), hex(string.pack("!4 b i8", c, a)), hex(string.pack("!2 b i4 b", c, c, c)), hex(string.pack("b x b xx b", c, c, c)))
  print(hex(string.pack("<!4 b Xi4 i4", c, c)), string.packsize("!8 b i8 b"), string.packsize("<!4 bXi4"), string.packsize("c10 b"))
  print(hex(string.pack("z s1 s2 <s4 c8", "z" .. b, "one", "two", "four", "fixed")), string.pack("c0", "") == "")
  print(string.unpack("z B s1", "text\0" .. string.char(b) .. "\3abc"), string.unpack("c3", bytes, 5), string.unpack("<I2", bytes, -4))
  print(string.unpack("< i2 > i2", bytes), string.unpack("!4 b i4", bytes), select("#", string.unpack("bbbb", bytes)), string.unpack("", bytes, 3))
  print(string.unpack(" < b > h ", bytes), string.unpack("<i8", string.pack("<i8", a)), (string.unpack("<s2", string.pack("<s2", bytes))) == bytes)
end)
