-- frames: tcp udp
-- Deep chains of calls with many values that live across them: through functions, pcall, comparators, gsub and metamethods.
local xdp = require "xdp"

local function step(depth, ...)
  local a, b, c, d, e, f, g, h = depth, depth + 1, depth + 2, depth + 3, depth + 4, depth + 5, depth + 6, depth + 7
  if depth == 0 then return select("#", ...), ... end
  local r, s = step(depth - 1, a, ...)
  return r + a + b + c + d + e + f + g + h, s
end

local function caught(depth)
  if depth == 0 then error("bottom", 0) end
  local kept = "k" .. depth
  local ok, problem = pcall(caught, depth - 1)
  return tostring(ok) .. kept .. tostring(problem)
end

local function digits(n)
  return (("%03d"):format(n):gsub("%d", function(d)
    return (d:rep(2):gsub(d, function(x) return "<" .. x .. ">" end))
  end))
end

local Deep = {}
Deep.__index = setmetatable({}, { __index = function(t, k) return digits(#k) end })
Deep.__lt = function(a, b) return digits(a.n) < digits(b.n) end
Deep.__le = function(a, b) return not (b < a) end
Deep.__eq = function(a, b) return digits(a.n) == digits(b.n) end
Deep.__concat = function(a, b) return digits(a.n) .. digits(b.n) end
Deep.__call = function(self, ...) return step(self.n, ...) end
Deep.__len = function(self) return self.n end

xdp.attach(function(pkt)
  print(step(40, #pkt, pkt:getbyte(0)))
  print(pcall(caught, 12))
  local t = {}
  for i = 1, 12 do t[i] = i * 7 % 13 end
  table.sort(t, function(a, b) return digits(a) > digits(b) end)
  print(table.concat(t, ","))
  local a, b = setmetatable({ n = 3 }, Deep), setmetatable({ n = #pkt % 5 }, Deep)
  print(a < b, a <= b, a == b, a .. b, #a, a("x", "y"), a.missing)
end)
