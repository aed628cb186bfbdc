-- A map that handlers only read.
local xdp = require "xdp"
local routes = map { key = "ipv4", value = "int", capacity = 10, lpm = true }

xdp.attach(function(pkt)
  for prefix, hop in pairs(routes) do print(prefix, hop) end
end)
