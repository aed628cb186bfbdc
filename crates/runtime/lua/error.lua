-- Errors: their texts, and where they happen.
--
-- An error is a value in L_ERROR_TAG/L_ERROR. Whoever raises one returns FAIL; generated code then calls `unwind`. Texts follow
-- ldebug.c and lauxlib.c of Lua 5.5: what an operation of the virtual machine raises has a position if the running function is
-- a function of the script; what a library function raises has the position of the call of that library function.

-- Copies bytes, 8 at a time; up to 7 bytes behind the last are overwritten with whatever follows the source.
function copy_bytes(to, from, length)
  local at = 0
  while at < length do
    set64(to + at, u64(from + at))
    at = at + 8
  end
  return 0
end

-- The concatenation of two texts, in the heap; 0 if there is no memory (and the error is raised).
function text_join(L, first, second)
  local first_length = first >> 32
  local length = first_length + (second >> 32)
  local at = alloc(L, length + 8)
  if at == 0 then return 0 end
  copy_bytes(at, first & 0xffffffff, first_length)
  copy_bytes(at + first_length, second & 0xffffffff, second >> 32)
  return at | length << 32
end

function inline.throw_text(L, text)
  set64(L + L_FAULT, FAULT_NONE)
  if text ~= 0 then
    set64(L + L_ERROR_TAG, TAG_STRING)
    set64(L + L_ERROR, text)
  end
  return FAIL
end

-- Raises the text as it is.
function raise_plain(L, text)
  return inline.throw_text(L, text)
end

-- Whether a frame is one of a library function written in Lua: 0, or HIDDEN_….
function hidden_kind(frame)
  if u64(frame + F_KIND) ~= KIND_LUA then return 0 end
  return u64(u64(u64(frame + F_CLOSURE) + C_PROTO) + P_HIDDEN)
end

-- The frame from which the library function was called that runs: it is the innermost one unless the function is written in Lua.
function visible_frame(L)
  local frame = u64(L + L_CI)
  if u64(L + L_INDIRECT) ~= 0 then return frame end
  local kind = hidden_kind(frame)
  while kind == HIDDEN_PART do
    frame = frame - FRAME_SIZE
    kind = hidden_kind(frame)
  end
  if kind == HIDDEN_FUNCTION then frame = frame - FRAME_SIZE end
  return frame
end

-- Notes whether the error that a library function raises comes from one that has no frame.
function note_raised(L)
  local raised = 0
  if u64(L + L_INDIRECT) ~= 0 or hidden_kind(u64(L + L_CI)) == 0 then raised = 1 end
  set64(L + L_RAISED, raised)
  return 0
end

-- The site that a frame stands at.
function inline.site_of(L, frame)
  return u64(L + L_SITES) + u64(frame + F_SITE) * SITE_SIZE
end

-- The text after `script.lua:12: `, if the frame is one of a function of the script.
function with_position(L, frame, text)
  if u64(frame + F_KIND) ~= KIND_LUA or text == 0 or hidden_kind(frame) ~= 0 then return text end
  local site = inline.site_of(L, frame)
  -- Functions of Moonhook's own have no lines (lauxlib.c, luaL_where).
  if u64(site + S_LINE) == 0 then return text end
  local prefix = text_join(L, u64(site + S_FILE), ":")
  if prefix == 0 then return 0 end
  local line = integer_to_text(L, u64(site + S_LINE))
  if line == 0 then return 0 end
  prefix = text_join(L, prefix, line)
  if prefix == 0 then return 0 end
  prefix = text_join(L, prefix, ": ")
  if prefix == 0 then return 0 end
  return text_join(L, prefix, text)
end

-- Notes an error whose text is made later, when little is left on the kernel's stack (`finish_fault`).
function inline.fault(L, kind, a, b, c)
  set64(L + L_FAULT, kind)
  set64(L + L_FAULT_A, a)
  set64(L + L_FAULT_B, b)
  set64(L + L_FAULT_C, c)
  return FAIL
end

-- What a library function raises (luaL_error): with the position of its call.
function raise(L, text)
  if text == 0 then return FAIL end
  return inline.fault(L, FAULT_CALL, text, 0, 0)
end

-- What an operation raises (luaG_runerror): with a position if it stands in the script.
function raise_here(L, text)
  if text == 0 then return FAIL end
  return inline.fault(L, FAULT_HERE, text, 0, 0)
end

-- `bad argument #n to 'f' (text)` (luaL_argerror).
function arg_error(L, n, text)
  if text == 0 then return FAIL end
  return inline.fault(L, FAULT_ARGUMENT, n, text, 0)
end

-- `… (string expected, got nil)` (luaL_typeerror) for the i-th of the arguments at `base`.
function type_error(L, base, count, i, expected)
  local value = 0
  if i <= count then value = base + (i - 1 << 4) end
  return inline.fault(L, FAULT_TYPE, i, expected, value)
end

-- `attempt to index a nil value (local 'x')` (luaG_typeerror); `name` is the part in brackets, with the blank before it, or 0.
function operand_error(L, value, what, name)
  return inline.fault(L, FAULT_OPERAND, value, what, name)
end

-- `attempt to compare two table values` (luaG_ordererror).
function order_error(L, first, second)
  return inline.fault(L, FAULT_ORDER, first, second, 0)
end

-- The name of a type (Lua manual § 2.1).
function tag_name(tag)
  if tag == TAG_NIL then return "nil" end
  if tag <= TAG_TRUE then return "boolean" end
  if tag <= TAG_FLOAT then return "number" end
  if tag == TAG_STRING then return "string" end
  if tag == TAG_TABLE then return "table" end
  if tag <= TAG_BUILTIN then return "function" end
  if tag == TAG_THREAD then return "thread" end
  return "userdata"
end

-- The name of a value's type.
function value_type(value)
  if u64(value) == TAG_OPAQUE then return u64(u64(value + 8)) end
  return tag_name(u64(value))
end

-- The type's name in messages (luaT_objtypename): `__name` of the metatable comes first.
function type_name(L, value)
  local tag = u64(value)
  if tag == TAG_TABLE then
    local meta = u64(u64(value + 8) + T_META)
    if meta ~= 0 then
      local name = table_get_text(L, meta, "__name", text_hash("__name"))
      if u64(name) == TAG_STRING then return u64(name + 8) end
    end
  end
  if tag >= TAG_STRUCTURE then return "structure" end
  if tag == TAG_OBJECT then return u64(u64(L + L_OBJECT_NAMES) + (u64(value + 8) << 3)) end
  return value_type(value)
end

-- Makes the error's text, if that is still to be done.
function finish_fault(L)
  local kind = u64(L + L_FAULT)
  if kind == FAULT_NONE then
    set64(L + L_INDIRECT, 0)
    return 0
  end
  set64(L + L_FAULT, FAULT_NONE)
  local a = u64(L + L_FAULT_A)
  local b = u64(L + L_FAULT_B)
  local c = u64(L + L_FAULT_C)
  local text = a
  local frame = visible_frame(L)
  if kind == FAULT_ARGUMENT then text = argument_text(L, a, b) end
  if kind == FAULT_TYPE then
    local got = "no value"
    if c ~= 0 then got = type_name(L, c) end
    text = text_join(L, b, " expected, got ")
    if text ~= 0 then text = text_join(L, text, got) end
    if text ~= 0 then text = argument_text(L, a, text) end
  end
  if kind == FAULT_OPERAND then text = operand_text(L, a, b, c) end
  if kind == FAULT_ORDER then text = order_text(L, a, b) end
  if kind == FAULT_FOR then text = for_text(L, a, b) end
  if kind == FAULT_HERE or kind >= FAULT_OPERAND then
    -- An operation of a library function has no position.
    set64(L + L_RAISED, 0)
    if frame == u64(L + L_CI) then text = with_position(L, frame, text) end
  else
    note_raised(L)
    text = with_position(L, frame, text)
  end
  set64(L + L_INDIRECT, 0)
  return inline.throw_text(L, text)
end

-- `bad argument #n to 'f' (problem)`.
function argument_text(L, n, problem)
  local frame = visible_frame(L)
  local name = 0
  local method = 0
  if u64(frame + F_KIND) == KIND_LUA and hidden_kind(frame) == 0 then
    local site = inline.site_of(L, frame)
    name = u64(site + S_CALL)
    method = u64(site + S_METHOD)
  elseif frame == u64(L + L_CI) then
    name = u64(u64(L + L_BUILTIN_NAMES) + (u64(L + L_BUILTIN) << 3))
  else
    -- A library function that is written in Lua.
    name = u64(u64(u64(frame + FRAME_SIZE + F_CLOSURE) + C_PROTO) + P_NAME)
  end
  if name == 0 then name = "?" end
  local word = "bad argument #"
  local extra = u64(L + L_INDIRECT) - 1
  if extra > 0 and n <= extra then
    word = "bad extra argument #"
  else
    if extra > 0 then n = n - extra end
    if method ~= 0 then n = n - 1 end
  end
  local message = 0
  if n == 0 then
    message = text_join(L, "calling '", name)
    if message ~= 0 then message = text_join(L, message, "' on bad self (") end
  else
    message = integer_to_text(L, n)
    if message ~= 0 then message = text_join(L, word, message) end
    if message ~= 0 then message = text_join(L, message, " to '") end
    if message ~= 0 then message = text_join(L, message, name) end
    if message ~= 0 then message = text_join(L, message, "' (") end
  end
  if message ~= 0 then message = text_join(L, message, problem) end
  if message ~= 0 then message = text_join(L, message, ")") end
  return message
end

function operand_text(L, value, what, name)
  local text = text_join(L, "attempt to ", what)
  if text ~= 0 then text = text_join(L, text, " a ") end
  if text ~= 0 then text = text_join(L, text, type_name(L, value)) end
  if text ~= 0 then text = text_join(L, text, " value") end
  if text ~= 0 and name ~= 0 then text = text_join(L, text, name) end
  return text
end

-- The name of the first (`S_A`) or second (`S_B`) operand at the running site; 0 outside of the script.
function operand_name(L, which)
  local frame = u64(L + L_CI)
  if u64(frame + F_KIND) ~= KIND_LUA then return 0 end
  return u64(inline.site_of(L, frame) + which)
end

function order_text(L, first, second)
  local left = type_name(L, first)
  local right = type_name(L, second)
  local text = 0
  if text_equal(left, right) ~= 0 then
    text = text_join(L, "attempt to compare two ", left)
    if text ~= 0 then text = text_join(L, text, " values") end
  else
    text = text_join(L, "attempt to compare ", left)
    if text ~= 0 then text = text_join(L, text, " with ") end
    if text ~= 0 then text = text_join(L, text, right) end
  end
  return text
end

-- `bad 'for' limit (number expected, got nil)` (luaG_forerror).
function for_text(L, value, what)
  local text = text_join(L, "bad 'for' ", what)
  if text ~= 0 then text = text_join(L, text, " (number expected, got ") end
  if text ~= 0 then text = text_join(L, text, type_name(L, value)) end
  if text ~= 0 then text = text_join(L, text, ")") end
  return text
end

-- Every loop and call takes a step; without position, as in docs/packet.md.
function budget_error(L)
  set64(L + L_BUDGET, -1)
  return raise_plain(L, "step budget exhausted")
end

-- Where something has failed and no error says why, the kernel has ended a loop: since 6.15 after a quarter of a second.
function inline.note_end_of_time(L)
  if u64(L + L_ERROR_TAG) == TAG_MISSING then budget_error(L) end
end

-- Notes who was being called when an error happened: at L_TRACE a list of source, line and name of each function of the script,
-- innermost first (at most 32), as far as there is memory.
function take_traceback(L)
  set64(L + L_TRACE, 0)
  local saved = u64(L + L_ERROR)
  local saved_tag = u64(L + L_ERROR_TAG)
  local at = alloc(L, 8 + 32 * 32)
  set64(L + L_ERROR, saved)
  set64(L + L_ERROR_TAG, saved_tag)
  if at == 0 then return 0 end
  local count = 0
  local frame = u64(L + L_CI)
  while u64(frame + F_KIND) ~= KIND_ENTRY and count < 32 do
    if u64(frame + F_KIND) == KIND_LUA and u64(u64(u64(frame + F_CLOSURE) + C_PROTO) + P_HIDDEN) == 0 then
      local entry = at + 8 + (count << 5)
      local site = inline.site_of(L, frame)
      set64(entry, u64(site + S_SOURCE))
      set64(entry + 8, u64(site + S_LINE))
      set64(entry + 16, function_name(L, frame))
      set64(entry + 24, 0)
      count = count + 1
    end
    frame = frame - FRAME_SIZE
  end
  set64(at, count)
  set64(L + L_TRACE, at)
  return 0
end

-- What a traceback calls the function that runs in the frame: the name at the call of it.
function function_name(L, frame)
  local caller = frame - FRAME_SIZE
  if u64(caller + F_KIND) == KIND_ENTRY then return "handler" end
  if u64(caller + F_KIND) == KIND_LUA and u64(frame + F_TAIL) == 0 then
    local name = u64(inline.site_of(L, caller) + S_TRACE)
    if name ~= 0 then return name end
  end
  return u64(u64(u64(frame + F_CLOSURE) + C_PROTO) + P_NAME)
end
