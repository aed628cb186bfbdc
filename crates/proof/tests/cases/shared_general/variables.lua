-- Sums that are assigned to the variable they were read from, with and without other assignments in between.
-- frames: tcp udp tcp udp6 syn tcp
local xdp = require "xdp"
local n, text, none, flag = 5, "7", nil, true
total = 0
local function counter()
  local n = 0
  return function(by) n = n + by return n end
end
local here, there = counter(), counter()
local function bump(by)
  n = n + by
  total = total + by
  return by
end
local object = setmetatable({}, { __add = function(a, b) n = n * 2 return 3 end })
xdp.attach(function(pkt)
  pcall(type, pkt)
  n = n + 1
  n = n + bump(10)
  n = bump(100) + n
  total = total + bump(1000) + #pkt
  total = bump(1) + (total - 3)
  print(n, total)
  local old = n
  n = 7
  n = old + 1
  n = n + n
  n = n - (object + n)
  print(n, total, here(1), there(#pkt), here(2))
  none = (none or 0) + 1
  text = text + 1
  flag = not flag and 1 or flag
  for i = 1, 3 do n = n + i if i == 2 then n = 0 end end
  print(n, none, text, pcall(function() flag = flag + 1 end))
  local own = 0
  local function add(by) own = own + by return own end
  own = own + add(2)
  own = add(3) + own
  print(own, pcall(function() none = none + {} end))
  print(none)
end)
