-- Variables that are closed: in reverse order, after the results are known, whatever leaves the block (manual § 3.3.8).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000
local xdp = require "xdp"
local function closer(name)
  return setmetatable({ name = name }, { __close = function(self, e) print("close", self.name, e) end })
end
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  do
    local a <close> = closer("a" .. n)
    local b <close>, c <const> = closer "b", n
    local d <close> = nil
    local e <close> = false
    print("inside", c, d, e)
  end
  for i = 1, 3 do
    local x <close> = closer(i)
    if i == 2 then break end
    print("turn", i)
  end
  local function result()
    local value = n
    local x <close> = setmetatable({}, { __close = function() value = value + 100 end })
    return value, value + 1
  end
  print(result())
  local function tail() local x <close> = closer "tail" return result() end
  print(tail())
  do
    local i = 0
    ::again::
    local x <close> = closer("goto " .. i)
    i = i + 1
    if i < 2 then goto again end
  end
  print(pcall(function()
    local outer <close> = closer "outer"
    local inner <close> = closer "inner"
    error("failed " .. n, 0)
  end))
  print(pcall(function()
    local outer <close> = closer "outer"
    local bad <close> = setmetatable({}, { __close = function(_, e) error("second after " .. tostring(e), 0) end })
    error("first", 0)
  end))
  print(pcall(function()
    local bad <close> = setmetatable({}, { __close = function(_, e) error("only", 0) end })
    return n
  end))
  while n > 0 do
    local x <close> = closer("while " .. n)
    n = n - 2
    if n == 1 then goto leave end
  end
  ::leave::
  local late <close> = setmetatable({}, { __close = function(_, e) print("late", e ~= nil) end })
  if n == 1 then return 1 end
  error "uncaught"
end)
