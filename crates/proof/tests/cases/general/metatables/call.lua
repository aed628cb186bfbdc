-- __call: values that are called like functions, chains of them, in every place that calls (manual § 2.4).
-- frames: hex:0203000000000000000000000000 hex:fe00000000000000000000000000
local xdp = require "xdp"
local adder = setmetatable({ by = 10 }, { __call = function(self, a, ...) return self.by + (a or 0), ... end })
local outer = setmetatable({}, { __call = adder })
xdp.attach(function(pkt)
  local n, m = pkt:getint8(0), pkt:getuint8(1)
  print(adder(), adder(n), adder(n, m, nil), (adder(n, m)))
  local mine = setmetatable({ by = n }, getmetatable(adder))
  print(mine(m), pcall(mine, m, "more"), select("#", mine(1, nil, nil)))
  local object = { call = mine, by = 3 }
  print(object.call(m))
  print(pcall(function() return object:call(1) end))
  print(pcall(outer, m))
  for i, v in setmetatable({ n = 0 }, { __call = function(self, limit, i)
    if i < limit then return i + 1, i * n end
  end }), 3, 0 do print(i, v) end
  print(("abc"):gsub("%w", setmetatable({}, { __index = function(_, k) return k .. n end })))
  local function tail(...) return mine(...) end
  print(tail(m, "x"))
  print(pcall(setmetatable({}, { __call = n }), 1))
  print(pcall(setmetatable({}, {}), 1))
end)
