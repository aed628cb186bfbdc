-- Functions of a table that no handler calls are made for the script's own hook, which may have other verdicts for errors than XDP.
-- frames: udp tcp
local socket = require "socket"
local flow = require "flow"

local flows = flow.new{key = "proto"}
flows:set(6, function(pkt) return 1 end)
socket.filter(function(pkt)
  print(#pkt)
  return pkt.tcp and 0 or 20
end)
