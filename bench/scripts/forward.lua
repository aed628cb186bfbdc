-- Sends packets on as the kernel's forwarding tables say, with a TTL that does not depend on what it was: a frame may come again and again.
local xdp = require "xdp"

xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip or ip.ttl <= 1 then
    return
  end
  local interface, next_hop, own = pkt:route()
  if interface then
    local eth = pkt.eth
    ip.ttl = 63
    eth.dst, eth.src = next_hop, own
    return redirect(interface)
  end
end)
