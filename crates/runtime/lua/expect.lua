-- For the library's functions that are written in Lua: the checks of luaL_check… (lauxlib.c) on their own arguments.
--
-- These are primitives: `prim.expect_integer(2, position)` checks the running function's second argument, whose value is given.

-- How many arguments the running function was called with.
function argument_count(L, base, n)
  return inline.result(base, TAG_INT, u64(u64(L + L_CI) + F_COUNT))
end

-- Where the arguments of the running function would have to start, so that its argument i is the value at `at`.
local function start_for(at, i)
  return at - (i - 1 << 4)
end

local function given(L)
  return u64(u64(L + L_CI) + F_COUNT)
end

-- (i): that there is an argument i, if only nil.
function expect_any(L, base, n)
  if given(L) < u64(base + 8) then return arg_error(L, u64(base + 8), "value expected") end
  return 0
end

-- (i, expected, value): the error for an argument of the wrong type.
function bad_type(L, base, n)
  local i = u64(base + 8)
  return type_error(L, start_for(base + 32, i), given(L), i, u64(base + 24))
end

-- (i, value): the value as an integer.
function expect_integer(L, base, n)
  local i = u64(base + 8)
  if u64(base + 16) ~= TAG_INT then
    if convert_int_arg(L, start_for(base + 16, i), given(L), i) ~= 1 then return FAIL end
  end
  return inline.result(base, TAG_INT, u64(base + 24))
end

-- (i, value, default): the value as an integer; the default for nil.
function expect_integer_or(L, base, n)
  if u64(base + 16) == TAG_NIL then
    inline.copy_value(base - 16, base + 32)
    return 1
  end
  return expect_integer(L, base, n)
end

-- (i, value, default): the value as a string; the default for nil.
function expect_text_or(L, base, n)
  local i = u64(base + 8)
  if u64(base + 16) == TAG_NIL then
    inline.copy_value(base - 16, base + 32)
    return 1
  end
  if u64(base + 16) ~= TAG_STRING then
    if convert_str_arg(L, start_for(base + 16, i), given(L), i) ~= 1 then return FAIL end
  end
  return inline.result(base, TAG_STRING, u64(base + 24))
end

local function has_field(L, meta, name, hash)
  return u64(table_get_text(L, meta, name, hash)) ~= TAG_NIL
end

-- (i, value, what): that the value is a table, or has the metamethods that make it behave like one (checktab in ltablib.c):
-- `what` has bit 1 for reading, 2 for writing, 4 for the length.
function expect_table(L, base, n)
  local i = u64(base + 8)
  local tag = u64(base + 16)
  if tag == TAG_TABLE then return 0 end
  local what = u64(base + 40)
  local meta = metatable_of(L, base + 16)
  if meta ~= 0 then
    if what & 1 ~= 0 and not has_field(L, meta, "__index", text_hash("__index")) then meta = 0 end
    if meta ~= 0 and what & 2 ~= 0 and not has_field(L, meta, "__newindex", text_hash("__newindex")) then meta = 0 end
    if meta ~= 0 and what & 4 ~= 0 and tag ~= TAG_STRING and not has_field(L, meta, "__len", text_hash("__len")) then meta = 0 end
  end
  if meta == 0 then return type_error(L, start_for(base + 16, i), given(L), i, "table") end
  return 0
end

-- (value): a length as an integer (luaL_len).
function expect_length(L, base, n)
  local tag = u64(base)
  local payload = u64(base + 8)
  if tag == TAG_STRING and text_to_integer(L, payload, base + 8) == 1 then tag = TAG_INT end
  if tag == TAG_FLOAT and float_is_integer(payload) ~= 0 then
    set64(base + 8, float_to_integer(payload))
    tag = TAG_INT
  end
  if tag ~= TAG_INT then return raise(L, "object length is not an integer") end
  return inline.result(base, TAG_INT, u64(base + 8))
end

-- (value, name): the field of the value's metatable (luaL_getmetafield), nil if there is none.
function metafield(L, base, n)
  local meta = metatable_of(L, base)
  if meta == 0 then return inline.result(base, TAG_NIL, 0) end
  local name = u64(base + 24)
  inline.copy_value(base - 16, table_get_text(L, meta, name, text_hash(name)))
  return 1
end

-- (value): whether it is a table without metatable.
function is_plain_table(L, base, n)
  if u64(base) == TAG_TABLE and u64(u64(base + 8) + T_META) == 0 then return inline.result(base, TAG_TRUE, 0) end
  return inline.result(base, TAG_FALSE, 0)
end
