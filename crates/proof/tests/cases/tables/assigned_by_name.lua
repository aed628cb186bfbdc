-- Fields of headers that are assigned by names out of tables of load time, and names that a coroutine is resumed with.
-- frames: udp tcp
local xdp = require "xdp"
local config, names = { field = "ttl", value = 9 }, { "tos" }
xdp.attach(function(pkt)
  local ip = pkt.ip
  ip[config.field] = config.value
  for _, name in ipairs(names) do ip[name] = 4 end
  print(pkt:getuint8(22), pkt:getuint8(15))
  local found = coroutine.create(function(name) coroutine.yield(pkt[name] ~= nil) end)
  print(coroutine.resume(found, (#pkt > 0 and "u" or "x") .. "dp"))
end)
