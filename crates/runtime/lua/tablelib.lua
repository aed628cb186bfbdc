-- The table library where no metamethods take part (Lua manual § 6.6); the functions themselves are in prelude/table.lua.

-- For the library: the integer that its argument number i is; the arguments of this routine are i and the value.
function check_integer(L, base, n)
  local i = u64(base + 8)
  local value, ok = inline.int_arg(L, base + 16 - (i - 1 << 4), i + n - 2, i)
  if ok == 0 then return FAIL end
  return inline.result(base, TAG_INT, value)
end

-- The same with a default in front of the value.
function optional_integer(L, base, n)
  local i = u64(base + 8)
  if n < 3 or u64(base + 32) == TAG_NIL then
    inline.copy_value(base - 16, base + 16)
    return 1
  end
  local value, ok = inline.int_arg(L, base + 32 - (i - 1 << 4), i + n - 3, i)
  if ok == 0 then return FAIL end
  return inline.result(base, TAG_INT, value)
end

-- The same for texts.
function optional_text(L, base, n)
  local i = u64(base + 8)
  if n < 3 or u64(base + 32) == TAG_NIL then
    inline.copy_value(base - 16, base + 16)
    return 1
  end
  local value, ok = inline.str_arg(L, base + 32 - (i - 1 << 4), i + n - 3, i)
  if ok == 0 then return FAIL end
  return inline.result(base, TAG_STRING, value)
end

-- table.pack(…).
function table_pack(L, base, n)
  local t = table_new(L, n, 1)
  if t == 0 then return FAIL end
  copy_bytes(u64(t + T_ARRAY), base, n << 4)
  set64(t + T_COUNT, n)
  table_shrink(t)
  local key = L + L_KEY
  set64(key, TAG_STRING)
  set64(key + 8, "n")
  set64(key + 16, TAG_INT)
  set64(key + 24, n)
  if table_set(L, t, key, key + 16) < 0 then return FAIL end
  return inline.result(base, TAG_TABLE, t)
end

-- t[i], …, t[e] of a table without metatable.
function table_unpack(L, base, n)
  local t = u64(base + 8)
  local i = u64(base + 24)
  local e = u64(base + 40)
  if i > e then return 0 end
  -- The difference may be too large for an integer.
  if ult(999999, e - i) or base + (e - i << 4) + 4096 > u64(L + L_STACK_END) then
    return raise(L, "too many results to unpack")
  end
  local count = e - i + 1
  local k = 0
  while k < count do
    local value = table_get_int(t, i + k)
    local to = base + (k - 1 << 4)
    set64(to, u64(value))
    set64(to + 8, u64(value + 8))
    k = k + 1
  end
  return count
end

-- Puts a value into the array part: t, position (1 to the length + 1), value. True, or false where only assignments do.
function table_insert(L, base, n)
  local t = u64(base + 8)
  local position = u64(base + 24)
  local count = u64(t + T_COUNT)
  if u64(base + 32) == TAG_NIL or t < u64(L + L_IMAGE_END) then return inline.result(base, TAG_FALSE, 0) end
  if table_append_value(L, t, base + 32) < 0 then return FAIL end
  local array = u64(t + T_ARRAY)
  local at = count
  while at >= position do
    local from = array + (at - 1 << 4)
    set64(from + 16, u64(from))
    set64(from + 24, u64(from + 8))
    at = at - 1
  end
  local place = array + (position - 1 << 4)
  set64(place, u64(base + 32))
  set64(place + 8, u64(base + 40))
  return inline.result(base, TAG_TRUE, 0)
end

-- The text of t[i], separator, …, t[j], where all of them are strings and integers: t, separator, i, j. Nil otherwise.
function table_concat(L, base, n)
  local t = u64(base + 8)
  local separator = u64(base + 24)
  local i = u64(base + 40)
  local j = u64(base + 56)
  if i > j then return inline.result(base, TAG_STRING, "") end
  if i < 1 or j > u64(t + T_COUNT) then return inline.result(base, TAG_NIL, 0) end
  local array = u64(t + T_ARRAY)
  local length = 0
  local k = i
  while k <= j do
    local value = array + (k - 1 << 4)
    local tag = u64(value)
    if tag == TAG_STRING then
      length = length + (u64(value + 8) >> 32)
    elseif tag == TAG_INT then
      length = length + 20
    else
      return inline.result(base, TAG_NIL, 0)
    end
    length = length + (separator >> 32)
    k = k + 1
  end
  local start = alloc(L, length + 8)
  if start == 0 then return FAIL end
  local at = start
  k = i
  while k <= j do
    local value = array + (k - 1 << 4)
    local text = u64(value + 8)
    if u64(value) == TAG_INT then text = integer_to_text(L, text) end
    if text == 0 then return FAIL end
    copy_bytes(at, text & 0xffffffff, text >> 32)
    at = at + (text >> 32)
    if k < j then
      copy_bytes(at, separator & 0xffffffff, separator >> 32)
      at = at + (separator >> 32)
    end
    k = k + 1
  end
  return inline.result(base, TAG_STRING, start | at - start << 32)
end

-- Whether the value at `a` comes before the one at `b`; both are integers, or both are strings.
function inline.plain_less(tag, a, b)
  local less = 0
  if tag == TAG_INT then
    if u64(a + 8) < u64(b + 8) then less = 1 end
  else
    if text_compare(u64(a + 8), u64(b + 8)) < 0 then less = 1 end
  end
  return less
end

-- Sorts t[1] to t[n] where they are all integers or all strings: t, n. False otherwise. (Shellsort: equal values are the same value.)
function table_sort(L, base, n)
  local t = u64(base + 8)
  local count = u64(base + 24)
  if count > u64(t + T_COUNT) or t < u64(L + L_IMAGE_END) then return inline.result(base, TAG_FALSE, 0) end
  local array = u64(t + T_ARRAY)
  local tag = u64(array)
  if tag ~= TAG_INT and tag ~= TAG_STRING then return inline.result(base, TAG_FALSE, 0) end
  local k = 1
  while k < count do
    if u64(array + (k << 4)) ~= tag then return inline.result(base, TAG_FALSE, 0) end
    k = k + 1
  end
  local gap = 1
  while gap < count do
    gap = gap * 3 + 1
  end
  while gap > 1 do
    gap = udiv(gap, 3)
    sort_by_gap(L, array, count, gap, tag)
  end
  return inline.result(base, TAG_TRUE, 0)
end

-- Sorts the values that are `gap` apart, by insertion.
function sort_by_gap(L, array, count, gap, tag)
  local held = L + L_KEY
  local i = gap
  while i < count do
    inline.copy_value(held, array + (i << 4))
    local j = i - gap
    while j >= 0 and inline.plain_less(tag, held, array + (j << 4)) ~= 0 do
      inline.copy_value(array + (j + gap << 4), array + (j << 4))
      j = j - gap
    end
    inline.copy_value(array + (j + gap << 4), held)
    i = i + 1
  end
  return 0
end
