-- Coroutines (Lua manual § 2.6 and § 6.3; lcorolib.c).
--
-- One that runs has its frames and registers behind those of whoever resumed it, with a mark (KIND_RESUME, KIND_WRAP) between. When it
-- yields, both are copied into packet memory; when it is resumed, back, to wherever there is room then, and what refers to them is moved along.
-- So functions need not know whether they run in a coroutine, and all of them share one stack.

-- Where a coroutine of `values` bytes of registers may stand above `base`, and `frames` bytes of frames behind the running one with the mark.
local function has_room(L, base, values, frames)
  if base + values > u64(L + L_STACK_END) then return 0 end
  if u64(L + L_CI) + 3 * FRAME_SIZE + frames >= u64(L + L_FRAMES_END) then return 0 end
  return 1
end

-- Whether something that cannot yield is running in the coroutine: a function of the library that calls back, the handler of an error, or the
-- closing of variables after one.
local function is_bound(L, co)
  local mark = u64(co + CO_MARK)
  local frame = u64(L + L_CI)
  if u64(mark + F_KIND) == KIND_CLOSING then return 1 end
  while frame > mark do
    local kind = u64(frame + F_KIND)
    if kind == KIND_LUA then
      if u64(u64(u64(frame + F_CLOSURE) + C_PROTO) + P_HIDDEN) ~= 0 then return 1 end
    elseif kind == KIND_HANDLER or kind == KIND_CLOSING and u64(frame + F_CAUGHT) >= KIND_RESUME then
      return 1
    end
    frame = frame - FRAME_SIZE
  end
  return 0
end

-- The first argument is no coroutine that packets can use.
local function no_coroutine(L, base, n)
  if n > 0 and u64(base) == TAG_OPAQUE and text_equal(value_type(base), "thread") ~= 0 then
    return raise(L, "a coroutine of load time cannot be used at packet time")
  end
  return type_error(L, base, n, 1, "thread")
end

-- From now on `co` runs, above `mark`.
local function enter(L, co, mark)
  local resumer = u64(L + L_COROUTINE)
  if resumer ~= 0 then set64(resumer + CO_STATUS, COROUTINE_NORMAL) end
  set64(L + L_COROUTINE, co)
  set64(co + CO_RESUMER, resumer)
  set64(co + CO_STATUS, COROUTINE_RUNNING)
  set64(co + CO_MARK, mark)
end

-- The coroutine that has resumed `co` goes on.
local function leave(L, co)
  local resumer = u64(co + CO_RESUMER)
  set64(L + L_COROUTINE, resumer)
  if resumer ~= 0 then set64(resumer + CO_STATUS, COROUTINE_RUNNING) end
end

-- `coroutine.yield(…)`, called by the request in L_CALL_….
function coroutine_suspend(L, func, count, dest, want)
  local co = u64(L + L_COROUTINE)
  if co == 0 then return raise_plain(L, "attempt to yield from outside a coroutine") end
  if is_bound(L, co) ~= 0 then return raise_plain(L, "attempt to yield across a C-call boundary") end
  local running = u64(L + L_CI)
  local top = u64(running + F_LIMIT)
  if u64(running + F_TOP) > top then top = u64(running + F_TOP) end
  if save_coroutine(L, co, top) < 0 then return FAIL end
  set64(co + CO_STATUS, COROUTINE_SUSPENDED)
  set64(co + CO_DEST, dest)
  set64(co + CO_WANT, want)
  leave(L, co)
  local mark = u64(co + CO_MARK)
  local from = func + 16
  if u64(mark + F_KIND) == KIND_RESUME then
    set64(func, TAG_TRUE)
    from = func
    count = count + 1
  end
  set64(L + L_CI, mark - FRAME_SIZE)
  move_results(L, from, count, u64(mark + F_FUNC), u64(mark + F_WANT))
  if u64(mark - FRAME_SIZE + F_KIND) == KIND_LUA then return DISPATCH end
  return finish_marker(L)
end

-- What is the matter with a coroutine that is to be resumed; 0 if nothing is.
local function problem(L, co)
  if co ~= L then
    if u64(co + CO_STATUS) == COROUTINE_SUSPENDED then return 0 end
    if u64(co + CO_STATUS) == COROUTINE_DEAD then return "cannot resume dead coroutine" end
  end
  return "cannot resume non-suspended coroutine"
end

-- A coroutine could not be resumed.
local function refuse(L, func, is_wrapped, text)
  if is_wrapped then return raise(L, text) end
  set64(func, TAG_FALSE)
  set64(func + 16, TAG_STRING)
  set64(func + 24, text)
  return deliver(L, 2)
end

-- `coroutine.resume(co, …)`, or the call of what `coroutine.wrap` gave, by the request in L_CALL_….
function coroutine_go_on(L, func, count, dest, want)
  local is_wrapped = u64(func + 8) == BUILTIN_CALL_COROUTINE
  if count < 1 or u64(func + 16) ~= TAG_THREAD then return no_coroutine(L, func + 16, count) end
  set64(L + L_INDIRECT, 0)
  if inline.spend(L) ~= 0 then return FAIL end
  local co = u64(func + 24)
  local text = problem(L, co)
  if text ~= 0 then return refuse(L, func, is_wrapped, text) end
  local base = func + 16 + (count << 4)
  if has_room(L, base, u64(co + CO_VALUES), u64(co + CO_FRAMES)) == 0 then
    return refuse(L, func, is_wrapped, "C stack overflow")
  end
  local mark = 0
  if is_wrapped then
    mark = inline.push_marker(L, KIND_WRAP, func + 16, dest, want)
  else
    set64(func, TAG_TRUE)
    mark = inline.push_marker(L, KIND_RESUME, func, dest, want)
  end
  set64(mark + F_FAILURE, TAG_NIL)
  enter(L, co, mark)
  if u64(co + CO_BASE) == 0 then
    set64(co + CO_BASE, func + 16)
    inline.copy_value(func + 16, co + CO_VALUE)
    set64(co + CO_VALUE, TAG_NIL)
    return inline.request(L, func + 16, count - 1, func + 16, -1)
  end
  restore_coroutine(L, co, base, func + 16)
  move_results(L, func + 32, count - 1, u64(co + CO_DEST), u64(co + CO_WANT))
  if u64(u64(L + L_CI) + F_KIND) == KIND_LUA then return DISPATCH end
  return finish_marker(L)
end

-- An error has ended a coroutine that was resumed: it keeps the variables that are to be closed, for `coroutine.close`.
local function keep_failed(L, co, mark)
  local base = u64(co + CO_BASE)
  close_variables(L, base)
  local entry = u64(L + L_TBC)
  set64(co + CO_MARKED, 0)
  if entry ~= 0 and u64(entry) >= base and save_coroutine(L, co, u64(entry) + 16) < 0 then
    inline.take_marked(L, base)
    inline.copy_value(mark + F_FAILURE, L + L_ERROR_TAG)
  end
  inline.copy_value(co + CO_VALUE, mark + F_FAILURE)
end

-- The error of a coroutine becomes one of whoever called it (luaB_auxwrap): a text gets the position of the call.
local function pass_on(L, mark)
  set64(L + L_CI, mark - FRAME_SIZE)
  set64(L + L_FAULT, FAULT_NONE)
  set64(L + L_RAISED, 0)
  inline.copy_value(L + L_ERROR_TAG, mark + F_FAILURE)
  if u64(L + L_ERROR_TAG) == TAG_STRING and inline.out_of_memory(L) == 0 then
    local text = with_position(L, visible_frame(L), u64(L + L_ERROR))
    if text ~= 0 then set64(L + L_ERROR, text) end
  end
  return FAIL
end

-- What was below the mark that is the running frame has ended, with the error in F_FAILURE if that is not nil: a coroutine, or the closing of
-- the variables of one (KIND_CLOSER).
function coroutine_ended(L)
  local mark = u64(L + L_CI)
  local kind = u64(mark + F_KIND)
  local has_failed = u64(mark + F_FAILURE) ~= TAG_NIL
  local co = u64(L + L_COROUTINE)
  set64(co + CO_STATUS, COROUTINE_DEAD)
  leave(L, co)
  if has_failed and kind == KIND_WRAP then return pass_on(L, mark) end
  if has_failed and kind == KIND_RESUME then keep_failed(L, co, mark) end
  local from = u64(mark + F_BASE)
  if has_failed then
    set64(from, TAG_FALSE)
    inline.copy_value(from + 16, mark + F_FAILURE)
    set64(mark + F_TOP, from + 32)
  end
  set64(L + L_ERROR_TAG, TAG_MISSING)
  set64(mark + F_KIND, KIND_PCALL)
  return finish_marker(L)
end

-- The running coroutine ends without an error, once its variables are closed.
local function close_running(L, co)
  local mark = u64(co + CO_MARK)
  local from = u64(mark + F_BASE)
  set64(L + L_CI, mark)
  set64(mark + F_FAILURE, TAG_NIL)
  local kind = u64(mark + F_KIND)
  if kind ~= KIND_CLOSING then
    set64(mark + F_CAUGHT, kind)
    set64(mark + F_KIND, KIND_CLOSING)
  end
  -- Below what `wrap` gave there is nothing that says that all is well.
  if u64(mark + F_CAUGHT) ~= KIND_WRAP then from = from + 16 end
  set64(mark + F_TOP, from)
  close_variables(L, u64(co + CO_BASE))
  return CLOSE
end

-- `coroutine.close([co])`, called by the request in L_CALL_….
function coroutine_end(L, func, count, dest, want)
  local running = u64(L + L_COROUTINE)
  local co = running
  if co == 0 then co = L end
  if count > 0 then
    if u64(func + 16) ~= TAG_THREAD then return no_coroutine(L, func + 16, count) end
    co = u64(func + 24)
  end
  if co == L then
    if running ~= 0 then return raise(L, "cannot close a normal coroutine") end
    return raise(L, "cannot close main thread")
  end
  local status = u64(co + CO_STATUS)
  if status == COROUTINE_NORMAL then return raise(L, "cannot close a normal coroutine") end
  set64(L + L_INDIRECT, 0)
  if status == COROUTINE_RUNNING then return close_running(L, co) end
  local base = func + 32
  if has_room(L, base, u64(co + CO_VALUES), u64(co + CO_FRAMES)) == 0 then return raise(L, "C stack overflow") end
  local mark = inline.push_marker(L, KIND_CLOSING, func, dest, want)
  set64(mark + F_CAUGHT, KIND_CLOSER)
  set64(mark + F_FAILURE, TAG_NIL)
  if status == COROUTINE_DEAD then inline.copy_value(mark + F_FAILURE, co + CO_VALUE) end
  if u64(co + CO_MARKED) ~= 0 then
    restore_coroutine(L, co, base, base)
    set64(L + L_CI, mark)
    close_variables(L, base)
  end
  -- It is the one that runs while its variables are closed.
  enter(L, co, mark)
  set64(co + CO_VALUE, TAG_NIL)
  set64(func, TAG_TRUE)
  set64(mark + F_TOP, func + 16)
  return CLOSE
end

-- The requested call, where it is of a function that changes coroutines.
function call_coroutine(L)
  local func = u64(L + L_CALL_FUNC)
  local count = u64(L + L_CALL_COUNT)
  local dest = u64(L + L_CALL_DEST)
  local want = u64(L + L_CALL_WANT)
  local number = u64(func + 8)
  set64(L + L_BUILTIN, number)
  -- The function that `coroutine.wrap` gives is one of the library that is called as itself.
  local is_wrapped = number == BUILTIN_CALL_COROUTINE
  local indirect = u64(L + L_CALL_EXTRA) + 1
  if is_wrapped then indirect = 0 end
  set64(L + L_INDIRECT, indirect)
  set64(L + L_CALL_EXTRA, 0)
  if number == BUILTIN_YIELD then return coroutine_suspend(L, func, count, dest, want) end
  if number == BUILTIN_CLOSE then return coroutine_end(L, func, count, dest, want) end
  return coroutine_go_on(L, func, count, dest, want)
end

function coroutine_create(L, base, n)
  if n < 1 or u64(base) ~= TAG_CLOSURE and u64(base) ~= TAG_BUILTIN then
    return type_error(L, base, n, 1, "function")
  end
  local co = alloc(L, CO_SIZE)
  if co == 0 then return FAIL end
  set64(co + CO_STATUS, COROUTINE_SUSPENDED)
  set64(co + CO_ROOM, 0)
  set64(co + CO_FRAMES, 0)
  set64(co + CO_VALUES, 0)
  set64(co + CO_BASE, 0)
  set64(co + CO_OPEN, 0)
  set64(co + CO_MARKED, 0)
  inline.copy_value(co + CO_VALUE, base)
  return inline.result(base, TAG_THREAD, co)
end

function coroutine_status(L, base, n)
  if n < 1 or u64(base) ~= TAG_THREAD then return no_coroutine(L, base, n) end
  local co = u64(base + 8)
  local status = COROUTINE_RUNNING
  if co ~= L then
    status = u64(co + CO_STATUS)
  elseif u64(L + L_COROUTINE) ~= 0 then
    status = COROUTINE_NORMAL
  end
  local text = "suspended"
  if status == COROUTINE_RUNNING then text = "running" end
  if status == COROUTINE_NORMAL then text = "normal" end
  if status == COROUTINE_DEAD then text = "dead" end
  return inline.result(base, TAG_STRING, text)
end

-- What is not a coroutine has the state's address in its place.
function coroutine_running(L, base, n)
  local co = u64(L + L_COROUTINE)
  local is_main = TAG_FALSE
  if co == 0 then
    co = L
    is_main = TAG_TRUE
  end
  set64(base - 16, TAG_THREAD)
  set64(base - 8, co)
  set64(base, is_main)
  set64(base + 8, 0)
  return 2
end

function coroutine_isyieldable(L, base, n)
  local running = u64(L + L_COROUTINE)
  local co = running
  if co == 0 then co = L end
  if n > 0 then
    if u64(base) ~= TAG_THREAD then return no_coroutine(L, base, n) end
    co = u64(base + 8)
  end
  local answer = TAG_TRUE
  if co == L then
    answer = TAG_FALSE
  elseif co == running and is_bound(L, co) ~= 0 then
    answer = TAG_FALSE
  end
  return inline.result(base, answer, 0)
end
