-- Drops GET and POST requests to a documentation host by an agent that says it runs on Linux or Android.
local xdp = require "xdp"
local action = require "linux.xdp"

local payload = 66

xdp.attach(function(pkt)
  local text = pkt:getstring(payload)
  if not (text:find("GET ", 1, true) or text:find("POST ", 1, true)) then
    return action.PASS
  end
  local host = text:match("Host: ([%w%.%-]+)")
  local agent = text:match("User%-Agent:%s(.-)\r\n")
  local system = agent and agent:match("%b()")
  if host and system and (system:find("Android", 1, true) or system:find("Linux", 1, true)) then
    return action.DROP
  end
  return action.PASS
end)
