-- Values of several types in one table; keys of several types; nested tables; strings that look like numbers.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 hex:0504030201000000000000000000
local xdp = require "xdp"
local values = { 1, true, "three", false, 5, [0] = "zero", ["1"] = "one as text", tcp = 6, udp = "seventeen" }
local nested = { { a = 1, b = "x" }, { a = 2, b = "y" }, { a = 3 } }
local functions = { function(x) return x + 1 end, function(x) return x * 2 end }
local rules = { tcp = { [443] = "drop", [80] = "pass" }, udp = { [53] = "drop" } }
xdp.attach(function(pkt)
  local k = pkt:getuint8(0)
  local v = values[k]
  print(k, v, type(v), v == true, v == "three", v == 5, v and "true" or "false")
  print(values[tostring(k)], values["" .. k], values.tcp, values["udp"], values.nothing)
  local row = nested[k]
  if row then print(row.a, row.b, row.c) end
  print(nested[2].b, nested[1].a + k, functions[1](k), functions[2](k))
  local protocol = pkt.tcp and "tcp" or pkt.udp and "udp"
  local rule = protocol and rules[protocol]
  if rule then
    local port = (pkt.tcp or pkt.udp).dport
    print(protocol, port, rule[port])
  end
  print(values[pkt:getuint8(1)] == values[pkt:getuint8(2)])
end)
