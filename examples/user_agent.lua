-- Drops HTTP requests to port 80 of the user agents listed in agents.txt (one a line).
--
-- The header's name is compared without regard to case, wherever its line begins, and blanks around the agent do not count.
-- What it cannot see passes: a request whose header lies beyond the first segment or is split over two, a second
-- request's header in one segment if the first has an agent that is not listed, other ports than 80, and HTTP/2.
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
  local agent = pkt.payload:match "\n[Uu][Ss][Ee][Rr]%-[Aa][Gg][Ee][Nn][Tt]:[ \t]*(.-)[ \t]*\r?\n"
  if agent and blocked[agent] then
    return action.DROP
  end
  return action.PASS
end)
