-- Drops a TLS ClientHello that asks for a name of names.txt (one name a line). User space can add and remove names meanwhile.
local xdp = require "xdp"
local action = require "linux.xdp"

local blocked = map{key = "string:64", value = "boolean"}
for name in io.lines "names.txt" do
  blocked[name] = true
end

xdp.attach(function(pkt)
  local tcp = pkt.tcp
  if not tcp or tcp.dport ~= 443 then
    return action.PASS
  end
  local tls = pkt.tls
  if tls and tls.sni and blocked[tls.sni] then
    return action.DROP
  end
  return action.PASS
end)
