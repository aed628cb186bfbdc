-- What `next`, `pairs` and `ipairs` complain of, by the name and line of whoever called them.
-- frames: udp:a
local xdp = require "xdp"
xdp.attach(function(pkt)
  local five = 5
  print(pcall(function() for k in next, five do end end))
  print(pcall(function() for k in next do end end))
  print(pcall(function() for k in pairs(nil) do end end))
  print(pcall(function() for k in pairs(five) do end end))
  print(pcall(function() for k in pairs() do end end))
  print(pcall(next))
  print(pcall(pairs))
  print(pcall(next, {}, 1))
  print(pcall(function() return next({}, 1) end))
  print(pcall(function() return (next({}, 1)) end))
  print(pcall(function() local t = setmetatable({}, { __pairs = {} }) for k in pairs(t) do end end))
  print(pcall(function() local t = setmetatable({}, { __pairs = function(t) error("inside") end }) for k in pairs(t) do end end))
  print(pcall(function() local f = pairs return f() end))
  print(pcall(function() return next("x") end))
  print(pcall(function() local x = next("x") end))
  print(pcall(function() local x = pairs() end))
  print(pcall(function() local t = setmetatable({}, {__index = function(t, k) return pairs() end}) local x = t.y end))
  print(select('#', pairs(setmetatable({}, { __pairs = function(t) return 1 end }))))
  print(select('#', pairs(setmetatable({}, { __pairs = function(t) return 1, 2, 3, 4, 5 end }))))
  print(pcall(ipairs))
  print(pcall(function() for i in ipairs(nil) do end end))
  return 2
end)
