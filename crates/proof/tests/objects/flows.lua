-- Functions of flows have the maps and the variables of C objects in common with the others.
local xdp, flow, bpf = require "xdp", require "flow", require "bpf"
local meter = bpf.object "meter.bpf.o"
local hits, config = meter.maps.hits, meter.maps.config
config[2] = 5

local function told(who)
  return function(pkt)
    local key = pkt:getbyte(0) % 2
    config[3] = config[3] + 1
    print(who, meter.count(pkt, key), meter.move({ x = 1 }, 1), hits[key].packets, config[2], config[3])
  end
end

local flows = flow.new { key = "dport", default = told "default" }
for port = 50, 60 do flows:set(port, told(port)) end
xdp.attach(function(pkt)
  meter.count(pkt, 0)
  return flows(pkt)
end)
