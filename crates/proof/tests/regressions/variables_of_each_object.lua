-- Each call of a function that makes closures has variables of its own, whichever of its closures packets run.
-- frames: tcp udp short
local xdp = require "xdp"
local function make(kind)
  local n, f, list = 0, function() return "old" end, { 1 }
  local other = { 2, 3 }
  local o = {
    add = function() n = n + 1 end,
    protected = function() pcall(function() n = n + 10 end) end,
    sorted = function(t) table.sort(t, function(a, b) n = n + 100 return a < b end) end,
    change = function(g) f, list = g, other end,
  }
  if kind == 1 then
    o.get = function() return n end
    o.call = function() return f(), #list end
  else
    o.get = function() return n + kind end
    o.call = function() return f(), -#list end
  end
  return o
end
local a, b, c = make(1), make(2), make(3)
local function new() return "new" end
xdp.attach(function(pkt)
  for _, o in ipairs { a, b, c } do o.add() o.protected() o.sorted { 2, 1 } end
  print(a.get(), b.get(), c.get())
  print(a.call(), b.call(), c.call())
  for _, o in ipairs { a, b, c } do o.change(new) end
  print(a.call(), b.call(), c.call())
  return a.get() > 111 and 1 or 2
end)
