-- What a handler holds of an entry that it replaces or deletes is an ordinary table from then on, with the fields that the entry had.
-- frames: all tcp udp tcp
local xdp = require "xdp"
local t = map { key = "int", value = { a = "int", b = "boolean", s = "string:16", src = "ip", sub = { x = "int", deep = { y = "string:8" } } } }
local function try(f, ...) return (select(2, pcall(f, ...))) end
local function show(name, r)
  local sub = r.sub
  print(name, r.a, r.b, r.s, r.src, sub and sub.x, sub and sub.deep and sub.deep.y, type(r.other))
end
local function new(n, s) return { a = n, b = n % 2 == 0, s = s, sub = { x = -n, deep = { y = s } } } end
local turns = 0
xdp.attach(function(pkt)
  turns = turns + 1
  t[1] = new(turns, "one")
  local made = t[1]
  local r, sub = t[1], t[1].sub
  r.a = r.a + 1
  r.src = pkt.ip and pkt.ip.src
  -- Replaced: the old one and what is in it stay what they were.
  t[1] = new(100, "two")
  show("old", r) show("new", t[1])
  print(r == made, r == t[1], sub == r.sub, sub.deep == r.sub.deep, sub == t[1].sub)
  -- They are ordinary tables, which take what the map does not.
  r.a, r.other, r[1], sub.x = "text", { 7 }, 1, nil
  show("changed", r) show("new", t[1])
  print(r.other[1], #r, rawlen(r), rawget(r, "a"), getmetatable(setmetatable(r, { __index = { z = 3 } })) ~= nil, r.z)
  local names = {}
  for k in pairs(sub) do names[#names + 1] = k end
  print(#names, names[1])
  -- Deleted.
  local second = t[1]
  second.b = nil
  t[1] = nil
  show("deleted", second) print(t[1])
  second.a = second.a + 1
  show("deleted", second) print(t[1])
  -- It can be assigned again, and is the entry then.
  second.other = nil
  t[2] = second
  t[2].a = 5
  show("again", second) print(t[2] == second)
  -- A record in it.
  local inner, deep = t[2].sub, t[2].sub.deep
  t[2].sub = { x = 9 }
  print(inner.x, inner.deep.y, deep == inner.deep, t[2].sub.x, t[2].sub.deep, inner == t[2].sub)
  inner.x = inner.x + 1
  print(inner.x, t[2].sub.x)
  local nine = t[2].sub
  t[2].sub = nil
  nine.x = nine.x + 1
  print(nine.x, t[2].sub)
  -- Only a record in it is held when the whole is replaced.
  t[3] = new(3, "three")
  local held = t[3].sub.deep
  t[3] = nil
  print(held.y)
  -- What is assigned to itself is not replaced, nor where the assignment fails.
  t[4] = new(4, "four")
  local four = t[4]
  t[4] = t[4] or new(5, "five")
  four.a = four.a + 1
  print(t[4].a, try(function() t[4] = { a = "no integer" } end), try(function() t[4] = 7 end))
  four.a = four.a + 1
  print(t[4].a, t[4] == four)
  t[4] = { a = 1 }
  four.a = four.a + 1
  print(t[4].a, four.a)
  -- Many times in one handler.
  local last = t[4]
  for i = 1, 20 do
    local before = t[4]
    t[4] = { a = i, s = last.s }
    last = before
  end
  print(last.a, t[4].a)
end)
