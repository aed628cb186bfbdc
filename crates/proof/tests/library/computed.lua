-- Handlers that compute names of fields, so that all methods of packets, and of the argument, can be meant.
local xdp = require "xdp"
local action = require "linux.xdp"

local function get(object, key)
  return object[key]
end

xdp.attach(function(pkt, arg)
  local name = "get" .. (#arg == 0 and "byte" or "uint8")
  if get(pkt, name)(pkt, 20) == 99 then return action.DROP end
end)
