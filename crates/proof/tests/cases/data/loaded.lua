-- Objects of load time: those that nobody writes are constants; what handlers write stays.
-- frames: tcp udp tcp hex:000102030405060708090a0b0c0d
local data = require "data"
local xdp = require "xdp"

local layout = data.layout { magic = { 0, 32 }, name = { 4, 5, "s" }, low = { 60, 4 } }
local constant = data.new "\x12\x34\x56\x78hello":layout(layout)
local table_of = data.new { 1, 2, 3, 4, 5 }
local counters = data.new(8):layout { all = { 0, 32 }, last = { 32, 16 } }
counters.all = 5

xdp.attach(function(pkt)
  local at = pkt:getbyte(0) & 3
  print(constant.magic, constant.name, constant.low, #constant, constant:getbyte(2), constant:getstring(4))
  print(table_of:getbyte(at), table_of:getbyte(4), table_of:checksum(), #table_of)
  counters.all = counters.all + 1
  counters.last = #pkt
  print(counters.all, counters.last)
end)
