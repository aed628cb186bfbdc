-- Basic functions (Lua manual § 6.2) about types, metatables and errors.

function inline.result(base, tag, payload)
  set64(base - 16, tag)
  set64(base - 8, payload)
  return 1
end

function base_type(L, base, n)
  if n < 1 then return arg_error(L, 1, "value expected") end
  return inline.result(base, TAG_STRING, value_type(base))
end

-- The metatable's field `__metatable` stands for the metatable.
function base_getmetatable(L, base, n)
  if n < 1 then return arg_error(L, 1, "value expected") end
  local meta = metatable_of(L, base)
  if meta == 0 then return inline.result(base, TAG_NIL, 0) end
  -- The metatable of strings is not shown to scripts.
  if u64(base) == TAG_STRING then return inline.result(base, TAG_FALSE, 0) end
  local field = table_get_text(L, meta, "__metatable", text_hash("__metatable"))
  if u64(field) ~= TAG_NIL then
    inline.copy_value(base - 16, field)
    return 1
  end
  return inline.result(base, TAG_TABLE, meta)
end

function base_setmetatable(L, base, n)
  if n < 1 or u64(base) ~= TAG_TABLE then return type_error(L, base, n, 1, "table") end
  if n < 2 or (u64(base + 16) ~= TAG_TABLE and u64(base + 16) ~= TAG_NIL) then
    return type_error(L, base, n, 2, "nil or table")
  end
  local t = u64(base + 8)
  local old = u64(t + T_META)
  if old ~= 0 and u64(table_get_text(L, old, "__metatable", text_hash("__metatable"))) ~= TAG_NIL then
    return raise(L, "cannot change a protected metatable")
  end
  if u64(t + T_FLAGS) & FLAG_ENTRY ~= 0 then return raise(L, "an entry of a shared table cannot get a metatable") end
  if t < u64(L + L_IMAGE_END) then return raise(L, "a table of load time cannot be changed at packet time") end
  local meta = 0
  if u64(base + 16) == TAG_TABLE then meta = u64(base + 24) end
  set64(t + T_META, meta)
  return inline.result(base, TAG_TABLE, t)
end

-- The frame of the function at a level of the stack (1: the caller of the library function that runs), as lua_getstack counts them:
-- calls of library functions are levels too.
local function frame_at(L, level)
  local frame = u64(L + L_CI)
  while u64(frame + F_KIND) ~= KIND_ENTRY do
    local kind = u64(frame + F_KIND)
    local levels = 1
    -- The stack of a coroutine ends there.
    if kind >= KIND_RESUME then return frame end
    if kind == KIND_LUA then
      if u64(u64(u64(frame + F_CLOSURE) + C_PROTO) + P_HIDDEN) == HIDDEN_PART then levels = 0 end
    elseif kind == KIND_HANDLER then
      -- Below it is what raised the error: a library function has no frame.
      levels = u64(frame + F_WANT)
    end
    level = level - levels
    if level <= 0 and levels ~= 0 then return frame end
    frame = frame - FRAME_SIZE
  end
  return frame
end

-- Raises the value at `value`; a string gets the position of the function at that level (1: the caller; 0: none).
function raise_value(L, value, level)
  local tag = u64(value)
  local payload = u64(value + 8)
  note_raised(L)
  if tag == TAG_STRING and level > 0 then
    payload = with_position(L, frame_at(L, level), payload)
    if payload == 0 then return FAIL end
  end
  set64(L + L_FAULT, FAULT_NONE)
  set64(L + L_ERROR_TAG, tag)
  set64(L + L_ERROR, payload)
  return FAIL
end

function base_error(L, base, n)
  local level, ok = inline.opt_int(L, base, n, 2, 1)
  if ok == 0 then return FAIL end
  if n < 1 then set64(base, TAG_NIL) end
  return raise_value(L, base, level)
end

function base_assert(L, base, n)
  if n < 1 then return arg_error(L, 1, "value expected") end
  if u64(base) > TAG_FALSE then
    local i = 0
    while i < n do
      local from = base + (i << 4)
      set64(from - 16, u64(from))
      set64(from - 8, u64(from + 8))
      i = i + 1
    end
    return n
  end
  if n < 2 then
    set64(base + 16, TAG_STRING)
    set64(base + 24, "assertion failed!")
  end
  return raise_value(L, base + 16, 1)
end

-- For the library: the text of a value without metamethods (luaL_tolstring). Addresses are those in packet memory.
function raw_tostring(L, base, n)
  if n < 1 then return arg_error(L, 1, "value expected") end
  local tag = u64(base)
  local payload = u64(base + 8)
  if tag <= TAG_STRING then
    local text = value_to_text(L, tag, payload)
    if text == 0 then return FAIL end
    return inline.result(base, TAG_STRING, text)
  end
  local text = text_join(L, type_name(L, base), ": 0x")
  if text == 0 then return FAIL end
  local digits = alloc(L, 16)
  if digits == 0 then return FAIL end
  local at = 16
  while at > 0 do
    at = at - 1
    local digit = payload & 15
    if digit < 10 then digit = digit + 48 else digit = digit + 87 end
    set8(digits + at, digit)
    payload = payload >> 4
  end
  text = text_join(L, text, digits | 16 << 32)
  if text == 0 then return FAIL end
  return inline.result(base, TAG_STRING, text)
end

-- For the library: the metatable itself, whatever `__metatable` says; nil if there is none.
function raw_metatable(L, base, n)
  local meta = metatable_of(L, base)
  if meta == 0 or meta == u64(L + L_SHARED_META) then return inline.result(base, TAG_NIL, 0) end
  return inline.result(base, TAG_TABLE, meta)
end

-- For the library: errors of its functions that are written in Lua, worded for their own call.

function prim_raise(L, base, n)
  return raise(L, u64(base + 8))
end

function prim_arg_error(L, base, n)
  return arg_error(L, u64(base + 8), u64(base + 24))
end

-- Number of the argument, expected type, value (none: no value).
function prim_type_error(L, base, n)
  return type_error(L, base + 32 - (u64(base + 8) - 1 << 4), u64(base + 8) + n - 3, u64(base + 8), u64(base + 24))
end

-- For the library: whether none of the values has a metatable that `tostring` looks at, as true or false.
function plain_texts(L, base, n)
  local i = 0
  local answer = TAG_TRUE
  while i < n do
    local value = base + (i << 4)
    local tag = u64(value)
    if tag == TAG_OBJECT or tag >= TAG_STRUCTURE or tag == TAG_TABLE and metatable_of(L, value) ~= 0 then answer = TAG_FALSE end
    i = i + 1
  end
  return inline.result(base, answer, 0)
end

-- For the library: whether some of the values is a table.
function any_table(L, base, n)
  local i = 0
  while i < n do
    if u64(base + (i << 4)) == TAG_TABLE then return inline.result(base, TAG_TRUE, 0) end
    i = i + 1
  end
  return inline.result(base, TAG_FALSE, 0)
end

-- For the library: the texts of values that `plain_texts` is true for.
function to_texts(L, base, n)
  local i = 0
  while i < n do
    local value = base + (i << 4)
    if raw_tostring(L, value, 1) < 0 then return FAIL end
    i = i + 1
  end
  return n
end

-- For the library: where packet memory begins that is given back by `release_memory`, if nothing refers to it any more; nothing is
-- given back if the handler has got hold of an entry meanwhile.
function memory_mark(L, base, n)
  return inline.result(base, TAG_INT, u64(L + L_HEAP))
end

function release_memory(L, base, n)
  if u64(base + 8) < u64(L + L_KEPT) then return 0 end
  inline.forget_absent(L)
  set64(L + L_HEAP, u64(base + 8))
  set64(L + L_GROW_END, 0)
  return 0
end

-- For the library: how many bytes of packet memory the handler uses.
function memory_used(L, base, n)
  return inline.result(base, TAG_INT, u64(L + L_HEAP) - u64(L + L_HEAP_START))
end
