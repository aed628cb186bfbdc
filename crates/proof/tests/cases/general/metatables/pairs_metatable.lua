-- __pairs, __metatable, getmetatable, setmetatable; ipairs respects __index (manual § 6.2).
-- frames: hex:0203000000000000000000000000 hex:0400000000000000000000000000
local xdp = require "xdp"
local function step(limit, i) if i < limit then return i + 1, i * i end end
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  local t = setmetatable({ 9, 9, 9 }, { __pairs = function(t) return step, n, 0, nil, "ignored" end })
  for k, v in pairs(t) do print(k, v) end
  print(select("#", pairs(t)), (select(2, pairs(t))))
  local view = setmetatable({}, { __index = function(_, i) if i <= n then return i * 10 end end })
  for i, v in ipairs(view) do print(i, v) end
  print(getmetatable("x"), getmetatable(n), getmetatable(nil), getmetatable(view) ~= nil)
  local locked = setmetatable({}, { __metatable = n })
  print(getmetatable(locked), pcall(setmetatable, locked, {}))
  local free = {}
  print(setmetatable(free, nil) == free, setmetatable(free, {}) == free, getmetatable(setmetatable(free, nil)))
  print(pcall(setmetatable, n, {}))
  print(pcall(setmetatable, {}, n))
  print(pcall(setmetatable, {}))
  print((pcall(pairs, n)))
  print(pcall(ipairs))
  print(pcall(next, n))
end)
