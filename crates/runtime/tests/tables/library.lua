-- Random calls of the table library and of the raw functions, against those of real Lua: results, messages, what is in the tables.

local operations, seed = ...
local round = seed * 1000003

local function check(condition, ...)
  if not condition then
    local texts = table.pack(...)
    for i = 1, texts.n do texts[i] = tostring(texts[i]) end
    error(table.concat(texts, " ") .. " (round with seed " .. round .. ")", 2)
  end
end

local function show(list)
  local texts = {}
  for i = 1, list.n do texts[i] = type(list[i]) == "string" and ("%q"):format(list[i]) or tostring(list[i]) end
  return "(" .. table.concat(texts, ", ") .. ")"
end

local function same(a, b)
  if type(a) == "table" and type(b) == "table" then return true end
  return rawequal(a, b) and math.type(a) == math.type(b)
end

local function without_name(message)
  return (message:gsub(" to '[^']*'", ""))
end

-- Both sides have the same fields.
local function check_fields(t, what)
  local count = 0
  local ok, k, v = sim.call("base_next", t)
  while k ~= nil do
    check(rawequal(t[k], v), what, "field", k, "is", v, "instead of", t[k])
    count = count + 1
    ok, k, v = sim.call("base_next", t, k)
  end
  for k in next, t do count = count - 1 end
  check(count == 0, what, "leaves", count, "fields too many")
end

local function new(values, extra)
  local t = sim.new({}, math.random(0, 8), math.random(0, 2))
  for i = 1, #values do
    t[i] = values[i]
    sim.set(t, i, values[i])
  end
  for i = 1, extra or 0 do
    local key = ({ -1, 0, "x", true, 1 << 40 })[math.random(5)]
    t[key] = i
    sim.set(t, key, i)
  end
  return t
end

local texts = { "", "a", "ab", "b", "a\0b", "12345678", "123456789", "12345678\0", "\xff", "a\xff", "longer than a word or two" }

local function values(count, kind)
  local list = {}
  for i = 1, count do
    kind = kind == "mixed" and ({ "integer", "text" })[math.random(2)] or kind
    if kind == "integer" then
      list[i] = math.random(2) == 1 and math.random(-20, 20) or math.random(0)
    elseif kind == "text" then
      list[i] = math.random(4) > 1 and texts[math.random(#texts)] or ("%x"):format(math.random(0))
    elseif kind == "boolean" then
      list[i] = math.random(2) == 1
    else
      list[i] = kind
    end
  end
  return list
end

local function some_values()
  local kinds = { "integer", "integer", "integer", "text", "text", "mixed", "boolean" }
  local count = math.random(20) == 1 and math.random(300) or math.random(0, 20)
  return values(count, kinds[math.random(#kinds)])
end

local function position(t)
  if math.random(12) == 1 then return ({ -1, math.maxinteger, math.mininteger, "2", 2.0, 1.5, true, "x" })[math.random(8)] end
  return math.random(0, #t + 2)
end

local function anything()
  return ({ 1, -7, "text", true, 2.0, 0.5, { n = 2 }, print })[math.random(6)]
end

-- Name, routine, arguments; then the calls that are not left to others.
local functions = {
  {
    "insert",
    function(t)
      local value = math.random(8) > 1 and anything() or nil
      if math.random(2) == 1 then return table.pack(t, value) end
      return table.pack(t, position(t), value)
    end,
    function(a, length)
      return a.n == 2 or math.type(a[2]) == "integer" and a[2] >= 1 and a[2] <= length + 1
    end,
  },
  {
    "remove",
    function(t)
      if math.random(2) == 1 then return table.pack(t) end
      return table.pack(t, position(t))
    end,
    function(a, length)
      local at = a[2] or length
      return math.type(at) == "integer" and at >= 1 and at <= length
    end,
  },
  {
    "unpack",
    function(t)
      if math.random(3) == 1 then return table.pack(t) end
      if math.random(2) == 1 then return table.pack(t, position(t)) end
      return table.pack(t, position(t), position(t))
    end,
    function(a)
      return (a[2] == nil or math.type(a[2]) == "integer") and (a[3] == nil or math.type(a[3]) == "integer")
    end,
  },
  {
    "concat",
    function(t)
      local args = table.pack(t, ({ nil, "", ", ", 12, "separator" })[math.random(5)], nil, nil)
      if math.random(2) == 1 then args[3] = position(t) end
      if math.random(2) == 1 then args[4] = position(t) end
      return args
    end,
    function(a, length)
      for i = a[3] == nil and 1 or math.type(a[3]) and a[3] or 0, a[4] == nil and length or math.type(a[4]) and a[4] or 0 do
        if i < 1 or i > length or type(a[1][i]) == "boolean" then return false end
      end
      return (a[2] == nil or type(a[2]) == "string")
        and (a[3] == nil or math.type(a[3]) == "integer")
        and (a[4] == nil or math.type(a[4]) == "integer")
    end,
  },
  {
    "move",
    function(t)
      local args = table.pack(t, position(t), position(t), position(t))
      if type(args[3]) == "number" and args[3] > 1000 then args[3] = 5 end
      if type(args[2]) == "number" and args[2] < -1000 then args[2] = 5 end
      if math.random(2) == 1 then
        args[5] = new(some_values(), 1)
        args.n = 5
      end
      return args
    end,
    function(a)
      for i = 2, 4 do
        if math.type(a[i]) ~= "integer" or a[i] < 1 or a[i] > 1000 then return false end
      end
      return true
    end,
  },
  {
    "sort",
    function(t) return table.pack(t) end,
    function(a, length)
      for i = 1, length do
        if type(a[1][i]) ~= type(a[1][1]) or type(a[1][1]) == "boolean" then return false end
      end
      return true
    end,
  },
}

-- What the functions do that have no other form than the routine.
local function check_call(name, routine, args)
  local expected = table.pack(pcall(name, table.unpack(args, 1, args.n)))
  local found = table.pack(sim.call(routine, table.unpack(args, 1, args.n)))
  check(found[1] ~= nil, routine, show(args), "leaves the case to others")
  if not expected[1] then
    check(found[1] == false and without_name(found[2]) == without_name(expected[2]), routine, show(args), show(found), "instead of", show(expected))
    return
  end
  check(found.n == expected.n, routine, show(args), "has", show(found), "instead of", show(expected))
  for i = 1, expected.n do
    check(same(found[i], expected[i]), routine, show(args), "has", show(found), "instead of", show(expected))
  end
  return found, expected
end

local function try(row)
  local t = new(some_values(), math.random(3) == 1 and math.random(3) or 0)
  local args = row[2](t)
  for i = 1, args.n do
    if type(args[i]) == "table" and args[i].n then args[i] = new({}, 0) end
  end
  local length = #t
  local usual = row[3](args, length)
  local found = table.pack(sim.call("fast_table_" .. row[1], table.unpack(args, 1, args.n)))
  local what = row[1] .. show(args)
  if found[1] == nil then
    check(not usual, what, "is a usual case, but left to others")
  else
    local expected = table.pack(pcall(table[row[1]], table.unpack(args, 1, args.n)))
    check(found[1] == expected[1] and found.n == expected.n, what, "has", show(found), "instead of", show(expected))
    for i = 2, found.n do
      check(same(found[i], expected[i]), what, "has", show(found), "instead of", show(expected))
    end
  end
  check_fields(t, what)
  if type(args[5]) == "table" then check_fields(args[5], what) end
end

local function try_others()
  local t = new(some_values(), 2)
  local list = table.pack(anything(), anything(), nil, anything())
  list.n = math.random(0, 4)
  for i = 1, list.n do
    if type(list[i]) == "table" then list[i] = t end
  end
  check_call(rawequal, "base_rawequal", list)
  check_call(select, "base_select", table.pack("#", table.unpack(list, 1, list.n)))
  check_call(select, "base_select", table.pack(math.random(-5, 5), table.unpack(list, 1, list.n)))
  check_call(select, "base_select", list)
  check_call(rawlen, "base_rawlen", list)
  check_call(rawget, "base_rawget", list)
  check_call(rawget, "base_rawget", table.pack(t, list[1]))
  check_call(next, "base_next", table.pack(list[1] ~= t and list[1] or nil))
  if list.n == 0 or type(list[1]) ~= "table" then check_call(rawset, "base_rawset", list) end
  check_call(rawset, "base_rawset", table.pack(t, ({ 1, "y", nil, 0 / 0 })[math.random(4)], list[1]))
  check_fields(t, "rawset")
  check_call(table.create, "table_create", table.pack(({ 0, 5, -1, "7", "x" })[math.random(5)], ({ 0, nil, 20, -1 })[math.random(4)]))
  local found, expected = check_call(table.pack, "table_pack", list)
  for k, v in next, expected[2] do check(rawequal(found[2][k], v), "pack: field", k) end
  for k, v in next, found[2] do check(rawequal(expected[2][k], v), "pack: field", k) end
  local step = ipairs({})
  for i = 0, #t do check_call(step, "ipairs_next", table.pack(t, i)) end
end

-- Orders that are hard for some ways to sort.
local function try_sort()
  local count = math.random(2, 600)
  local shape = math.random(5)
  local t = sim.new({}, count, 0)
  for i = 1, count do
    local x = ({ i, -i, i % 7, math.abs(count // 2 - i), math.random(count) })[shape]
    if count % 2 == 0 then x = ("key %d"):format(x) end
    t[i] = x
    sim.set(t, i, x)
  end
  local ok = sim.call("fast_table_sort", t)
  check(ok, "not sorted at once")
  table.sort(t)
  check_fields(t, "sort")
end

local done = 0
while done < operations do
  round = round + 1
  math.randomseed(round)
  sim.reset()
  for i = 1, 20 do try(functions[math.random(#functions)]) end
  try_others()
  if round % 20 == 0 then
    sim.reset()
    try_sort()
  end
  done = done + 20
end

-- Tables of load time stay as they are, and tables with metatables are left to others.
sim.reset()
local t = new({ 3, 1, 2 }, 0)
sim.freeze(true)
for _, call in ipairs({ { "insert", t, 1 }, { "remove", t }, { "sort", t }, { "move", t, 1, 2, 2 } }) do
  local ok, message = sim.call("fast_table_" .. call[1], table.unpack(call, 2))
  check(ok == false and message == "a table of load time cannot be changed at packet time", call[1], message)
end
sim.freeze(false)
sim.call("base_setmetatable", t, new({}, 0))
for _, name in ipairs({ "insert", "remove", "sort", "concat", "unpack", "move" }) do
  check(sim.call("fast_table_" .. name, t, 1, 1, 1) == nil, name)
end
