-- Coroutines that give values one by one, across calls, protected calls, metamethods and iterators; with varargs and captured variables.
-- frames: tcp
local xdp = require "xdp"
local action = require "linux.xdp"

local function count_to(n)
  return coroutine.wrap(function()
    for i = 1, n do coroutine.yield(i, i * i) end
  end)
end

local function walk(tree)
  if tree then
    walk(tree.left)
    coroutine.yield(tree.value)
    walk(tree.right)
  end
end

local function permutations(list, n)
  n = n or #list
  if n <= 1 then
    coroutine.yield(list)
  else
    for i = 1, n do
      list[n], list[i] = list[i], list[n]
      permutations(list, n - 1)
      list[n], list[i] = list[i], list[n]
    end
  end
end

local function all(...)
  local parts = table.pack(...)
  for i = 1, parts.n do parts[i] = tostring(parts[i]) end
  return table.concat(parts, " ")
end

local function filter(keep, source)
  return coroutine.wrap(function()
    for v in source do
      if keep(v) then coroutine.yield(v) end
    end
  end)
end

xdp.attach(function(pkt)
  for i, square in count_to(4) do print(i, square) end

  local tree = { value = 5, left = { value = 2, right = { value = 3 } }, right = { value = 8 } }
  local line = {}
  for v in coroutine.wrap(function() walk(tree) end) do line[#line + 1] = v end
  print(table.concat(line, ","))

  for p in coroutine.wrap(function() permutations { 1, 2, 3 } end) do print(table.concat(p, " ")) end

  -- Values go both ways, any number of them.
  local echo = coroutine.create(function(...)
    print("begun", all(...))
    local got = table.pack(coroutine.yield())
    while got.n > 0 do got = table.pack(coroutine.yield(got.n, table.unpack(got, 1, got.n))) end
    return "ended", nil, false
  end)
  print(coroutine.resume(echo, 1, nil, "x"))
  print(coroutine.resume(echo, "a"))
  print(coroutine.resume(echo, nil, nil))
  print(coroutine.resume(echo, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
  print(coroutine.resume(echo))
  print(coroutine.resume(echo))

  -- Generators of generators.
  local even = filter(function(v) return v % 2 == 0 end, count_to(9))
  local most = filter(function(v) return v > 2 end, even)
  print(most(), most(), most())

  -- Across a protected call, a metamethod, an iterator, a variable that is closed.
  local object = setmetatable({}, {
    __add = function(_, n) return coroutine.yield("add", n) + 1 end,
    __index = function(_, k) return coroutine.yield("index", k) end,
    __newindex = function(_, k, v) coroutine.yield("newindex", k, v) end,
    __call = function(_, ...) return coroutine.yield("call", ...) end,
    __eq = function() return coroutine.yield("eq") end,
    __lt = function() return coroutine.yield("lt") end,
    __concat = function(v) return coroutine.yield("concat", v) end,
    __len = function() return coroutine.yield("len") end,
    __close = function() print(coroutine.yield("close")) end,
  })
  local busy = coroutine.wrap(function(...)
    local first, second = ...
    print(pcall(function() error(coroutine.yield("protected", first)) end))
    print(object + second, object.field, object(1, 2, 3))
    object.other = 7
    print(object == setmetatable({}, getmetatable(object)), object < object, "x" .. object, #object)
    for v in function(_, v) return coroutine.yield("iterator", v) end do print("turn", v) end
    do
      local closed <close> = object
    end
    return xpcall(coroutine.yield, print, "last")
  end)
  local given = 10
  local answer = table.pack(busy(1, 2))
  while answer[1] ~= "last" do
    print(all(table.unpack(answer, 1, answer.n)))
    given = given + 1
    local passed = given
    if answer[1] == "iterator" and answer[2] then passed = nil end
    answer = table.pack(busy(passed))
  end
  print(busy("end"))

  -- Where it waits in a comparison, and is resumed from somewhere else.
  local asks = { __eq = function() return coroutine.yield() end, __lt = coroutine.yield, __le = function() return coroutine.yield() end }
  local one, another = setmetatable({}, asks), setmetatable({}, asks)
  local function from_afar(n, f, ...)
    if n == 0 then return f(...) end
    local got = from_afar(n - 1, f, ...)
    return got
  end
  for depth = 0, 3 do
    for answer = 0, 1 do
      local compared = coroutine.wrap(function()
        return (one < another and "lt" or "nlt") .. (one <= another and " le" or " nle") .. (one == another and " eq" or " ne")
      end)
      compared()
      compared(answer == 1)
      from_afar(depth, compared, answer == 0)
      print(depth, from_afar(3 - depth, compared, answer == 1), #asks)
    end
  end

  -- Variables are shared while it waits, and after it has ended.
  local shown
  local shared = coroutine.wrap(function()
    local v = 1
    shown = function(n) v = v + n return v end
    coroutine.yield(v)
    v = v * 2
    coroutine.yield(v)
    v = v * 2
    return v
  end)
  print(shared(), shown(1), shared(), shown(1), shared(), shown(1))

  -- They are values like others.
  local co = coroutine.create(print)
  local by = { [co] = "found" }
  print(type(co), by[co], co == co, co ~= coroutine.create(print), tostring(co):match("^thread: ") ~= nil)
  print(coroutine.resume(co, "printed", 3))
  print(coroutine.resume(coroutine.create(pcall), error, "e"))
  print(coroutine.resume(coroutine.create(coroutine.yield), 1, 2))
  local direct = coroutine.wrap(coroutine.yield)
  print(direct(1, 2), direct(3, 4))
  return action.DROP
end)
