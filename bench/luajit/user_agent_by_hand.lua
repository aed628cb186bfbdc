-- Drops an HTTP request whose User-Agent, found by a loop over the bytes, is in the list.
local ffi = require "ffi"
local http_payload = require "http"
local DROP, PASS = 1, 2

local agents = {}
for agent in io.lines((...)) do
  agents[agent] = true
end

-- Whether `User-Agent:` and white space stand at p[0] … p[11]; the caller has seen the U.
local function is_header(p)
  return p[1] == 115 and p[2] == 101 and p[3] == 114 and p[4] == 45 and p[5] == 65 and p[6] == 103
    and p[7] == 101 and p[8] == 110 and p[9] == 116 and p[10] == 58
    and (p[11] == 32 or (p[11] >= 9 and p[11] <= 13))
end

return function(p, size)
  local at = http_payload(p, size)
  if not at then
    return PASS
  end
  for i = at, size - 14 do
    if p[i] == 85 and is_header(p + i) then
      for j = i + 12, size - 2 do
        if p[j] == 13 and p[j + 1] == 10 then
          return agents[ffi.string(p + i + 12, j - i - 12)] and DROP or PASS
        end
      end
      return PASS
    end
  end
  return PASS
end
