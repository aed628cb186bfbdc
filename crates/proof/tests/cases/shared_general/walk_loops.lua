-- Leaving early by break, goto, return and error; loops within loops and in functions that call themselves; closures.
-- frames: tcp udp icmp tls tcp6 udp6 arp tcp
local xdp = require "xdp"
local seen = map { key = "int", value = "int", capacity = 1000 }
local found, empty = map { key = "int", value = "int" }, map { key = "int", value = "int" }
local few = map { key = "int", value = "int" }
few[1], few[2], few[3] = 10, 20, 30
local function any(t) for _ in pairs(t) do return true end return false end
local function count(t) local n = 0 for _ in pairs(t) do n = n + 1 end return n end
local function depth(n)
  local sum = 0
  for k, v in pairs(few) do
    if n > 0 then sum = sum + depth(n - 1) * k else sum = sum + v end
  end
  return sum
end
local function failing(t)
  for k in pairs(t) do
    for l in pairs(t) do error("at " .. type(k + l), 0) end
  end
end
local function tail(t, n)
  for k in pairs(t) do
    if n > 0 then return tail(t, n - 1) end
  end
  return n
end
local function each(t, f, ...)
  for k, v in pairs(t) do f(k, v, ...) end
  return select("#", ...)
end
xdp.attach(function(pkt)
  local length = #pkt
  seen[length] = (seen[length] or 0) + 1
  print(any(seen), any(empty), count(seen), count(empty), depth(3), tail(seen, 20))
  print(pcall(failing, seen))
  local total = 0
  for a, n in pairs(seen) do
    for b, m in pairs(seen) do
      if a < b then total = total + n * m end
      found[a * 65536 + b] = n + m
      if not pcall(failing, few) then total = total + count(few) end
    end
  end
  print(total, count(found))
  local got
  for key, n in pairs(seen) do
    if key == length then got = n break end
  end
  local list = {}
  each(few, function(k, v, more) list[k] = function() return v + more + length end end, 5, 6)
  print(got, list[1](), list[2](), list[3]())
  for i = 1, 3 do
    local n = 0
    for key in next, seen do
      if key < length then goto continue end
      n = n + i
      ::continue::
    end
    print(i, n)
  end
  local iterator, state, first = pairs(seen)
  print(state == seen, first, type(iterator))
  local again = 0
  for k, v, none in iterator, state do
    if none ~= nil then print "never" end
    again = again + k * v
  end
  local first_of = {}
  for k in pairs { pairs, seen, few } do first_of[k] = true end
  print(again, #first_of)
end)
