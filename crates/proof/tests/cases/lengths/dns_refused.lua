-- What cannot be answered.
-- frames: dns*12 tcp dns6 udp arp dns
local xdp = require "xdp"
local dns = require "dns"

local turn = 0
xdp.attach(function(pkt, arg)
  turn = turn + 1
  if turn == 1 then dns.answer(nil) end
  if turn == 2 then dns.answer(pkt) end
  if turn == 3 then dns.answer(pkt, 7) end
  if turn == 4 then dns.answer(arg, {}) end
  if turn == 5 then dns.answer(pkt, {address = 7}) end
  if turn == 6 then dns.answer(pkt, {address = "192.0.2.01"}) end
  if turn == 7 then dns.answer(pkt, {ttl = -1}) end
  if turn == 8 then dns.answer(pkt, {ttl = 1 << 32, address = pkt.ip.src}) end
  if turn == 9 then dns.answer(pkt, {rcode = 16}) end
  if turn == 10 then dns.answer(pkt, {rcode = "3"}) end
  if turn == 11 then print(pcall(function() dns.answer(pkt, {rcode = 16}) end)) print(#pkt) end
  if turn == 12 then dns.answer(pkt.dns, {}) end
  if turn == 13 then dns.answer(pkt, {}) end
  if turn == 14 then dns.answer(pkt, {rcode = 1}) end
  if turn == 15 then dns.answer(pkt, {rcode = 1}) end
  if turn == 16 then dns.answer(pkt, {address = "::1"}) end
  if turn == 17 then dns.answer(pkt, {}) dns.answer(pkt, {}) end
end)
