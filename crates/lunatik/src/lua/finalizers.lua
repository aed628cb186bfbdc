-- Finalizers (`__gc`, Lua manual § 2.5.3) of a state that others than Lua limit and close.
--
-- Lua calls finalizers with hooks off, where nothing ends those that go on, and the last ones when the state is gone already for functions in Rust. So the
-- collector does not know the finalizers of a script's tables: with each such table goes another one, its guard, which is collected when it is, and whose
-- finalizer calls the script's in a coroutine, where hooks are on. What is left at the end is called before the state is closed.
--
-- Reads `alive` (whether the state is there for functions in Rust) and `tell` (which gets errors of finalizers). Gives what sets a metatable that has a
-- finalizer, what says how many tables wait for theirs, and what calls all of these.
local alive, tell = ...
local create, resume, status, close = coroutine.create, coroutine.resume, coroutine.status, coroutine.close
local getmetatable, next, rawget, rawset, setmetatable, sort = debug.getmetatable, next, rawget, rawset, setmetatable, table.sort

-- The guard of each table; and guards by number, in the order in which Lua would have marked their tables.
local guards = setmetatable({}, { __mode = "k" })
local numbered = setmetatable({}, { __mode = "v" })
local last, is_over = 0, false

local function call(finalizer, object)
  finalizer(object)
end

local function finalize(guard)
  local object = guard[1]
  if object == nil then return end
  guard[1], guards[object] = nil, nil
  local meta = getmetatable(object)
  -- As Lua does, the finalizer is the one that is there now.
  local finalizer = meta and rawget(meta, "__gc")
  if finalizer == nil then return end
  local thread = create(call)
  local is_done, problem = resume(thread, finalizer, object)
  if is_done and status(thread) == "suspended" then
    close(thread)
    is_done, problem = false, "attempt to yield across a C-call boundary"
  end
  if not is_done then tell(problem) end
end

local guarding = {
  __gc = function(guard)
    if alive() then finalize(guard) end
  end,
}

local function mark(object, meta)
  -- Of what is made while the last ones are called, none is called; so it is in Lua, too.
  if not guards[object] and not is_over then
    last = last + 1
    local guard = setmetatable({ object }, guarding)
    guards[object], numbered[last] = guard, guard
  end
  local finalizer = rawget(meta, "__gc")
  rawset(meta, "__gc", nil)
  setmetatable(object, meta)
  rawset(meta, "__gc", finalizer)
  return object
end

local function count()
  local all = 0
  for _ in next, numbered do all = all + 1 end
  return all
end

local function finish()
  is_over = true
  local left, numbers = {}, {}
  for number, guard in next, numbered do
    left[number] = guard
    numbers[#numbers + 1] = number
  end
  sort(numbers, function(a, b) return a > b end)
  for i = 1, #numbers do finalize(left[numbers[i]]) end
end

return mark, count, finish
