-- Frames: calls, returns, varargs, closures and their variables.
--
-- Lua functions do not call one another on the kernel's stack. A call pushes a frame (F_…) behind the caller's and generated code
-- goes on at the new frame's site; a return pops it. Where a routine wants a function called (a metamethod), it describes the
-- call in L_CALL_… and returns REQUEST; generated code makes the call and goes on at the current frame's site.

-- So many values are called by `__call`, one for the other, before a function (MAX_CCMT in ldo.c).
local MAX_CALL_CHAIN <const> = 15

function inline.copy_value(to, from)
  set64(to, u64(from))
  set64(to + 8, u64(from + 8))
end

function inline.request(L, func, count, dest, want)
  set64(L + L_CALL_FUNC, func)
  set64(L + L_CALL_COUNT, count)
  set64(L + L_CALL_DEST, dest)
  set64(L + L_CALL_WANT, want)
  return REQUEST
end

-- Moves `count` results from `from` to `dest`, where the current frame wants `want` of them (-1: all).
function move_results(L, from, count, dest, want)
  if want < 0 then
    want = count
    set64(u64(L + L_CI) + F_TOP, dest + (count << 4))
  end
  local i = 0
  while i < want do
    local to = dest + (i << 4)
    if i < count then
      local value = from + (i << 4)
      set64(to, u64(value))
      set64(to + 8, u64(value + 8))
    else
      set64(to, TAG_NIL)
      set64(to + 8, 0)
    end
    i = i + 1
  end
  return 0
end

-- Pushes a frame for the function at `func`, which is a Lua closure, with `count` arguments behind it.
function call_closure(L, func, count, dest, want)
  local budget = u64(L + L_BUDGET) - 1
  set64(L + L_BUDGET, budget)
  if budget < 0 then return budget_error(L) end
  local closure = u64(func + 8)
  local proto = u64(closure + C_PROTO)
  local frame = u64(L + L_CI) + FRAME_SIZE
  local base = func + 16
  local limit = base + u64(proto + P_STACK)
  if limit + (count << 4) > u64(L + L_STACK_END) or frame >= u64(L + L_FRAMES_END) then
    return raise_here(L, "stack overflow")
  end
  set64(frame + F_CLOSURE, closure)
  set64(frame + F_BASE, base)
  set64(frame + F_SITE, u64(proto + P_ENTRY))
  set64(frame + F_FUNC, dest)
  set64(frame + F_WANT, want)
  set64(frame + F_KIND, KIND_LUA)
  set64(frame + F_START, func)
  set64(frame + F_COUNT, count)
  set64(frame + F_LIMIT, limit)
  set64(frame + F_TOP, 0)
  set64(frame + F_TAIL, 0)
  local at = base + (count << 4)
  local last = base + (u64(proto + P_PARAMS) << 4)
  while at < last do
    set64(at, TAG_NIL)
    set64(at + 8, 0)
    at = at + 16
  end
  set64(L + L_CI, frame)
  return DISPATCH
end

-- Pushes a frame that is no function: `from` is where its results are to stand.
function inline.push_marker(L, kind, from, dest, want)
  local frame = u64(L + L_CI) + FRAME_SIZE
  set64(frame + F_CLOSURE, 0)
  set64(frame + F_BASE, from)
  set64(frame + F_SITE, 0)
  set64(frame + F_FUNC, dest)
  set64(frame + F_WANT, want)
  set64(frame + F_KIND, kind)
  set64(frame + F_LIMIT, from + 64)
  set64(frame + F_TOP, 0)
  set64(L + L_CI, frame)
  return frame
end

-- `pcall(f, …)` and `xpcall(f, handler, …)`, called by the request in L_CALL_….
function call_protected(L, func, count, dest, want)
  local handler = u64(func + 8) == BUILTIN_XPCALL
  set64(L + L_BUILTIN, u64(func + 8))
  set64(L + L_INDIRECT, 1)
  if u64(L + L_CI) + 4 * FRAME_SIZE >= u64(L + L_FRAMES_END) then return raise_here(L, "stack overflow") end
  if handler then
    if count < 2 or (u64(func + 32) ~= TAG_CLOSURE and u64(func + 32) ~= TAG_BUILTIN) then
      return type_error(L, func + 16, count, 2, "function")
    end
    set64(L + L_INDIRECT, 0)
    local frame = inline.push_marker(L, KIND_XPCALL, func + 16, dest, want)
    inline.copy_value(frame + F_VALUE, func + 32)
    inline.copy_value(func + 32, func + 16)
    set64(func + 16, TAG_TRUE)
    set64(func + 24, 0)
    return inline.request(L, func + 32, count - 2, func + 32, -1)
  end
  if count < 1 then return arg_error(L, 1, "value expected") end
  set64(L + L_INDIRECT, 0)
  inline.push_marker(L, KIND_PCALL, func, dest, want)
  set64(func, TAG_TRUE)
  set64(func + 8, 0)
  return inline.request(L, func + 16, count - 1, func + 16, -1)
end

-- A call of what is no function of the script or of the library: by `__call`.
function call_other(L, func, count, dest, want)
  local handler = metamethod(L, func, "__call", text_hash("__call"))
  if u64(handler) == TAG_NIL then
    -- What the running instruction calls by itself is a metamethod.
    local name = operand_name(L, S_EVENT)
    if name == 0 then name = operand_name(L, S_A) end
    set64(L + L_CALL_EXTRA, 0)
    return operand_error(L, func, "call", name)
  end
  if u64(L + L_CALL_EXTRA) == MAX_CALL_CHAIN then
    set64(L + L_CALL_EXTRA, 0)
    return raise_here(L, "'__call' chain too long")
  end
  insert_callee(func, count, handler)
  set64(L + L_CALL_EXTRA, u64(L + L_CALL_EXTRA) + 1)
  return inline.request(L, func, count + 1, dest, want)
end

-- What was to be called becomes the first argument of a handler.
function insert_callee(func, count, handler)
  local at = func + (count << 4)
  while at >= func do
    set64(at + 16, u64(at))
    set64(at + 24, u64(at + 8))
    at = at - 16
  end
  inline.copy_value(func, handler)
  return 0
end

-- Makes a function of the script, with its arguments, of a table that is called in tail position: how many arguments there are then,
-- or FAIL where `__call` is no such function.
function tail_target(L, func, count)
  local handler = metamethod(L, func, "__call", text_hash("__call"))
  if u64(handler) ~= TAG_CLOSURE or u64(u64(u64(handler + 8) + C_PROTO) + P_HIDDEN) ~= 0 then return FAIL end
  insert_callee(func, count, handler)
  return count + 1
end

-- The requested call, if it is no plain call of a library function.
function call_requested(L)
  local func = u64(L + L_CALL_FUNC)
  local count = u64(L + L_CALL_COUNT)
  local dest = u64(L + L_CALL_DEST)
  local want = u64(L + L_CALL_WANT)
  local tag = u64(func)
  if tag == TAG_CLOSURE or tag == TAG_BUILTIN then set64(L + L_CALL_EXTRA, 0) end
  if tag == TAG_CLOSURE then return call_closure(L, func, count, dest, want) end
  if tag == TAG_BUILTIN then return call_protected(L, func, count, dest, want) end
  return call_other(L, func, count, dest, want)
end

-- Takes the results of the library function that L_CALL_… asked for; they stand at `func`.
function deliver(L, count)
  set64(L + L_INDIRECT, 0)
  move_results(L, u64(L + L_CALL_FUNC), count, u64(L + L_CALL_DEST), u64(L + L_CALL_WANT))
  if u64(u64(L + L_CI) + F_KIND) == KIND_LUA then return 0 end
  return finish_marker(L)
end

-- Ends the running function with `count` results at `from`.
function return_values(L, from, count)
  local frame = u64(L + L_CI)
  local caller = frame - FRAME_SIZE
  set64(L + L_CI, caller)
  move_results(L, from, count, u64(frame + F_FUNC), u64(frame + F_WANT))
  if u64(caller + F_KIND) == KIND_LUA then return DISPATCH end
  return finish_marker(L)
end

-- What was called below a frame that is no function has returned: ends that frame too.
function finish_marker(L)
  local frame = u64(L + L_CI)
  local kind = u64(frame + F_KIND)
  while kind == KIND_PCALL or kind == KIND_XPCALL do
    local from = u64(frame + F_BASE)
    local count = u64(frame + F_TOP) - from >> 4
    local caller = frame - FRAME_SIZE
    set64(L + L_CI, caller)
    move_results(L, from, count, u64(frame + F_FUNC), u64(frame + F_WANT))
    frame = caller
    kind = u64(frame + F_KIND)
  end
  if kind == KIND_LUA then return DISPATCH end
  if kind == KIND_ENTRY then return FINISHED end
  if kind == KIND_CLOSING then return CLOSE end
  if kind >= KIND_RESUME then return ENDED end
  return HANDLED
end

-- `f(...)` in tail position, where f is a Lua closure at `func`: takes the running function's place.
function tail_call(L, func, count)
  local frame = u64(L + L_CI)
  local start = u64(frame + F_START)
  local i = 0
  while i <= count do
    local to = start + (i << 4)
    local from = func + (i << 4)
    set64(to, u64(from))
    set64(to + 8, u64(from + 8))
    i = i + 1
  end
  set64(L + L_CI, frame - FRAME_SIZE)
  local status = call_closure(L, start, count, u64(frame + F_FUNC), u64(frame + F_WANT))
  if status == DISPATCH then
    set64(frame + F_TAIL, 1)
  else
    set64(L + L_CI, frame)
  end
  return status
end

-- OP_VARARGPREP without a table: the function and its parameters move behind the extra arguments (luaT_adjustvarargs).
function hide_varargs(L)
  local frame = u64(L + L_CI)
  local proto = u64(u64(frame + F_CLOSURE) + C_PROTO)
  local count = u64(frame + F_COUNT)
  local params = u64(proto + P_PARAMS)
  local old = u64(frame + F_BASE)
  local base = old + (count + 1 << 4)
  if count < params then base = old + (params + 1 << 4) end
  local limit = base + u64(proto + P_STACK)
  if limit > u64(L + L_STACK_END) then return raise_here(L, "stack overflow") end
  local i = 0
  while i < params do
    inline.copy_value(base + (i << 4), old + (i << 4))
    i = i + 1
  end
  set64(base + (params << 4), TAG_NIL)
  set64(base + (params << 4) + 8, 0)
  set64(frame + F_BASE, base)
  set64(frame + F_LIMIT, limit)
  set64(frame + F_EXTRA, old + (params << 4))
  local extra = count - params
  if extra < 0 then extra = 0 end
  set64(frame + F_EXTRA_COUNT, extra)
  return 0
end

-- OP_VARARGPREP for a function that uses its extra arguments as a table: makes the table, with field `n`.
function vararg_table(L)
  local frame = u64(L + L_CI)
  local params = u64(u64(u64(frame + F_CLOSURE) + C_PROTO) + P_PARAMS)
  local from = u64(frame + F_BASE) + (params << 4)
  local extra = u64(frame + F_COUNT) - params
  if extra < 0 then extra = 0 end
  local t = table_new(L, extra, 1)
  if t == 0 then return FAIL end
  copy_bytes(u64(t + T_ARRAY), from, extra << 4)
  set64(t + T_COUNT, extra)
  table_shrink(t)
  local key = L + L_KEY
  set64(key, TAG_STRING)
  set64(key + 8, "n")
  set64(key + 16, TAG_INT)
  set64(key + 24, extra)
  local status = table_set(L, t, key, key + 16)
  set64(from, TAG_TABLE)
  set64(from + 8, t)
  return status
end

-- Sets t[first + 1 … first + count] to the values at `from` (OP_SETLIST).
function table_append(L, t, from, count, first)
  local i = 0
  if first == u64(t + T_COUNT) and u64(t + T_INTS) == 0 and first + count <= u64(t + T_ARRAY_CAP) then
    local to = u64(t + T_ARRAY) + (first << 4)
    while i < count and u64(from + (i << 4)) ~= TAG_NIL do
      inline.copy_value(to + (i << 4), from + (i << 4))
      i = i + 1
    end
    set64(t + T_COUNT, first + i)
  end
  local key = L + L_KEY
  while i < count do
    set64(key, TAG_INT)
    set64(key + 8, first + i + 1)
    if table_set(L, t, key, from + (i << 4)) < 0 then return FAIL end
    i = i + 1
  end
  return 0
end

-- OP_VARARG: `want` (-1: all) of the extra arguments to `dest`; `vatab` is the address of the vararg table's value or 0.
function get_varargs(L, dest, want, vatab)
  local frame = u64(L + L_CI)
  if vatab ~= 0 then return get_table_varargs(L, dest, want, vatab) end
  local count = u64(frame + F_EXTRA_COUNT)
  if dest + (count << 4) > u64(L + L_STACK_END) then return raise_here(L, "stack overflow") end
  move_results(L, u64(frame + F_EXTRA), count, dest, want)
  return 0
end

-- The same where they are in a table, which the function may have changed (luaT_getvarargs).
function get_table_varargs(L, dest, want, vatab)
  local t = u64(vatab + 8)
  local n = table_get_text(L, t, "n", text_hash("n"))
  local count = u64(n + 8)
  if u64(n) ~= TAG_INT or ult(0x3fffffff, count) then
    return raise_here(L, "vararg table has no proper 'n'")
  end
  if want < 0 then
    want = count
    if dest + (count << 4) > u64(L + L_STACK_END) then return raise_here(L, "stack overflow") end
    set64(u64(L + L_CI) + F_TOP, dest + (count << 4))
  end
  local i = 0
  while i < want do
    local to = dest + (i << 4)
    set64(to, TAG_NIL)
    set64(to + 8, 0)
    if i < count then
      local value = table_get_int(t, i + 1)
      set64(to, u64(value))
      set64(to + 8, u64(value + 8))
    end
    i = i + 1
  end
  return 0
end

-- OP_GETVARG: `t[k]` of extra arguments that never became a table.
function get_vararg(L, dest, key)
  local frame = u64(L + L_CI)
  local count = u64(frame + F_EXTRA_COUNT)
  local tag = u64(key)
  local payload = u64(key + 8)
  -- The key may stand where the value goes.
  set64(dest, TAG_NIL)
  set64(dest + 8, 0)
  -- A float with an integral value is that integer (luaT_getvararg).
  if tag == TAG_FLOAT and float_is_integer(payload) ~= 0 then
    payload = float_to_integer(payload)
    tag = TAG_INT
  end
  if tag == TAG_INT then
    if ult(payload - 1, count) then inline.copy_value(dest, u64(frame + F_EXTRA) + (payload - 1 << 4)) end
  elseif tag == TAG_STRING and payload >> 32 == 1 and u8(payload & 0xffffffff) == 110 then
    set64(dest, TAG_INT)
    set64(dest + 8, count)
  end
  return 0
end

-- The variable (an open one) for the register at `slot`: U_PLACE is where its value lives.
function find_variable(L, slot)
  local link = L + L_OPEN
  local variable = u64(link)
  while variable ~= 0 and u64(variable + U_PLACE) > slot do
    link = variable + U_NEXT
    variable = u64(link)
  end
  if variable ~= 0 and u64(variable + U_PLACE) == slot then return variable end
  local made = alloc(L, U_SIZE)
  if made == 0 then return 0 end
  set64(made + U_PLACE, slot)
  set64(made + U_NEXT, variable)
  set64(link, made)
  return made
end

-- OP_CLOSURE: a closure of the prototype in the running function.
function make_closure(L, dest, proto)
  local frame = u64(L + L_CI)
  local count = u64(proto + P_UPVALUES)
  local made = alloc(L, C_VARIABLES + (count << 3))
  if made == 0 then return FAIL end
  set64(made + C_PROTO, proto)
  set64(made + C_COUNT, count)
  local i = 0
  while i < count do
    local from = u64(proto + P_CAPTURES + (i << 3))
    local variable = 0
    if from & 0x100 ~= 0 then
      variable = find_variable(L, u64(frame + F_BASE) + ((from & 0xff) << 4))
      if variable == 0 then return FAIL end
    else
      variable = u64(u64(frame + F_CLOSURE) + C_VARIABLES + (from << 3))
    end
    set64(made + C_VARIABLES + (i << 3), variable)
    i = i + 1
  end
  set64(dest, TAG_CLOSURE)
  set64(dest + 8, made)
  return 0
end

-- Variables of registers from `level` on get a place of their own.
function close_variables(L, level)
  local variable = u64(L + L_OPEN)
  while variable ~= 0 and u64(variable + U_PLACE) >= level do
    inline.copy_value(variable + U_VALUE, u64(variable + U_PLACE))
    set64(variable + U_PLACE, variable + U_VALUE)
    variable = u64(variable + U_NEXT)
    set64(L + L_OPEN, variable)
  end
  return 0
end
