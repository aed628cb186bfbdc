-- Random operations on tables of the simulator and on real ones. Rounds start with new tables; each has a seed of its own.

local operations, seed = ...
local done = 0
local round = seed * 1000003

local tables, mixed, growing

local function key()
  local kind = math.random(100)
  if kind <= 40 then return math.random(mixed and 40 or 12) end
  if kind <= 48 then return math.random(-3, 3) end
  if kind <= 52 then return math.random(1, 12) + 0.0 end
  if kind <= 54 then return ({ 0.5, -0.0, 1e300, 2.0 ^ 53, -2.0 ^ 63, 2.0 ^ 63, math.huge })[math.random(7)] end
  if kind <= 57 then return math.random(2) == 1 end
  if kind <= 61 then return tables[math.random(#tables)] end
  if kind <= 63 then return 1 << math.random(0, 63) end
  if kind <= 82 then return ("k" .. math.random(mixed and 60 or 6)) end
  return ("a longer key, of several words " .. math.random(6)):sub(1, math.random(30, 40))
end

local function value()
  local kind = math.random(6)
  if kind == 1 then return tables[math.random(#tables)] end
  if kind == 2 then return "text " .. math.random(100) end
  if kind == 3 then return math.random(2) == 1 end
  return math.random(1000)
end

local function same(a, b)
  return rawequal(a, b) and math.type(a) == math.type(b)
end

local function check(condition, ...)
  if not condition then
    local texts = table.pack(...)
    for i = 1, texts.n do texts[i] = tostring(texts[i]) end
    error(table.concat(texts, " ") .. " (round with seed " .. round .. ")", 2)
  end
end

-- All fields by traversal, once each.
local function walk(t)
  local seen, count = {}, 0
  local ok, k, v = sim.call("base_next", t)
  while k ~= nil do
    check(ok, "next fails:", k)
    check(seen[k] == nil, "next gives twice", k)
    check(same(t[k], v), "next gives", v, "for", k, "which is", t[k])
    seen[k] = true
    count = count + 1
    ok, k, v = sim.call("base_next", t, k)
  end
  for k in next, t do check(seen[k], "next leaves out", k) end
end

-- The number of values, if the positive integer keys are those from 1 on.
local function sequence(t)
  local count, largest = 0, 0
  for k in next, t do
    if math.type(k) == "integer" and k > 0 then
      count = count + 1
      largest = math.max(largest, k)
    end
  end
  return count == largest and count or nil
end

local function check_length(t)
  local _, length = sim.call("base_rawlen", t)
  local count = sequence(t)
  if count then
    check(length == count, "length", length, "instead of", count)
  else
    check((length == 0 or t[length] ~= nil) and t[length + 1] == nil, "length", length, "is no border")
  end
end

-- Clears fields, or assigns others to them, while a traversal goes on.
local function walk_and_change(t)
  local share = math.random(0, 4)
  local left = {}
  for k in next, t do left[k] = true end
  local ok, k, v = sim.call("base_next", t)
  while k ~= nil do
    check(left[k] and same(t[k], v), "next gives", k, v)
    left[k] = nil
    if math.random(4) <= share then
      t[k] = nil
    elseif math.random(4) == 1 then
      t[k] = math.random(100)
    end
    check(sim.set(t, k, t[k]) == nil)
    ok, k, v = sim.call("base_next", t, k)
    check(ok, "next fails in a traversal:", k)
  end
  check(next(left) == nil, "the traversal leaves out", next(left))
end

local function assign(t, k, v)
  local message = sim.set(t, k, v)
  local ok, expected = pcall(rawset, t, k, v)
  check(ok == (message == nil), "assignment to", k, ":", message, expected)
  check(ok or message == expected, message, "instead of", expected)
end

local function append(t)
  local count = sequence(t)
  if count then
    for i = count + 1, count + math.random(6) do
      assign(t, i, value())
    end
  end
end

local steps = {
  function(t) assign(t, key(), value()) end,
  function(t) assign(t, key(), growing and value() or nil) end,
  function(t)
    local k = key()
    local found = sim.get(t, k)
    check(same(found, t[k]), "field", k, "is", found, "instead of", t[k])
  end,
  function(t) append(t) end,
  function(t)
    -- From the end down, as a list is emptied.
    local count = sequence(t)
    if count and count > 0 then
      for i = count, math.max(count - math.random(6), 1), -1 do assign(t, i, nil) end
    end
  end,
  check_length,
}

while done < operations do
  round = round + 1
  math.randomseed(round)
  sim.reset()
  mixed, growing = math.random(2) == 1, math.random(3) > 1
  tables = {}
  for i = 1, math.random(3) do
    local hint = math.random(4) == 1
    tables[i] = sim.new({}, hint and math.random(0, 9) or 0, hint and math.random(0, 20) or 0)
  end
  local length = math.random(40, 400)
  for i = 1, length do
    local t = tables[math.random(#tables)]
    local kind = math.random(30)
    if kind == 1 then
      walk(t)
    elseif kind == 2 and i % 3 == 0 then
      walk_and_change(t)
    else
      steps[kind <= 13 and 1 or kind <= 16 and 2 or kind <= 25 and 3 or kind <= 27 and 4 or kind == 28 and 5 or 6](t)
    end
  end
  for _, t in ipairs(tables) do
    walk(t)
    check_length(t)
  end
  assign(tables[1], nil, 1)
  assign(tables[1], nil, nil)
  assign(tables[1], 0 / 0, 1)
  done = done + length
end

-- A key that was a field on its own before it came into the array: a traversal that clears the array goes on with the first field.
sim.reset()
local t = sim.new({}, 0, 0)
for _, field in ipairs({ { "x", 1 }, { 4, 1 }, { 4, nil }, { "y", 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 1 } }) do
  assign(t, field[1], field[2])
end
for i = 1, 4 do
  local ok, k = sim.call("base_next", t, i > 1 and i - 1 or nil)
  check(ok and k == i, "next gives", k, "instead of", i)
  assign(t, i, nil)
end
local _, first = sim.call("base_next", t, 4)
check(first == "x", "next gives", first, "instead of x")

-- A table that changes all the time without growing takes no more and more memory.
sim.reset()
t = sim.new({}, 0, 0)
for i = 1, 20 do assign(t, "key " .. i, i) end
local before = sim.memory()
for i = 21, 2000 do
  assign(t, "key " .. i, i)
  assign(t, "key " .. i - 20, nil)
end
-- The texts of the keys take 16 bytes for each use.
check(sim.memory() - before < 2000 * 4 * 16, "memory grows by", sim.memory() - before)
walk(t)

local ok, message = sim.call("base_next", t, "no key")
check(not ok and message == "invalid key to 'next'", message)

sim.freeze(true)
message = sim.set(t, "key 2000", 1)
check(message == "a table of load time cannot be changed at packet time", message)
