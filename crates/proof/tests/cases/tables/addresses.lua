-- Tables by address.
-- frames: all
local xdp = require "xdp"
local few = { ["192.0.2.7"] = "a", ["2001:db8::1"] = "b" }
local many = {}
for i = 0, 255 do many["192.0.2." .. i] = i many["2001:db8::" .. ("%x"):format(i)] = -i end
local macs = { ["52:54:00:12:34:56"] = "to", ["02:00:00:00:00:0a"] = "from" }
xdp.attach(function(pkt)
  print(macs[pkt.eth.src], macs[pkt.eth.dst])
  local ip = pkt.ip
  if not ip then return 1 end
  print(few[ip.src], few[ip.dst], many[ip.src], many[ip.dst])
end)
