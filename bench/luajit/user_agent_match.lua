-- Drops an HTTP request whose User-Agent, found by string.match, is in the list.
local ffi = require "ffi"
local http_payload = require "http"
local DROP, PASS = 1, 2
local match = string.match

local agents = {}
for agent in io.lines((...)) do
  agents[agent] = true
end

return function(p, size)
  local at = http_payload(p, size)
  if not at then
    return PASS
  end
  local agent = match(ffi.string(p + at, size - at), "\n[Uu][Ss][Ee][Rr]%-[Aa][Gg][Ee][Nn][Tt]:[ \t]*(.-)[ \t]*\r?\n")
  return agent and agents[agent] and DROP or PASS
end
