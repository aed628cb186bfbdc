-- Which operand of `..` is to blame depends on the left one; a step of 0 comes before a limit that is none; arithmetic of strings has no place in the script.
-- frames: tcp udp arp
local xdp = require "xdp"
local tests = {
  function(pkt) return pkt.tls .. {} end, function(pkt) return pkt.tcp .. pkt.ip end, function(pkt) return pkt.udp .. nil end,
  function(pkt) local t = {} return (pkt.ip and pkt.ip.flow) .. t end, function(pkt) return "a" .. pkt.tcp .. {} end,
  function(pkt) for i = 1, pkt.tcp, 0 do end end, function(pkt) for i = 1, "x", #pkt - #pkt do end end,
  function(pkt) return "10" // (#pkt - #pkt) end, function(pkt) return #pkt % "0" end, function(pkt) return #pkt // 0 end,
}
for i = 1, #tests do
  local test = tests[i]
  xdp.attach(function(pkt)
    if (#pkt + pkt:getbyte(#pkt - 1)) % #tests == i - 1 then print(test(pkt)) end
  end)
end
xdp.attach(function(pkt)
  if pkt.tcp then print(pkt.tls .. {}) elseif pkt.udp then print(1 // ("0")) else print(pkt.tcp .. pkt.ip) end
end)
