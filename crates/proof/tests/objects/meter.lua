-- Functions and maps of a C object, with integers, records, flags and the packet.
local xdp, bpf = require "xdp", require "bpf"
local meter = bpf.object "meter.bpf.o"
local hits, pairs_of, config = meter.maps.hits, meter.maps.pairs, meter.maps.config
config[2] = 77
-- Elements of arrays are there from the start, and stay.
assert(config[3] == 0 and config[4] == nil and hits[1] == nil and not pcall(function() config[2] = nil end))
pairs_of[{ from = 1, to = { 2, 3 } }] = -5
xdp.attach(function(pkt)
  local key = pkt:getbyte(0) % 3
  print(key, meter.count(pkt, key), meter.byte_at(pkt, 12), meter.byte_at(pkt, 65535))
  local point = { x = key - 5, inner = { y = { 1, 2, #pkt } }, up = key == 1 }
  print(meter.move(point, #pkt), point.x, point.inner.y[1], point.inner.y[3], point.up)
  print(meter.sum { from = key, to = { #pkt, key } }, meter.even(#pkt), meter.even(65537))
  -- What is missing is 0, whole tables, too; what the function has made of it is there behind the call.
  local few = { x = 1 }
  print(meter.move(few, 2), few.x, few.inner.y[1], few.inner.y[3], few.up, meter.sum { from = key }, meter.sum {})
  if #pkt % 2 == 0 then few = { inner = { y = { 7 } } } end
  print(meter.move(few, 2), few.x, few.inner.y[1], few.inner.y[3])
  local entry = hits[key]
  print(entry.packets, entry.bytes, entry.last, hits[99] == nil, config[2], config[9])
  entry.last = -#pkt
  hits[key] = entry
  config[1] = config[1] + 1
  local at = { from = key, to = { #pkt % 4, 0 } }
  pairs_of[at] = (pairs_of[at] or 0) - 1
  print(pairs_of[at], pairs_of[{ from = 1, to = { 2, 3 } }], config[1])
  if #pkt % 5 == 0 then
    pairs_of[at] = nil
    print(pairs_of[at])
  end
  print(pcall(function() hits[key + 100] = { packets = 1 } end))
end)
