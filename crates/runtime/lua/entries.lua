-- Entries of shared tables that are records. What a handler holds of one is a table that knows the record's number and the entry's
-- key; there is one for each key, so that equal entries are equal tables. Where the handler replaces or deletes the entry, it becomes an
-- ordinary table with the fields that the entry had; if the entry was gone before, it has no key any more.

-- The table for a record's number and a key, if the handler holds one; 0 otherwise.
function entry_find(L, number, key)
  local all = u64(L + L_ENTRIES)
  if all == 0 then return 0 end
  local held = table_get_int(all, number + 1)
  if u64(held) == TAG_NIL then return 0 end
  local found = table_get(L, u64(held + 8), key)
  if u64(found) == TAG_NIL then return 0 end
  return u64(found + 8)
end

-- The value of a table, for routines that take the address of one.
function inline.as_value(L, t)
  set64(L + L_RESULT, TAG_TABLE)
  set64(L + L_RESULT + 8, t)
  return L + L_RESULT
end

-- The tables by key for a record's number: 0 if there is no memory.
local function held_for(L, number)
  local all = u64(L + L_ENTRIES)
  if all == 0 then
    all = table_new(L, 0, 0)
    if all == 0 then return 0 end
    set64(L + L_ENTRIES, all)
  end
  local held = table_get_int(all, number + 1)
  if u64(held) ~= TAG_NIL then return u64(held + 8) end
  local made = table_new(L, 0, 0)
  if made == 0 then return 0 end
  if table_set_int(L, all, number + 1, inline.as_value(L, made)) < 0 then return 0 end
  return made
end

-- From now on the table `t` is the record with that number and key, which its fields have been copied into. 0 or FAIL.
function entry_become(L, t, number, key)
  local held = held_for(L, number)
  if held == 0 then return FAIL end
  if table_set(L, held, key, inline.as_value(L, t)) < 0 then return FAIL end
  set64(L + L_KEPT, u64(L + L_HEAP))
  set64(t + T_META, u64(L + L_SHARED_META))
  set64(t + T_COPY, 0)
  set64(t + T_COUNT, 0)
  set64(t + T_USED, 0)
  set64(t + T_ENTRY_CAP, 0)
  set64(t + T_INDEX, 0)
  set64(t + T_INDEX_MASK, 0)
  set64(t + T_LIVE, 0)
  set64(t + T_INTS, 0)
  set64(t + T_FILTER, 0)
  set64(t + T_FLAGS, FLAG_SHARED | FLAG_ENTRY | number << FLAG_NUMBER)
  inline.copy_value(t + T_KEY, key)
  return 0
end

-- The fields of the entry that `t` is have the values at `values`, in the order of their names, before the entry is assigned: 0 or FAIL.
function entry_last(L, t, values)
  local names = u64(u64(L + L_RECORD_NAMES) + (u64(t + T_FLAGS) >> FLAG_NUMBER << 3))
  local count = u64(names + T_COUNT)
  local last = table_new(L, 0, count)
  if last == 0 then return FAIL end
  local name = u64(names + T_ARRAY)
  local stop = name + (count << 4)
  local value = values
  while name < stop do
    if table_set(L, last, name, value) < 0 then return FAIL end
    name = name + 16
    value = value + 16
  end
  set64(t + T_LAST, last)
  set64(L + L_KEPT, u64(L + L_HEAP))
  return 0
end

-- The entry that `t` is has no place in the shared table any more.
local function leave(t)
  local last = u64(t + T_LAST)
  if last == 0 then
    set64(t + T_KEY, TAG_NIL)
    set64(t + T_COPY, 0)
    return 0
  end
  local at = 0
  while at < TABLE_SIZE do
    set64(t + at, u64(last + at))
    at = at + 8
  end
  return 0
end

-- The entry is being replaced or deleted: what the handler holds of it, by the numbers of its records, are tables of their own from now on.
function entry_forget(L, first, last, key)
  set64(L + L_RUN, u64(L + L_RUN) + 1)
  local number = first
  while number <= last do
    local t = entry_find(L, number, key)
    if t ~= 0 then
      leave(t)
      if table_set(L, u64(table_get_int(u64(L + L_ENTRIES), number + 1) + 8), key, ADDR_NIL) < 0 then return FAIL end
    end
    number = number + 1
  end
  return 0
end

-- The entry that `t` is has been copied to `copy`: what the handler reads of it is read there.
function entry_keep(L, t, copy)
  set64(t + T_COPY, copy)
  set64(L + L_KEPT, u64(L + L_HEAP))
  return 0
end

-- Whether the table `t` can be copied into a record of the shared table called `name`: 0; 1 if it is that very record already; or
-- FAIL.
function entry_source(L, t, number, key, name)
  local flags = u64(t + T_FLAGS)
  if flags & FLAG_ENTRY ~= 0 and flags >> FLAG_NUMBER == number and value_equal(t + T_KEY, key) ~= 0 then return 1 end
  local what = 0
  if flags & FLAG_SHARED ~= 0 then
    what = "an entry of a shared table"
  elseif t < u64(L + L_IMAGE_END) then
    what = "a table of load time"
  elseif u64(t + T_META) ~= 0 then
    what = "a table with a metatable"
  else
    return 0
  end
  what = text_join(L, what, " cannot be kept in table '")
  if what ~= 0 then what = text_join(L, what, name) end
  if what ~= 0 then what = text_join(L, what, "'") end
  return raise_here(L, what)
end

-- For the library: the names of the fields that an entry can have, as a list; nil for a table that is none, false for a whole
-- shared table.
function entry_names(L, base, n)
  local flags = u64(u64(base + 8) + T_FLAGS)
  if flags & FLAG_SHARED == 0 then return inline.result(base, TAG_NIL, 0) end
  if flags & FLAG_ENTRY == 0 then return inline.result(base, TAG_FALSE, 0) end
  return inline.result(base, TAG_TABLE, u64(u64(L + L_RECORD_NAMES) + (flags >> FLAG_NUMBER << 3)))
end
