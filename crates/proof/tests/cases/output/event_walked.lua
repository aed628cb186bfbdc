-- Events with tables that are walked at packet time.
-- frames: all tcp:GET\s/ tcp udp tls arp icmp
local xdp = require "xdp"
local function fill(text, t)
  for word in text:gmatch("%a+") do t[word] = (t[word] or 0) + 1 end
  return t
end
local function send(...)
  event(...)
end
xdp.attach(function(pkt)
  local bytes = pkt:getstring(0, math.min(#pkt, 40))
  event("words", fill(bytes, {}), nil, { bytes = bytes, no = nil, yes = true, ["\xff"] = "\0" }, #pkt)
  event(#pkt, { list = fill("b a c b", { z = {} }) })
  print(pcall(send, "list", fill("a", { {} })))
  print(pcall(send, "list", 1, { f = print }))
  print(pcall(send, nil, {}))
  print(pcall(send, {}, {}))
  print(pcall(send, "packet", {}, pkt))
  local cyclic = { n = 1 }
  cyclic.self = cyclic
  print(pcall(send, "cyclic", cyclic))
  local long = { text = ("x"):rep(9000), more = ("y"):rep(9000), zero = 0 }
  event("long", long)
  local many = {}
  for i = 1, 600 do many["key" .. i] = true end
  event("many", many)
end)
