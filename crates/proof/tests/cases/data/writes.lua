-- Fields of packets that are assigned: no bit beside them changes; what lies behind the packet, and has no layout, is left.
-- frames: tcp udp hex:ff80fe7f0180ff7f8081828384858687
local data = require "data"
local xdp = require "xdp"

local layout = data.layout {
  bit = { 0, 1 }, nibble = { 12, 4 }, byte = { 8, 8 }, word = { 16, 16 }, long = { 40, 32 }, all = { 64, 64 }, three = { 8, 24 },
  odd = { 3, 11 }, far = { 5, 64 }, nine = { 39, 9 }, seven = { 8, 56 }, five = { 0, 40 }, behind = { 4000, 8 }, too_wide = { 0, 65 },
  little = { 16, 16, "n", "l" }, little_odd = { 0, 12, "n", "l" }, little_far = { 5, 61, "n", "l" }, text = { 2, 4, "s" },
  text_behind = { 2000, 4, "s" },
}

local function show(pkt) return pkt:getint64(0), pkt:getint64(8) end

xdp.attach(function(pkt)
  pkt.nobody = 3
  pkt:layout(layout)
  pkt.bit = ~pkt.bit
  pkt.nibble = 9
  print(show(pkt))
  pkt.word = 0x1234
  pkt.three = 0xfedcba
  pkt.odd = 0x555
  print(show(pkt))
  pkt.far = 0x0123456789abcdef
  print(show(pkt))
  pkt.nine, pkt.five, pkt.seven = 0x1ff, "4660", -2
  print(show(pkt))
  pkt.all = -1
  pkt.behind, pkt.too_wide, pkt.nobody = 1, 2, 3
  pkt.little, pkt.little_odd = 0x1234, 0xabc
  print(show(pkt))
  pkt.little_far = 0x0fedcba987654321
  print(pkt.little, pkt.little_odd, pkt.little_far, show(pkt))
  pkt.long, pkt.byte = 1.0, {}
  print(show(pkt))
  pkt.text = "abcdefgh"
  pkt.text = "xy"
  pkt.text = 7
  pkt.text = nil
  pkt.text_behind = "none"
  print(pkt.text, show(pkt))
  local part = pkt:segment(#pkt - 2)
  part:layout { high = { 0, 4 }, rest = { 4, 12 }, more = { 8, 16 } }
  part.high, part.rest, part.more = 5, pkt:getbyte(3) << 4, 7
  print(part.high, part.rest, part.more, pkt:getuint16(#pkt - 2))
end)
