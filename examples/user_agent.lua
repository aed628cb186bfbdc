-- Drops HTTP requests to port 80 of the user agents listed in agents.txt (one a line).
local xdp = require "xdp"
local action = require "linux.xdp"

local blocked = {}
for agent in io.lines "agents.txt" do
  if agent ~= "" then
    blocked[agent] = true
  end
end

xdp.attach(function(pkt)
  local tcp = pkt.tcp
  if not tcp or tcp.dport ~= 80 then
    return action.PASS
  end
  local agent = pkt.payload:match "User%-Agent:%s(.-)\r\n"
  if agent and blocked[agent] then
    return action.DROP
  end
  return action.PASS
end)
