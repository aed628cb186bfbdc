-- Headers that functions inside have from outside: the name of the field stands in the instruction that also says which variable it is.
-- frames: udp tcp udp6 tcp6 icmp
local xdp = require "xdp"

xdp.attach(function(pkt)
  local ip, transport, icmp = pkt.ip, pkt.udp or pkt.tcp, pkt.icmp
  local count = 0
  local function set(ttl)
    ip.ttl = ttl
    count = count + 1
  end
  set(9)
  print(ip.ttl, pcall(set, 256), pcall(set, true))
  if transport then
    print(pcall(function() transport.dport = 8080 end))
    print(transport.dport, pcall(function() transport.nothing = 1 end))
  end
  if icmp then
    print(pcall(function() icmp.seq = true end))
    print(pcall(function() icmp.seq = 5 end), icmp.seq, count)
  end
end)
