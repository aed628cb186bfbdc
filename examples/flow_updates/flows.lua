-- Functions of flows that come in packets: libmoon's experiment, with signatures.
--
--   moonhook update-key operator.key        (in this folder; keep operator.key for yourself)
--   moonhook run eth0 flows.lua --name flows
--   moonhook send-update HOST --key operator.key 10.0.0.1,10.0.0.2,udp,5000,7000 count.lua
--
-- drop_byte.lua, rewrite.lua and count.lua are functions to send. Packets of flows that nobody has sent one for pass.
local xdp = require "xdp"
local flow = require "flow"
local updates = require "updates"

counts = map{key = "int", value = "int", capacity = 65536}    -- packets by port, as count.lua counts them

flows = flow.new{key = "5tuple", capacity = 100000, idle = 600}
xdp.attach(flows)
updates.listen{port = 9, keys = {"operator.key.pub"}, hook = xdp}
