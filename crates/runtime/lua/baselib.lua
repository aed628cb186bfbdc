-- Basic functions about raw access to tables, and iteration (Lua manual § 6.1).

function base_rawequal(L, base, n)
  if n < 1 then return arg_error(L, 1, "value expected") end
  if n < 2 then return arg_error(L, 2, "value expected") end
  return inline.result(base, TAG_FALSE + value_equal(base, base + 16), 0)
end

function base_rawlen(L, base, n)
  if n >= 1 then
    local tag = u64(base)
    if tag == TAG_TABLE then return inline.result(base, TAG_INT, table_length(u64(base + 8))) end
    if tag == TAG_STRING then return inline.result(base, TAG_INT, u64(base + 8) >> 32) end
  end
  return type_error(L, base, n, 1, "table or string")
end

function base_rawget(L, base, n)
  if n < 1 or u64(base) ~= TAG_TABLE then return type_error(L, base, n, 1, "table") end
  if n < 2 then return arg_error(L, 2, "value expected") end
  local value = table_get(u64(base + 8), base + 16)
  inline.copy_value(base - 16, value)
  return 1
end

function base_rawset(L, base, n)
  if n < 1 or u64(base) ~= TAG_TABLE then return type_error(L, base, n, 1, "table") end
  if n < 2 then return arg_error(L, 2, "value expected") end
  if n < 3 then return arg_error(L, 3, "value expected") end
  if u64(base + 16) == TAG_NIL then return raise_plain(L, "table index is nil") end
  local t = u64(base + 8)
  if table_set(L, t, base + 16, base + 32) < 0 then return FAIL end
  return inline.result(base, TAG_TABLE, t)
end

function base_next(L, base, n)
  if n < 1 or u64(base) ~= TAG_TABLE then return type_error(L, base, n, 1, "table") end
  if n < 2 then set64(base + 16, TAG_NIL) end
  local found = table_next(L, u64(base + 8), base + 16, base + 16)
  if found < 0 then return FAIL end
  if found == 0 then return inline.result(base, TAG_NIL, 0) end
  inline.copy_value(base - 16, base + 16)
  inline.copy_value(base, base + 32)
  return 2
end

function base_select(L, base, n)
  if n >= 1 and u64(base) == TAG_STRING then
    local text = u64(base + 8)
    if text >> 32 == 1 and u8(text & 0xffffffff) == 35 then return inline.result(base, TAG_INT, n - 1) end
  end
  local i, ok = inline.int_arg(L, base, n, 1)
  if ok == 0 then return FAIL end
  if i < 0 then
    i = n + i
  elseif i > n then
    i = n
  end
  if i < 1 then return arg_error(L, 1, "index out of range") end
  local count = n - i
  local k = 0
  while k < count do
    local from = base + (i + k << 4)
    local to = base + (k - 1 << 4)
    set64(to, u64(from))
    set64(to + 8, u64(from + 8))
    k = k + 1
  end
  return count
end

-- For the library: the step of `ipairs` over a table without metatable.
function ipairs_step(L, base, n)
  local i = u64(base + 24) + 1
  local value = table_get_int(u64(base + 8), i)
  if u64(value) == TAG_NIL then return inline.result(base, TAG_NIL, 0) end
  inline.copy_value(base, value)
  return inline.result(base, TAG_INT, i) + 1
end
