-- `collectgarbage` at packet time (manual § 6.2): what it answers, and wrong arguments.
-- frames: tcp udp
local xdp = require "xdp"
local function failed(...) return select(2, pcall(...)) end
xdp.attach(function(pkt)
  print(type(collectgarbage("count")), collectgarbage("count") >= 0, collectgarbage(), collectgarbage("collect"), collectgarbage(nil))
  print(type(collectgarbage("step")), type(collectgarbage("step", 10)), collectgarbage("isrunning"))
  print(collectgarbage("stop"), collectgarbage("isrunning"), collectgarbage("restart"), collectgarbage("isrunning"))
  print(collectgarbage("generational"), collectgarbage("generational"), collectgarbage("incremental"), collectgarbage("incremental"))
  print(collectgarbage("param", "pause"), collectgarbage("param", "stepmul", -1))
  if pkt.udp then return collectgarbage("setpause") + 1 end
  collectgarbage("step", "x")
end)
