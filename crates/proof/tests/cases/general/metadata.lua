-- What the kernel keeps beside a packet, in general code: errors that are caught, names that are computed, tables with such fields.
-- frames: udp tcp arp udp6 arp/15
local xdp = require "xdp"

local rule = { mark = 5, priority = "high", queue = {} }

local function assign(pkt, name, value)
  print(name, pcall(function() pkt[name] = value end))
end

xdp.attach(function(pkt)
  for _, name in ipairs { "ifindex", "mark", "priority", "queue", "rxhash", "timestamp", "hwtimestamp" } do
    print(name, pkt[name], rule[name] == nil, math.type(pkt[name]))
  end
  print(pcall(function() pkt.mark = rule.mark end))
  print(pcall(function() pkt.mark = rule.priority end))
  print(pcall(function() pkt.priority = #pkt end))
  print(pcall(function() pkt.queue = 1 end))
  print(pcall(function() pkt.ifindex = 1 end))
  print(pcall(function() pkt.rxhash = 1 end))
  print(pcall(function() pkt.timestamp = math.maxinteger end), pkt.timestamp)
  print(pcall(function() pkt.timestamp = math.mininteger end))
  print(pcall(function() pkt.hwtimestamp = 1 end), pkt.hwtimestamp)
  print(pcall(function() pkt.mark = -1 end))
  print(pcall(function() pkt.mark = 1 << 40 end))
  print(pkt.mark, pkt.priority, pkt.queue)
  rule.mark = 6
  print(rule.mark, type(rule.queue))
end)
