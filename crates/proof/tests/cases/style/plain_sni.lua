-- A filter by server name in the plain way.
-- frames: all
-- frames: sni:blocked.example sni:also.blocked.example sni:fine.example sni6:blocked.example truncated:sni:blocked.example
local xdp = require "xdp"
local action = require "linux.xdp"
local blocked = { ["blocked.example"] = true, ["also.blocked.example"] = true, ["www.example.org"] = true }
xdp.attach(function(pkt)
  local tls = pkt.tls
  if tls and blocked[tls.sni] then
    print("blocked", tls.sni)
    return action.DROP
  end
  return action.PASS
end)
