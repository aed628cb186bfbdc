-- Tables in memory: new ones, and growth (see table.lua).

-- How many slots the index of so many entries has: a power of two, at least twice as many; 0 for none.
function inline.index_slots(cap)
  if cap <= INDEX_FREE then return 0 end
  local slots = 16
  while slots < cap << 1 do
    slots = slots << 1
  end
  return slots
end

-- A new table with room for so many values and entries: its address, or 0 after an error.
function table_new(L, array_hint, entry_hint)
  -- Larger numbers are more than any memory has; their products are not to overflow.
  if ult(0x7fffffff, array_hint | entry_hint) then
    inline.alloc(L, -1)
    return 0
  end
  local slots = inline.index_slots(entry_hint)
  local t = inline.alloc(L, TABLE_SIZE + (array_hint << 4) + entry_hint * ENTRY_SIZE + (slots << 2))
  if t == 0 then return 0 end
  local entries = t + TABLE_SIZE + (array_hint << 4)
  set64(t + T_META, 0)
  set64(t + T_ARRAY, t + TABLE_SIZE)
  set64(t + T_COUNT, 0)
  set64(t + T_ARRAY_CAP, array_hint)
  set64(t + T_ENTRIES, entries)
  set64(t + T_USED, 0)
  set64(t + T_ENTRY_CAP, entry_hint * ENTRY_SIZE)
  set64(t + T_FILTER, 0)
  set64(t + T_INDEX, 0)
  set64(t + T_INDEX_MASK, 0)
  set64(t + T_FLAGS, 0)
  set64(t + T_LIVE, 0)
  set64(t + T_INTS, 0)
  if slots ~= 0 then table_make_index(t, entries + entry_hint * ENTRY_SIZE, slots) end
  return t
end

-- Builds the index of all entries, in `slots` slots at `index`.
function table_make_index(t, index, slots)
  local stop = index + (slots << 2)
  local at = index
  while at < stop do
    set64(at, 0)
    at = at + 8
  end
  set64(t + T_INDEX, index)
  set64(t + T_INDEX_MASK, slots - 1)
  local entries = u64(t + T_ENTRIES)
  local used = u64(t + T_USED)
  local offset = 0
  while offset < used do
    inline.link(index, slots - 1, u64(entries + offset + E_HASH), (offset >> 3) + 1)
    offset = offset + ENTRY_SIZE
  end
  return 0
end

-- Puts the number of an entry into an index.
function inline.link(index, mask, hash, number)
  local slot = hash & mask
  while u32(index + (slot << 2)) ~= 0 do
    slot = slot + 1 & mask
  end
  set32(index + (slot << 2), number)
end

-- Doubles the room of the array. 0 or FAIL.
function table_grow_array(L, t)
  local old = u64(t + T_ARRAY)
  local cap = u64(t + T_ARRAY_CAP)
  local want = cap << 1
  if want < 4 then want = 4 end
  -- What lies last in memory grows in place.
  if old + (cap << 4) == u64(L + L_HEAP) then
    if inline.alloc(L, want - cap << 4) == 0 then return FAIL end
  else
    local made = inline.alloc(L, want << 4)
    if made == 0 then return FAIL end
    copy_bytes(made, old, u64(t + T_COUNT) << 4)
    set64(t + T_ARRAY, made)
  end
  set64(t + T_ARRAY_CAP, want)
  return 0
end

-- Makes room for more entries, without the dead ones. 0 or FAIL.
function table_grow_entries(L, t)
  local cap = udiv(u64(t + T_ENTRY_CAP), ENTRY_SIZE)
  local want = cap
  local from = u64(t + T_ENTRIES)
  local to = from
  -- Where half of the entries are dead there is room enough without them.
  if u64(t + T_LIVE) << 1 > cap or cap < 4 then
    want = cap << 1
    if want < 4 then want = 4 end
    to = table_move_entries(L, t, want)
    if to == 0 then return FAIL end
  end
  local stop = from + u64(t + T_USED)
  local used = 0
  local ints = 0
  set64(t + T_ENTRIES, to)
  while from < stop do
    if u64(from + E_TAG) ~= TAG_NIL then
      if u64(from + E_KEY_TAG) == TAG_INT then ints = ints + 1 end
      if from ~= to then copy_bytes(to, from, ENTRY_SIZE) end
      to = to + ENTRY_SIZE
      used = used + ENTRY_SIZE
    end
    from = from + ENTRY_SIZE
  end
  set64(t + T_USED, used)
  set64(t + T_INTS, ints)
  set64(t + T_ENTRY_CAP, want * ENTRY_SIZE)
  local slots = inline.index_slots(want)
  if slots ~= 0 then table_make_index(t, u64(t + T_ENTRIES) + want * ENTRY_SIZE, slots) end
  return 0
end

-- Where `want` entries and their index have room: the same place if it is the last one in memory. 0 after an error.
function table_move_entries(L, t, want)
  local entries = u64(t + T_ENTRIES)
  local stop = entries + u64(t + T_ENTRY_CAP)
  if u64(t + T_INDEX) ~= 0 then stop = stop + (u64(t + T_INDEX_MASK) + 1 << 2) end
  local size = want * ENTRY_SIZE + (inline.index_slots(want) << 2)
  if stop == u64(L + L_HEAP) then
    if inline.alloc(L, size - (stop - entries)) == 0 then return 0 end
    return entries
  end
  return inline.alloc(L, size)
end
