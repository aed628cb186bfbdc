-- Drops an HTTP request whose User-Agent, found by a loop over the bytes, is in the list.
local ffi = require "ffi"
local http_payload = require "http"
local DROP, PASS = 1, 2

local agents = {}
for agent in io.lines((...)) do
  agents[agent] = true
end

local bit = require "bit"
local bor = bit.bor

-- Whether a line feed and `User-Agent:`, in any case, stand at p[0] … p[11]; the caller has seen the line feed.
local function is_header(p)
  return bor(p[1], 32) == 117 and bor(p[2], 32) == 115 and bor(p[3], 32) == 101 and bor(p[4], 32) == 114 and p[5] == 45
    and bor(p[6], 32) == 97 and bor(p[7], 32) == 103 and bor(p[8], 32) == 101 and bor(p[9], 32) == 110
    and bor(p[10], 32) == 116 and p[11] == 58
end

local function is_blank(byte)
  return byte == 32 or byte == 9
end

return function(p, size)
  local at = http_payload(p, size)
  if not at then
    return PASS
  end
  for i = at, size - 13 do
    if p[i] == 10 and is_header(p + i) then
      local first = i + 12
      while first < size and is_blank(p[first]) do
        first = first + 1
      end
      for j = first, size - 1 do
        if p[j] == 10 then
          local last = j
          if last > first and p[last - 1] == 13 then
            last = last - 1
          end
          while last > first and is_blank(p[last - 1]) do
            last = last - 1
          end
          return agents[ffi.string(p + first, last - first)] and DROP or PASS
        end
      end
      return PASS
    end
  end
  return PASS
end
