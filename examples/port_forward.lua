-- Forwards services: what clients send to one address and port goes to another one of this host, and answers come from where the
-- question went to. Who asks 198.51.100.1 port 8080 is served by what listens on 192.0.2.2 port 80.
local tc = require "tc"

local forwards = {
  { from = { address = "198.51.100.1", port = 8080 }, to = { address = "192.0.2.2", port = 80 } },
  { from = { address = "2001:db8:1::1", port = 8080 }, to = { address = "2001:db8::2", port = 80 } },
}

tc.ingress(function(pkt)
  local transport = pkt.tcp or pkt.udp
  if not transport then
    return
  end
  for _, forward in ipairs(forwards) do
    local from, to = forward.from, forward.to
    if pkt.ip.dst == from.address and transport.dport == from.port then
      pkt.ip.dst, transport.dport = to.address, to.port
      return
    end
  end
end)

tc.egress(function(pkt)
  local transport = pkt.tcp or pkt.udp
  if not transport then
    return
  end
  for _, forward in ipairs(forwards) do
    local from, to = forward.from, forward.to
    if pkt.ip.src == to.address and transport.sport == to.port then
      pkt.ip.src, transport.sport = from.address, from.port
      return
    end
  end
end)
