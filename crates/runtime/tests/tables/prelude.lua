-- The functions of `prelude/table.lua` and `prelude/iterate.lua`, run by real Lua, against those of real Lua: results, messages, and
-- the order in which they read and write fields and call functions of the script.

local operations, seed = ...
local round = seed * 1000003

-- What the functions use of the runtime. `counts` has the number of arguments of each running function.
local counts = {}

local function fail(text)
  error(text, 0)
end

local function given(i)
  return i <= counts[#counts]
end

local function bad_type(i, expected, value)
  local got = given(i) and type(value) or "no value"
  fail("bad argument #" .. i .. " (" .. expected .. " expected, got " .. got .. ")")
end

local prim = {
  raise = fail,
  bad_type = bad_type,
  arg_error = function(i, text) fail("bad argument #" .. i .. " (" .. text .. ")") end,
  argument_count = function() return counts[#counts] end,
  is_plain_table = function(t) return type(t) == "table" and not getmetatable(t) end,
  sorted_at_once = function() return false end,
  fast_table_unpack = table.unpack,
  ipairs_next = ipairs({}),
}

function prim.expect_any(i)
  if not given(i) then fail("bad argument #" .. i .. " (value expected)") end
end

function prim.expect_integer(i, value)
  local integer = math.tointeger(value) or type(value) == "string" and math.tointeger(tonumber(value))
  if integer then return integer end
  if tonumber(value) then fail("bad argument #" .. i .. " (number has no integer representation)") end
  bad_type(i, "number", value)
end

function prim.expect_integer_or(i, value, default)
  if value == nil then return default end
  return prim.expect_integer(i, value)
end

function prim.expect_text_or(i, value, default)
  if value == nil then return default end
  if type(value) ~= "string" and type(value) ~= "number" then bad_type(i, "string", value) end
  return tostring(value)
end

function prim.expect_table(i, value, what)
  if type(value) == "table" then return end
  local meta = getmetatable(value)
  local function has(bit, name) return what & bit == 0 or meta and rawget(meta, name) ~= nil end
  if not (meta and has(1, "__index") and has(2, "__newindex") and (type(value) == "string" or has(4, "__len"))) then
    bad_type(i, "table", value)
  end
end

function prim.expect_length(value)
  return math.tointeger(tonumber(value)) or fail("object length is not an integer")
end

function prim.metafield(value, name)
  local meta = getmetatable(value)
  return meta and rawget(meta, name)
end

local defined = { table = {}, base = {}, prim = setmetatable({}, { __newindex = prim }) }
local environment = setmetatable({ prim = prim, base = defined.base }, { __index = _G })
environment.table = setmetatable({}, { __index = table, __newindex = defined.table })
for _, name in ipairs({ "prelude/table.lua", "prelude/iterate.lua" }) do
  assert(load(sim.prelude[name], "=" .. name, "t", environment))()
end

local log = {}

local function note(...)
  log[#log + 1] = table.concat(table.pack(...), " ")
end

local function check(condition, ...)
  if not condition then
    local texts = table.pack(...)
    for i = 1, texts.n do texts[i] = tostring(texts[i]) end
    error(table.concat(texts, " ") .. " (round with seed " .. round .. ")", 2)
  end
end

-- Values that print as themselves and are the same for both sides.
local shared = { setmetatable({}, { __lt = function(a, b) note("lt") return true end }), {}, {} }

local function show(value)
  if type(value) == "string" then return ("%q"):format(value) end
  for i = 1, #shared do
    if rawequal(value, shared[i]) then return "shared" .. i end
  end
  return math.type(value) and tostring(value) or type(value)
end

local function fields(t)
  local texts = {}
  for k, v in next, t do texts[#texts + 1] = show(k) .. "=" .. show(v) end
  table.sort(texts)
  return table.concat(texts, ",")
end

-- A table whose fields are behind metamethods that log; `kind` chooses which.
local function object(values, kind)
  if kind == 0 then return values, values end
  local meta = {}
  if kind ~= 6 then
    meta.__index = function(_, k) note("get", show(k)) return values[k] end
  end
  if kind ~= 7 then
    meta.__newindex = function(_, k, v) note("set", show(k), show(v)) values[k] = v end
  end
  if kind ~= 8 then
    meta.__len = function()
      note("length")
      if kind == 2 then return #values + 1 end
      if kind == 3 then return tostring(#values) end
      if kind == 4 then return 2.5 end
      if kind == 5 then return #values + 0.0 end
      return #values
    end
  end
  if kind == 9 then
    meta.__pairs = function(t) note("pairs") return next, values, nil, 7, 8 end
    meta.__eq = function() note("eq") return true end
  end
  return setmetatable({}, meta), values
end

local function some_values()
  local kind, list = math.random(5), {}
  for i = 1, math.random(10) == 1 and math.random(200) or math.random(0, 12) do
    local number = math.random(-50, 50)
    list[i] = ({ number, tostring(number), number, i % 5, i })[kind]
    if kind == 1 and math.random(15) == 1 then list[i] = ({ true, "text", shared[1], shared[2], 2.5 })[math.random(5)] end
  end
  return list
end

local function position(length)
  if math.random(8) == 1 then
    return ({ -1, 0, math.maxinteger, math.mininteger, "2", "x", 2.0, 1.5, true, shared[2] })[math.random(10)]
  end
  return math.random(0, length + 2)
end

-- Functions that compare, some of them no order.
local orders = {
  function(a, b) return a < b end,
  function(a, b) return a > b end,
  function(a, b) return tostring(a) < tostring(b) end,
  function() return true end,
  function() return false end,
  function(a, b) return (tostring(a) .. tostring(b)):byte(-1) % 2 == 0 end,
  function(a, b) if a == 3 then error("three") end return a < b and 1 end,
}

local function arguments(name, length)
  if math.random(25) == 1 then return { n = 0 } end
  local first = math.random(25) == 1 and ({ 5, "text", true })[math.random(3)] or "object"
  local list = { first }
  if name == "insert" then
    local count = ({ 2, 2, 3, 3, 3, 1, 4 })[math.random(7)]
    if count == 2 then return { first, math.random(9) == 1 and shared[2] or 77, n = 2 } end
    return { first, position(length), math.random(9) > 1 and 77 or nil, 5, n = count }
  elseif name == "remove" then
    return { first, position(length), n = math.random(2) }
  elseif name == "concat" then
    local separator = ({ ", ", "", 7, 2.5, false })[math.random(40) == 1 and 5 or math.random(4)]
    return { first, separator, position(length), position(length), n = math.random(4) }
  elseif name == "unpack" then
    return { first, position(length), position(length), n = math.random(3) }
  elseif name == "sort" then
    local order = orders[math.random(#orders)]
    if order then list[2] = function(a, b) note("compare", show(a), show(b)) return order(a, b) end end
    return { first, math.random(3) > 1 and list[2] or math.random(9) == 1 and 5 or nil, n = math.random(2) }
  elseif name == "move" then
    local to = math.random(3) > 1 and "target" or nil
    local list = { first, position(length), position(length), position(length), to, n = math.random(30) == 1 and 3 or 5 }
    -- Not too many values.
    if type(list[3]) == "number" and list[3] > 100 and list[2] ~= math.mininteger then list[3] = 4 end
    if list[2] == math.mininteger and type(list[3]) == "number" and list[3] < 0 then list[2] = 1 end
    return list
  end
  return { first, n = 1 }
end

-- Calls a function on new objects: what it gives or says, and what has happened.
local function try(f, args, values, kinds)
  local copies = { table.move(values, 1, #values, 1, {}), { 1, 2, 3 } }
  local list = { n = args.n }
  local a, inside_a = object(copies[1], kinds[1])
  local b, inside_b = object(copies[2], kinds[2])
  if kinds[3] then b, inside_b = a, inside_a end
  for i = 1, args.n do
    list[i] = args[i]
    if args[i] == "object" then list[i] = a end
    if args[i] == "target" then list[i] = b end
  end
  log = {}
  counts[#counts + 1] = args.n
  local results = table.pack(pcall(f, table.unpack(list, 1, args.n)))
  counts[#counts] = nil
  local failed = not results[1]
  for i = 1, results.n do
    if rawequal(results[i], a) then
      results[i] = "object"
    elseif rawequal(results[i], b) then
      results[i] = "target"
    elseif failed then
      -- Where it happened is not the same.
      results[i] = tostring(results[i]):gsub(" to '%a+%.%a+'", ""):gsub("^[^ ]*:%d+: ", ""):gsub(" %(local '%a+'%)", "")
    else
      results[i] = show(results[i])
    end
  end
  return table.concat(results, " ", 2) .. "\nlog: " .. table.concat(log, "; ") .. "\nfields: " .. fields(inside_a) .. " | " .. fields(inside_b)
end

local names = { "insert", "remove", "concat", "unpack", "sort", "sort", "move" }
local done = 0
while done < operations do
  round = round + 1
  math.randomseed(round)
  local values = some_values()
  local kinds = { math.random(0, 9), math.random(0, 9), math.random(4) == 1 }
  local name = names[math.random(#names)]
  local args = arguments(name, #values)
  local expected = try(table[name], args, values, kinds)
  local found = try(defined.table[name], args, values, kinds)
  -- A random pivot is the end of what can be compared.
  check(found == expected or name == "sort" and #values >= 100, name, "\n" .. found, "\ninstead of\n" .. expected)
  done = done + 1
end

-- pairs and ipairs: all results, and the loops that they make.
for kind = 0, 9 do
  for _, name in ipairs({ "pairs", "ipairs" }) do
    local function run(f, step)
      return function(t, ...)
        local results = table.pack(f(t, ...))
        for i = 1, results.n do note(show(results[i])) end
        for k, v in f(t) do
          note("field", show(k), show(v))
          if k == 3 then break end
        end
      end
    end
    local args = { "object", n = 1 }
    local found = try(run(defined.base[name]), args, { 10, 20, 30, 40 }, { kind, 0 })
    local expected = try(run(_G[name]), args, { 10, 20, 30, 40 }, { kind, 0 })
    check(found == expected, name, kind, "\n" .. found, "\ninstead of\n" .. expected)
  end
end
counts[1] = 0
local ok, message = pcall(defined.base.pairs)
check(message == "bad argument #1 (value expected)", message)
ok, message = pcall(defined.base.ipairs)
check(message == "bad argument #1 (value expected)", message)
