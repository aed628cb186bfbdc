-- Functions of flows by protocol and ports: variables in common with the default and with the next handler, and some that functions alone have.
-- frames: udp tcp arp udp6 tcp6 icmp udp/30 udp*3 tcp/60 dns tls udp-options fragment later-fragment vlan-tcp udp6-extensions
local xdp = require "xdp"
local flow = require "flow"

total = 0
local seen = map{key = "int", value = "int"}

local flows = flow.new{key = {"proto", "dport"}, capacity = 100, default = function(pkt, arg)
  total = total + 1
  print("default", #pkt, pkt.ip and pkt.ip.src, pkt.udp and pkt.udp.dport, total)
  seen[#pkt] = (seen[#pkt] or 0) + 1
end}

local own, last = 5, nil
local functions = {
  function(pkt)
    total = total + 100
    print("first", pkt.ip.src, pkt.ip.ttl, pkt.ip.proto, #pkt.payload)
    seen[1] = (seen[1] or 0) + 1
    return 1
  end,
  function(pkt, arg)
    print("second", pkt.udp and pkt.udp.dport, pkt.tcp and pkt.tcp.dport, pkt.tcp and pkt.tcp.flags, #pkt, total)
    for key in pairs(seen) do total = total + key end
    own = own + 1
    print(own, last)
    last = pkt.ip.ttl
  end,
  function(pkt)
    local n = pkt.udp and pkt.udp.dport or pkt.tcp and pkt.tcp.dport
    seen[2] = n
    error("no " .. tostring(n))
  end,
  function(pkt)
    local text = pkt.payload
    print(text:sub(1, 4), pkt.eth.src, pkt.ip.dst)
    return #text > 5 and 1 or 12345
  end,
}

-- The frames' ports, and some others.
for number, port in ipairs{53, 80, 443, 8080, 4789, 6080, 1234, 5353} do
  flows:set({proto = "udp", dport = port}, functions[number % 4 + 1])
  flows:set({proto = 6, dport = port}, functions[(number + 1) % 4 + 1])
end

xdp.attach(flows)
xdp.attach(function(pkt)
  print("next", total)
end)
