-- Wrong arguments of `collectgarbage`: the messages of Lua's own.
-- frames: tcp udp
local xdp = require "xdp"
local collect = collectgarbage
xdp.attach(function(pkt)
  print(pcall(collectgarbage, "x"))
  print(pcall(collectgarbage, true))
  print(pcall(collectgarbage, #pkt))
  print(pcall(collectgarbage, "param"))
  print(pcall(collectgarbage, "param", "paus"))
  print(pcall(collectgarbage, "param", "pause", {}))
  print(pcall(collect, "step", "ten"))
  print(pcall(function() local r = collectgarbage("generation") return r end))
  local option = pkt.udp and "stop" or "isrunning"
  print(collectgarbage(option), collectgarbage("isrunning"))
  collectgarbage(pkt:getstring(42, 1))
end)
