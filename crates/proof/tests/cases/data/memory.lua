-- Objects that handlers make: of a length, of bytes, of strings; their segments have the same bytes.
-- frames: tcp udp hex:000102030405060708090a0b0c0d
local data = require "data"
local xdp = require "xdp"

local layout = data.layout {
  word = { 0, 16 }, little = { 0, 16, "number", "le" }, four = { 16, 4 }, nine = { 20, 9 }, behind = { 32, 1 }, all = { 0, 64 },
  wide = { 0, 65 }, text = { 0, 6, "s" }, text_behind = { 1, 6, "s" },
}

xdp.attach(function(pkt)
  local one = data.new { 0x0f }
  one.none = 0xdead
  print(one.none, #one)
  one:layout(layout)
  print(one.word, one.four)
  local four = data.new { 0xaa, 0xbb, 0xcc, 0xdd }
  four:layout(layout)
  print(#four, four.word, four.little, four.four, four.nine, four.behind, four.all)
  local part = four:segment(1, 3)
  part:layout(layout)
  local further = part:segment(1):layout(layout)
  print(#part, part.word, part.four, #further, further.word, further.four)
  local same = four:segment()
  same:layout(layout)
  same.four = 0xf
  print(same.four, four.four, part.word, four.nine)
  further.word = 0x1234
  print(four:getbyte(2), four:getbyte(3), four:getuint16(2), tostring(four) == "\xaa\xbb\x12\x34")
  local eight = data.new(8):layout(layout)
  print(eight.all)
  eight.all = -1
  print(eight.all, eight.wide, eight.word)
  eight.word = pkt:getuint16(0)
  print(eight.word, eight.little, eight.all)
  local made = data.layout { first = { 0, 8 }, low = { offset = 12, length = 4 }, gone = { 0, 0 } }
  eight:layout(made)
  eight.low = 5
  print(eight.first, eight.low, eight.gone, data.layout(made) == made, data.layout(), eight:layout { four = { 4, 4 } }.four)
  local text = data.new "abcdef"
  text:layout(layout)
  print(text.text, text.text_behind, text.word)
  text.text = "hij"
  print(text.text, tostring(text), #text)
  local copied = data.new(pkt:getstring(4, 8)):layout(layout)
  pkt:setbyte(4, pkt:getbyte(4) ~ 0xff)
  print(copied.word, copied.all, copied:getbyte(0), copied:getstring(2, 3), #copied)
  print(data.new(), data.new(0), data.new {}, data.new "", data.new(nil), data.new(-1), data.new(true))
  print((four:segment(4)), (four:segment(2, 3)), (four:segment(-1)), (four:segment(0, -1)), #four:segment(1, 2), #four:segment "2")
end)
