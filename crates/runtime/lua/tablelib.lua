-- The table library (Lua manual § 6.7, ltablib.c) for tables without metatable.
--
-- `fast_table_…` are tried before the functions of `prelude/table.lua`, which do everything: what is not the usual case is
-- left to those, mistakes included.

-- The table that is argument 1, if it is one without metatable; 0 otherwise.
local function plain_table(base, n)
  if n < 1 or u64(base) ~= TAG_TABLE then return 0 end
  local t = u64(base + 8)
  if u64(t + T_META) ~= 0 then return 0 end
  return t
end

local function is_fixed(L, t)
  return t < u64(L + L_IMAGE_END)
end

local function refuse_change(L)
  return raise(L, "a table of load time cannot be changed at packet time")
end

-- Argument i, which is to be an integer, `default` where it is absent or nil; and 1, or 0 if it is something else.
local function optional(base, n, i, default)
  local at = base + (i - 1 << 4)
  if i > n or u64(at) == TAG_NIL then return default, 1 end
  if u64(at) ~= TAG_INT then return 0, 0 end
  return u64(at + 8), 1
end

function fast_table_insert(L, base, n)
  local t = plain_table(base, n)
  if t == 0 then return GENERAL end
  if is_fixed(L, t) then return refuse_change(L) end
  local count = u64(t + T_COUNT)
  if n == 2 then
    if u64(base + 16) == TAG_NIL then return 0 end
    return table_append_value(L, t, base + 16)
  end
  if n ~= 3 or u64(base + 16) ~= TAG_INT then return GENERAL end
  local position = u64(base + 24)
  if not ult(position - 1, count + 1) then return GENERAL end
  if position > count then
    if u64(base + 32) == TAG_NIL then return 0 end
    return table_append_value(L, t, base + 32)
  end
  if table_append_value(L, t, u64(t + T_ARRAY) + (count - 1 << 4)) < 0 then return FAIL end
  local place = u64(t + T_ARRAY) + (position - 1 << 4)
  local at = u64(t + T_ARRAY) + (count - 1 << 4)
  while at > place do
    inline.copy_value(at, at - 16)
    at = at - 16
  end
  inline.copy_value(place, base + 32)
  return 0
end

function fast_table_remove(L, base, n)
  local t = plain_table(base, n)
  if t == 0 then return GENERAL end
  local count = u64(t + T_COUNT)
  local position, ok = optional(base, n, 2, count)
  if ok == 0 or not ult(position - 1, count) then return GENERAL end
  if is_fixed(L, t) then return refuse_change(L) end
  local array = u64(t + T_ARRAY)
  local place = array + (position - 1 << 4)
  inline.copy_value(base - 16, place)
  copy_values(place, place + 16, count - position)
  set64(array + (count - 1 << 4), TAG_NIL)
  table_shrink(t)
  return 1
end

function fast_table_unpack(L, base, n)
  local t = plain_table(base, n)
  if t == 0 then return GENERAL end
  local first, first_ok = optional(base, n, 2, 1)
  local last, last_ok = optional(base, n, 3, u64(t + T_COUNT))
  if first_ok + last_ok ~= 2 then return GENERAL end
  if first > last then return 0 end
  local more = last - first
  if ult(999999, more) or inline.result_room(L, base, more + 1) == 0 then return raise(L, "too many results to unpack") end
  local to = base - 16
  if ult(first - 1, u64(t + T_COUNT)) and last <= u64(t + T_COUNT) then
    copy_values(to, u64(t + T_ARRAY) + (first - 1 << 4), more + 1)
    return more + 1
  end
  local i = 0
  while i <= more do
    inline.copy_value(to, table_get_int(t, first + i))
    to = to + 16
    i = i + 1
  end
  return more + 1
end

function table_pack(L, base, n)
  local t = table_new(L, n, 1)
  if t == 0 then return FAIL end
  local i = 1
  while i <= n do
    if table_set_int(L, t, i, base + (i - 1 << 4)) < 0 then return FAIL end
    i = i + 1
  end
  set64(base - 16, TAG_INT)
  set64(base - 8, n)
  if table_set_text(L, t, "n", text_hash("n"), base - 16) < 0 then return FAIL end
  return inline.result(base, TAG_TABLE, t)
end

function table_create(L, base, n)
  local values, values_ok = inline.int_arg(L, base, n, 1)
  if values_ok == 0 then return FAIL end
  local entries, entries_ok = inline.opt_int(L, base, n, 2, 0)
  if entries_ok == 0 then return FAIL end
  if ult(0x7fffffff, values) then return arg_error(L, 1, "out of range") end
  if ult(0x7fffffff, entries) then return arg_error(L, 2, "out of range") end
  local t = table_new(L, values, entries)
  if t == 0 then return FAIL end
  return inline.result(base, TAG_TABLE, t)
end

-- Appends a value at `at`, at the end of memory. The address behind it; 0 after an error, GENERAL if it is no string or number.
local function append_value(L, at, value)
  local tag = u64(value)
  local text = u64(value + 8)
  if tag == TAG_INT then
    local stop = u64(L + L_SCRATCH) + 24
    local start = store_integer(stop, text)
    text = start | stop - start << 32
  elseif tag == TAG_FLOAT then
    text = store_float(L, u64(L + L_SCRATCH), text)
  elseif tag ~= TAG_STRING then
    return GENERAL
  end
  if inline.text_room(L, at, text >> 32) == 0 then return 0 end
  return inline.append(at, text)
end

function fast_table_concat(L, base, n)
  local t = plain_table(base, n)
  if t == 0 then return GENERAL end
  local separator = 0
  if n >= 2 and u64(base + 16) ~= TAG_NIL then
    if u64(base + 16) ~= TAG_STRING then return GENERAL end
    separator = u64(base + 24)
  end
  local i, first_ok = optional(base, n, 3, 1)
  local last, last_ok = optional(base, n, 4, u64(t + T_COUNT))
  if first_ok + last_ok ~= 2 then return GENERAL end
  local first = inline.begin_text(L)
  local at = first
  if i > last then return inline.result(base, TAG_STRING, "") end
  while i < last do
    at = append_value(L, at, table_get_int(t, i))
    if at <= 0 then
      if at == 0 then return FAIL end
      return GENERAL
    end
    if inline.text_room(L, at, separator >> 32) == 0 then return FAIL end
    at = inline.append(at, separator)
    i = i + 1
  end
  at = append_value(L, at, table_get_int(t, last))
  if at <= 0 then
    if at == 0 then return FAIL end
    return GENERAL
  end
  return inline.result(base, TAG_STRING, inline.end_text(L, first, at))
end

function fast_table_move(L, base, n)
  local source = plain_table(base, n)
  if source == 0 or n < 4 then return GENERAL end
  if u64(base + 16) ~= TAG_INT or u64(base + 32) ~= TAG_INT or u64(base + 48) ~= TAG_INT then return GENERAL end
  local first = u64(base + 24)
  local last = u64(base + 40)
  local to = u64(base + 56)
  local target = source
  if n >= 5 and u64(base + 64) ~= TAG_NIL then
    target = plain_table(base + 64, 1)
    if target == 0 then return GENERAL end
  end
  local count = 0
  if last >= first then
    -- Neither the number of values nor the last place may overflow.
    if first <= 0 and last >= 0x7fffffffffffffff + first then return GENERAL end
    count = last - first + 1
    if to > 0x7fffffffffffffff - count + 1 then return GENERAL end
    if is_fixed(L, target) then return refuse_change(L) end
  end
  local step = 1
  local i = 0
  if not (to > last or to <= first or target ~= source) then
    step = -1
    i = count - 1
  end
  while count > 0 do
    if inline.spend(L) ~= 0 then return FAIL end
    if table_set_int(L, target, to + i, table_get_int(source, first + i)) < 0 then return FAIL end
    i = i + step
    count = count - 1
  end
  return inline.result(base, TAG_TABLE, target)
end
