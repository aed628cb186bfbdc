-- The level of `error` says which of the active functions is blamed.
-- frames: tcp udp icmp arp tls all
local xdp = require "xdp"
local function raise(text, level)
  error(text, level)
end
local function check(n, level)
  if n > 0 then
    raise("length " .. n, level)
  end
  return n
end
local function tail(text)
  return raise(text, 2)
end
xdp.attach(function(pkt)
  if pkt.tcp then
    check(#pkt, 3)
  elseif pkt.udp then
    check(#pkt, 2)
  elseif pkt.icmp then
    check(#pkt, 1)
  elseif pkt.vlan then
    check(#pkt, 4)
  elseif pkt.eth and pkt.eth.type == 0x806 then
    check(#pkt, 0)
  else
    tail("tail")
  end
  return 1
end)
