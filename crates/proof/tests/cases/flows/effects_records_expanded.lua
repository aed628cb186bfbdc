-- Entries that a flow's function assigns, makes and removes, looked up before and after it, in expanded code.
-- frames: udp tcp arp icmp udp6 tcp6 udp*3 dns tls
local xdp = require "xdp"
local flow = require "flow"

local records = map{key = "int", value = {n = "int", m = "int"}, capacity = 1000}
local flows = flow.new{capacity = 100, key = {"proto"}}
for _, proto in ipairs{"udp", "tcp", "icmp"} do
  flows:set({proto = proto}, function(pkt)
    records[1] = {n = (records[1] and records[1].n or 0) + 10, m = #pkt}
    if records[2] then records[2].n = records[2].n + 100 end
    records[3] = nil
  end)
end

xdp.attach(function(pkt)
  records[2] = {n = 1, m = 2}
  records[3] = {n = 3, m = 3}
  local before = records[2].n
  local verdict = flows(pkt)
  local record = records[2]
  print(before, record.n, record.m, records[1] and records[1].n, records[3] and records[3].n)
  record.m = record.n + before
  print(record.m)
  return verdict
end)
