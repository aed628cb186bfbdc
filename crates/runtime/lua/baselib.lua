-- Basic functions (Lua manual § 6.2, lbaselib.c) about tables without metamethods, and about lists of arguments.

-- What a library function returns when an operation inside it has failed: such errors have no position (luaG_runerror).
function inline.operation_failed(L)
  if u64(L + L_FAULT) == FAULT_HERE then return inline.throw_text(L, u64(L + L_FAULT_A)) end
  return FAIL
end

-- Copies values; the areas may overlap if `to` is below `from`.
function copy_values(to, from, count)
  local stop = to + (count << 4)
  while to < stop do
    inline.copy_value(to, from)
    to = to + 16
    from = from + 16
  end
  return 0
end

function base_rawequal(L, base, n)
  if n < 2 then return arg_error(L, n + 1, "value expected") end
  return inline.result(base, TAG_FALSE + value_equal(base, base + 16), 0)
end

-- Shared tables and records in them have nothing of their own to look at: what there is comes from the map, without metamethods.
local function is_shared(t)
  return u64(t + T_FLAGS) & FLAG_SHARED ~= 0
end

function base_rawlen(L, base, n)
  local tag = u64(base)
  local payload = u64(base + 8)
  if n >= 1 and tag == TAG_STRING then return inline.result(base, TAG_INT, payload >> 32) end
  if n < 1 or tag ~= TAG_TABLE then return type_error(L, base, n, 1, "table or string") end
  if u64(payload + T_FLAGS) & (FLAG_SHARED | FLAG_ENTRY) == FLAG_SHARED then
    return inline.request_for_call(L, payload, 0, base - 16, ACCESS_LENGTH)
  end
  return inline.result(base, TAG_INT, u64(payload + T_COUNT))
end

function base_rawget(L, base, n)
  if n < 1 or u64(base) ~= TAG_TABLE then return type_error(L, base, n, 1, "table") end
  if n < 2 then return arg_error(L, 2, "value expected") end
  local t = u64(base + 8)
  if is_shared(t) then return inline.request_for_call(L, t, base + 16, base - 16, ACCESS_READ) end
  local value = table_get(L, t, base + 16)
  if u64(value) == TAG_MISSING then
    missing_error(L)
    return inline.operation_failed(L)
  end
  inline.copy_value(base - 16, value)
  return 1
end

function base_rawset(L, base, n)
  if n < 1 or u64(base) ~= TAG_TABLE then return type_error(L, base, n, 1, "table") end
  if n < 3 then return arg_error(L, n + 1, "value expected") end
  local t = u64(base + 8)
  if is_shared(t) then
    inline.copy_value(base - 16, base)
    return inline.request_for_call(L, t, base + 16, base + 32, ACCESS_WRITE)
  end
  if table_set(L, t, base + 16, base + 32) < 0 then return inline.operation_failed(L) end
  return inline.result(base, TAG_TABLE, t)
end

function base_next(L, base, n)
  if n < 1 or u64(base) ~= TAG_TABLE then return type_error(L, base, n, 1, "table") end
  if is_shared(u64(base + 8)) then return inline.next_of_shared(L, base, n) end
  if n < 2 then set64(base + 16, TAG_NIL) end
  local found = table_next(L, u64(base + 8), base + 16, base - 16)
  if found < 0 then return FAIL end
  if found ~= 0 then return 2 end
  return inline.result(base, TAG_NIL, 0)
end

function base_select(L, base, n)
  if n >= 1 and u64(base) == TAG_STRING then
    local text = u64(base + 8)
    if text >> 32 ~= 0 and u8(text & 0xffffffff) == 35 then return inline.result(base, TAG_INT, n - 1) end
  end
  local i, ok = inline.int_arg(L, base, n, 1)
  if ok == 0 then return FAIL end
  if i < 0 then
    i = n + i
  elseif i > n then
    i = n
  end
  if i < 1 then return arg_error(L, 1, "index out of range") end
  copy_values(base - 16, base + (i << 4), n - i)
  return n - i
end

-- The iterator of `ipairs` for tables without metatable (ipairsaux). Should the table have got one since the loop began, then
-- only tables are looked at for __index.
function ipairs_next(L, base, n)
  local i, ok = inline.int_arg(L, base, n, 2)
  if ok == 0 then return FAIL end
  if u64(base) ~= TAG_TABLE then return operand_error(L, base, "index", 0) end
  local t = u64(base + 8)
  local value = table_get_int(t, i + 1)
  while u64(value) == TAG_NIL and u64(t + T_META) ~= 0 do
    local handler = table_get_text(L, u64(t + T_META), "__index", text_hash("__index"))
    if u64(handler) ~= TAG_TABLE then
      if u64(handler) == TAG_NIL then break end
      return raise(L, "a table cannot get an __index that is no table while ipairs walks it")
    end
    if inline.spend(L) ~= 0 then return FAIL end
    t = u64(handler + 8)
    value = table_get_int(t, i + 1)
  end
  if u64(value) == TAG_NIL then return inline.result(base, TAG_NIL, 0) end
  inline.copy_value(base, value)
  set64(base - 16, TAG_INT)
  set64(base - 8, i + 1)
  return 2
end
