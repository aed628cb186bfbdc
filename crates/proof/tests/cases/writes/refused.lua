-- What cannot be assigned: fields that are not there, or can only be read, and values that do not fit. The packet stays as it is.
-- frames: udp udp6 tcp udp/40 hex:f1f2f3f4f5f6f7f8000140c0ff3f417f8081
local xdp = require "xdp"

local turn = 0
local tries = {
  function(pkt) pkt.ip.ttl = 256 end,
  function(pkt) pkt.ip.ttl = -1 end,
  function(pkt) pkt.ip.ttl = pkt.ip.ttl - 255 end,
  function(pkt) pkt.ip.dscp = 64 end,
  function(pkt) pkt.ip.dscp = pkt.ip.ttl end,
  function(pkt) pkt.ip.ecn = 4 end,
  function(pkt) pkt.ip.ecn = pkt.ip.ecn - 4 end,
  function(pkt) pkt.ip.flow = 1 end,
  function(pkt) pkt.ip.dont_fragment = true end,
  function(pkt) pkt.ip.id = 1 end,
  function(pkt) pkt.ip.dst = "192.0.2.1" end,
  function(pkt) pkt.ip.dst = "2001:db8::7" end,
  function(pkt) pkt.ip.src = pkt.eth.src end,
  function(pkt) pkt.eth.src = pkt.ip.src end,
  function(pkt) pkt.ip.version = 4 end,
  function(pkt) pkt.udp.length = 9 end,
  function(pkt) pkt.udp.dport = pkt.ip.src end,
  function(pkt) pkt.udp.dport = nil end,
  function(pkt) pkt.tcp.syn = 1 end,
  function(pkt) pkt.tcp.dport = true end,
  function(pkt) pkt.ip = 1 end,
  function(pkt) pkt.getbyte = 1 end,
}

xdp.attach(function(pkt)
  for number, try in ipairs(tries) do
    local ok, message = pcall(try, pkt)
    print(number, ok, message)
  end
  turn = turn + 1
  if turn == 2 then pkt.ip.ttl = 300 end
end)
