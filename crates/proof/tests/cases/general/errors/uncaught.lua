-- Errors that end the handler: the position is that of the failing line, in whichever function; values that are no strings.
-- frames: hex:0000000000000000000000000000 hex:0100000000000000000000000000 hex:0200000000000000000000000000
-- frames: hex:0300000000000000000000000000 hex:0400000000000000000000000000 hex:0500000000000000000000000000
-- frames: hex:0600000000000000000000000000 hex:0700000000000000000000000000 hex:0800000000000000000000000000
-- frames: hex:0900000000000000000000000000 hex:0a00000000000000000000000000 hex:0b00000000000000000000000000
-- frames: hex:0c00000000000000000000000000 hex:0d00000000000000000000000000 hex:0e00000000000000000000000000
local xdp = require "xdp"
local function fail(level) error("failed", level) end
local function deep(n) if n == 0 then local t; return t.x end return (deep(n - 1)) end
local cases = {
  [0] = function() fail(1) end,
  function() fail(2) end,
  function() fail(3) end,
  function() fail(0) end,
  function() error({ code = 1 }) end,
  function() error(setmetatable({}, { __tostring = function() return "as text" end })) end,
  function() error(setmetatable({}, { __name = "my error" })) end,
  function() error(print) end,
  function() deep(5) end,
  function() table.sort({ 3, 2, 1 }, function(a, b) return a.x < b end) end,
  function() ("abc"):gsub("b", function(c) return c + {} end) end,
  function() for i in function() error("in iterator") end do end end,
  function() return setmetatable({}, { __index = function(t, k) error("in __index " .. k) end }).key end,
  function() error(error) end,
  function() pcall(error, "caught") error("after") end,
}
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  print(n, "before")
  cases[n](n)
  print "not reached"
end)
