local xdp = require "xdp"
local flows = map { key = { src = "ip", port = "int" }, value = "int" }
xdp.attach(function(pkt)
  local key = { src = pkt.ip.src, port = pkt.tcp.dport }
  pcall(type, pkt)
  flows[key] = (flows[key] or 0) + 1
end)
