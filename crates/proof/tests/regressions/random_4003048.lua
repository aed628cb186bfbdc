-- Random program 4003048, made small: expanded code: output.
-- frames: hex:0000000000000000000000000000
do local tc = require 'tc' package.loaded.xdp = { attach = tc.ingress, detach = tc.detach } package.loaded['linux.xdp'] = { ABORTED = 2, DROP = 2, PASS = -1, TX = 0, REDIRECT = 2 } end local xdp, tc = require "xdp", require "tc"
local addresses, stations = require "ip", require "mac"
xdp.attach(function(pkt)
  local n = #pkt
  print((stations.parse(addresses.prefix(addresses.parse("") or "2001:db8:1:2:3:4:5:6", n)) or "none"))
end)
