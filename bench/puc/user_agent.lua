-- Drops an HTTP request whose User-Agent is in the list.
local DROP <const>, PASS <const> = 1, 2
local HTTP <const> = 0x5000 -- port 80 as a little-endian read sees it
local match <const> = string.match

local agents = {}
for agent in io.lines((...)) do
  agents[agent] = true
end

return function(pkt)
  if pkt:getuint16(12) ~= 0x0008 or pkt:getuint8(23) ~= 6 then
    return PASS
  end
  local at = 14 + (pkt:getuint8(14) & 15) * 4
  if pkt:getuint16(at + 2) ~= HTTP then
    return PASS
  end
  at = at + (pkt:getuint8(at + 12) >> 4) * 4
  local agent = match(pkt:getstring(at), "\n[Uu][Ss][Ee][Rr]%-[Aa][Gg][Ee][Nn][Tt]:[ \t]*(.-)[ \t]*\r?\n")
  return agent and agents[agent] and DROP or PASS
end
