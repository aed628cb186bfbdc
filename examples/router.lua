-- Sends packets on at the driver as the kernel's routing tables say, over IPv4 and IPv6. What takes more than a new Ethernet header and a
-- lower TTL goes to the kernel as before: packets for this host, neighbours that have to be asked for, ICMP errors, packets that are too long.
-- Attach it to each interface that packets come in by, and set net.ipv4.ip_forward and net.ipv6.conf.all.forwarding.
local xdp = require "xdp"

xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip or ip.ttl <= 1 then
    return
  end
  local interface, next_hop, own = pkt:route()
  if interface then
    local eth = pkt.eth
    ip.ttl = ip.ttl - 1
    eth.dst, eth.src = next_hop, own
    return redirect(interface)
  end
end)
