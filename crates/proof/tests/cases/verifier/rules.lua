-- Rules with functions: each turn of a loop calls another function, which looks at headers and texts.
-- frames: all
local xdp = require "xdp"
local rules = {
  { name = "lan", test = function(p) return p.ip and p.ip.src:find("^192%.168%.") end },
  { name = "ten", test = function(p) return p.ip and p.ip.src:find("^10%.") end },
  { name = "dns", test = function(p) return p.udp and p.udp.dport == 53 end },
  { name = "web", test = function(p) return p.tcp and (p.tcp.dport == 80 or p.tcp.dport == 443) end },
  { name = "multicast", test = function(p) return p.ip and p.ip.dst:find("^22[4-9]%.") or p.ip and p.ip.dst:find("^23%d%.") end },
}
xdp.attach(function(pkt)
  for _, rule in ipairs(rules) do
    if rule.test(pkt) then print(rule.name) end
  end
end)
