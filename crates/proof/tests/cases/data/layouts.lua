-- Fields of packets by layouts, of each width, at each place within a byte, in both byte orders.
-- frames: tcp udp icmp6 hex:ff80fe7f0180ff7f8081828384858687 hex:000102030405060708090a0b0c0d
local data = require "data"
local xdp = require "xdp"

local given = {
  bit = { 0, 1 }, last = { 7, 1 }, nibble = { 4, 4 }, byte = { 8, 8 }, word = { 16, 16 }, long = { 32, 32 }, all = { 0, 64 },
  three = { 8, 24 }, five = { 16, 40 }, six = { 8, 48 }, seven = { 0, 56 }, nine = { 7, 9 }, odd = { 3, 11 }, far = { 5, 64 },
  wide = { 1, 63 }, nineteen = { 6, 19 }, sixty = { 7, 60 },
  none = { 0, 0 }, too_wide = { 0, 65 }, negative = { -8, 8 }, behind = { 800, 16 }, no_table = 7, empty = {},
  little = { 16, 16, "number", "little" }, little_long = { 8, 32, "n", "le" }, little_all = { 0, 64, "n", "l" },
  little_odd = { 0, 12, "n", "l" }, little_nine = { 3, 9, "n", "little" }, little_far = { 5, 61, "n", "l" }, little_byte = { 8, 8, "n", "l" },
  host = { 16, 16, "n", "host" }, net = { 16, 16, "n", "net" }, other = { 16, 16, "x", "y" },
  named = { offset = 16, length = 16, endian = "little" }, both = { 0, 8, offset = 8 }, texts = { "8", "16" },
  text = { 0, 6, "string" }, text_behind = { 5000, 1, "s" }, nothing = { 3, 0, "s" },
}
local names, plain = {}, {}
for name, described in pairs(given) do
  names[#names + 1], plain[name] = name, described
end
assert(data.layout(given) == given and type(given.word) == "table" and given.none == nil and given.no_table == nil)

xdp.attach(function(pkt)
  assert(pkt:layout(given) == pkt)
  print(pkt.bit, pkt.last, pkt.nibble, pkt.byte, pkt.word, pkt.long, pkt.all, pkt.three, pkt.five, pkt.six, pkt.seven)
  print(pkt.nine, pkt.odd, pkt.far, pkt.wide, pkt.nineteen, pkt.sixty, pkt.none, pkt.too_wide, pkt.negative, pkt.behind)
  print(pkt.no_table, pkt.empty, pkt.little, pkt.little_long, pkt.little_all, pkt.little_odd, pkt.little_nine, pkt.little_far)
  print(pkt.little_byte, pkt.host, pkt.net, pkt.other, pkt.named, pkt.both, pkt.texts, pkt.text, pkt.text_behind, pkt.nothing)
  print(pkt.word == pkt:getbyte(2) << 8 | pkt:getbyte(3), pkt.text == pkt:getstring(0, 6))
  local inner = pkt:segment(pkt:getbyte(0) & 3 | 1)
  print(inner.word, #inner)
  inner:layout(plain)
  print(inner.bit, inner.odd, inner.word, inner.far, inner.little, inner.little_odd, inner.text, inner.named, inner.empty, #inner)
end)
