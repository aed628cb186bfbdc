-- Tables: an array of the values of the keys 1 to T_COUNT, and entries in the order of insertion, found through an index of hashes
-- once there are more than a few. Entries whose value is nil stay until the table grows, so that a traversal can clear fields.

-- A new table with room for so many values and entries: its address, or 0 after an error.
function table_new(L, array_hint, entry_hint)
  local t = alloc(L, TABLE_SIZE)
  if t == 0 then return 0 end
  set64(t + T_META, 0)
  set64(t + T_ARRAY, 0)
  set64(t + T_COUNT, 0)
  set64(t + T_ARRAY_CAP, 0)
  set64(t + T_ENTRIES, 0)
  set64(t + T_USED, 0)
  set64(t + T_ENTRY_CAP, 0)
  set64(t + T_INDEX, 0)
  set64(t + T_INDEX_MASK, 0)
  set64(t + T_FLAGS, 0)
  set64(t + T_LIVE, 0)
  if array_hint > 0 then
    if table_grow_array(L, t, array_hint) < 0 then return 0 end
  end
  if entry_hint > 0 then
    if table_grow_entries(L, t, entry_hint) < 0 then return 0 end
  end
  return t
end

-- Makes room for `want` values in the array.
function table_grow_array(L, t, want)
  local old = u64(t + T_ARRAY)
  local count = u64(t + T_COUNT)
  local cap = u64(t + T_ARRAY_CAP)
  if ult(0x7ffffff, want) then return raise_plain(L, "out of packet memory") end
  -- What lies last in memory grows in place.
  if cap ~= 0 and old + (cap << 4) == u64(L + L_HEAP) then
    if alloc(L, want - cap << 4) == 0 then return FAIL end
  else
    local made = alloc(L, want << 4)
    if made == 0 then return FAIL end
    copy_bytes(made, old, count << 4)
    set64(t + T_ARRAY, made)
    old = made
  end
  local at = count
  while at < want do
    set64(old + (at << 4), TAG_NIL)
    at = at + 1
  end
  set64(t + T_ARRAY_CAP, want)
  return 0
end

-- Makes room for `want` entries; dead ones are left behind.
function table_grow_entries(L, t, want)
  if ult(0xffffff, want) then return raise_plain(L, "out of packet memory") end
  local made = alloc(L, want * ENTRY_SIZE)
  if made == 0 then return FAIL end
  local old = u64(t + T_ENTRIES)
  local used = u64(t + T_USED)
  local from = 0
  local to = 0
  while from < used do
    local entry = old + from * ENTRY_SIZE
    if u64(entry + E_TAG) ~= TAG_NIL then
      local copy = made + to * ENTRY_SIZE
      set64(copy + E_KEY_TAG, u64(entry + E_KEY_TAG))
      set64(copy + E_KEY, u64(entry + E_KEY))
      set64(copy + E_TAG, u64(entry + E_TAG))
      set64(copy + E_VALUE, u64(entry + E_VALUE))
      set64(copy + E_HASH, u64(entry + E_HASH))
      to = to + 1
    end
    from = from + 1
  end
  set64(t + T_ENTRIES, made)
  set64(t + T_USED, to)
  set64(t + T_ENTRY_CAP, want)
  if want <= INDEX_FREE then
    set64(t + T_INDEX, 0)
    return 0
  end
  return inline.table_make_index(L, t)
end

-- Builds the index of all entries.
function inline.table_make_index(L, t)
  local cap = u64(t + T_ENTRY_CAP)
  local slots = 16
  while slots < cap << 1 do
    slots = slots << 1
  end
  local index = alloc(L, slots << 2)
  if index == 0 then return FAIL end
  local at = 0
  while at < slots do
    set64(index + (at << 2), 0)
    at = at + 2
  end
  set64(t + T_INDEX, index)
  set64(t + T_INDEX_MASK, slots - 1)
  local used = u64(t + T_USED)
  local entry = u64(t + T_ENTRIES)
  local number = 1
  while number <= used do
    inline.table_link(t, u64(entry + E_HASH), number)
    entry = entry + ENTRY_SIZE
    number = number + 1
  end
  return 0
end

-- Puts an entry, by its number from 1, into the index.
function inline.table_link(t, hash, number)
  local index = u64(t + T_INDEX)
  local mask = u64(t + T_INDEX_MASK)
  local slot = hash & mask
  while u32(index + (slot << 2)) ~= 0 do
    slot = slot + 1 & mask
  end
  set32(index + (slot << 2), number)
  return 0
end

-- The entry with a key that is no text and no float: its address, or 0.
function table_find(t, tag, payload, hash)
  local index = u64(t + T_INDEX)
  local entry = u64(t + T_ENTRIES)
  if index == 0 then
    local stop = entry + u64(t + T_USED) * ENTRY_SIZE
    while entry < stop do
      if u64(entry + E_KEY) == payload and u64(entry + E_KEY_TAG) == tag then return entry end
      entry = entry + ENTRY_SIZE
    end
    return 0
  end
  local mask = u64(t + T_INDEX_MASK)
  local slot = hash & mask
  local number = u32(index + (slot << 2))
  while number ~= 0 do
    local found = entry + (number - 1) * ENTRY_SIZE
    if u64(found + E_KEY) == payload and u64(found + E_KEY_TAG) == tag then return found end
    slot = slot + 1 & mask
    number = u32(index + (slot << 2))
  end
  return 0
end

-- The entry with a text as key: its address, or 0.
function table_find_text(t, text, hash)
  local index = u64(t + T_INDEX)
  local entry = u64(t + T_ENTRIES)
  if index == 0 then
    local stop = entry + u64(t + T_USED) * ENTRY_SIZE
    while entry < stop do
      if u64(entry + E_HASH) == hash and u64(entry + E_KEY_TAG) == TAG_STRING then
        if text_equal(u64(entry + E_KEY), text) ~= 0 then return entry end
      end
      entry = entry + ENTRY_SIZE
    end
    return 0
  end
  local mask = u64(t + T_INDEX_MASK)
  local slot = hash & mask
  local number = u32(index + (slot << 2))
  while number ~= 0 do
    local found = entry + (number - 1) * ENTRY_SIZE
    if u64(found + E_HASH) == hash and u64(found + E_KEY_TAG) == TAG_STRING then
      if text_equal(u64(found + E_KEY), text) ~= 0 then return found end
    end
    slot = slot + 1 & mask
    number = u32(index + (slot << 2))
  end
  return 0
end

-- The address of the value with an integer as key; of a nil if there is none.
function table_get_int(t, i)
  if ult(i - 1, u64(t + T_COUNT)) then return u64(t + T_ARRAY) + (i - 1 << 4) end
  if u64(t + T_LIVE) == 0 then return ADDR_NIL end
  local entry = table_find(t, TAG_INT, i, inline.word_hash(TAG_INT, i))
  if entry == 0 then return ADDR_NIL end
  return entry + E_TAG
end

-- The address of the value with a text as key; of a nil if there is none.
function table_get_text(t, text, hash)
  if u64(t + T_LIVE) == 0 then return ADDR_NIL end
  local entry = table_find_text(t, text, hash)
  if entry == 0 then return ADDR_NIL end
  return entry + E_TAG
end

-- The address of the value with the key at `k`; of a nil if there is none.
function table_get(t, k)
  local tag = u64(k)
  local payload = u64(k + 8)
  if tag == TAG_INT then return table_get_int(t, payload) end
  if tag == TAG_STRING then return table_get_text(t, payload, text_hash(payload)) end
  if tag == TAG_FLOAT then return table_get_float(t, payload) end
  local entry = table_find(t, tag, payload, inline.word_hash(tag, payload))
  if entry == 0 then return ADDR_NIL end
  return entry + E_TAG
end

-- Floats with integral value are the same keys as integers (Lua manual § 2.1).
function table_get_float(t, bits)
  if float_is_integer(bits) ~= 0 then return table_get_int(t, float_to_integer(bits)) end
  local entry = table_find(t, TAG_FLOAT, bits, inline.word_hash(TAG_FLOAT, bits))
  if entry == 0 then return ADDR_NIL end
  return entry + E_TAG
end

-- Gives an entry another value.
function inline.assign(t, entry, v)
  local old = u64(entry + E_TAG)
  local new = u64(v)
  if old == TAG_NIL and new ~= TAG_NIL then set64(t + T_LIVE, u64(t + T_LIVE) + 1) end
  if old ~= TAG_NIL and new == TAG_NIL then set64(t + T_LIVE, u64(t + T_LIVE) - 1) end
  set64(entry + E_TAG, new)
  set64(entry + E_VALUE, u64(v + 8))
end

-- Adds an entry whose key is not there yet.
function table_insert_entry(L, t, k, v, hash)
  local used = u64(t + T_USED)
  local cap = u64(t + T_ENTRY_CAP)
  if used == cap then
    local want = u64(t + T_LIVE) << 1
    if want < 4 then want = 4 end
    if table_grow_entries(L, t, want) < 0 then return FAIL end
    used = u64(t + T_USED)
  end
  local entry = u64(t + T_ENTRIES) + used * ENTRY_SIZE
  set64(entry + E_KEY_TAG, u64(k))
  set64(entry + E_KEY, u64(k + 8))
  set64(entry + E_TAG, u64(v))
  set64(entry + E_VALUE, u64(v + 8))
  set64(entry + E_HASH, hash)
  set64(t + T_USED, used + 1)
  set64(t + T_LIVE, u64(t + T_LIVE) + 1)
  if u64(t + T_INDEX) ~= 0 then inline.table_link(t, hash, used + 1) end
  return 0
end

-- t[k] := v without metamethods: 0 or FAIL.
function table_set(L, t, k, v)
  if t < u64(L + L_IMAGE_END) then return table_set_global(L, t, k, v) end
  local tag = u64(k)
  if tag == TAG_FLOAT and float_is_integer(u64(k + 8)) ~= 0 then
    set64(L + L_KEY + 8, float_to_integer(u64(k + 8)))
    tag = TAG_INT
    k = L + L_KEY
    set64(k, TAG_INT)
  end
  if tag == TAG_INT then return table_set_int(L, t, k, v) end
  if tag == TAG_STRING then
    local text = u64(k + 8)
    local hash = text_hash(text)
    local entry = table_find_text(t, text, hash)
    if entry == 0 then
      if u64(v) == TAG_NIL then return 0 end
      return table_insert_entry(L, t, k, v, hash)
    end
    inline.assign(t, entry, v)
    return 0
  end
  return table_set_other(L, t, k, v)
end

-- Tables of load time do not change, but for the global variables that packet code assigns.
function table_set_global(L, t, k, v)
  if u64(t + T_FLAGS) & FLAG_GLOBALS ~= 0 and u64(k) == TAG_STRING then
    local place = table_get_text(t, u64(k + 8), text_hash(u64(k + 8)))
    if place ~= ADDR_NIL then return store_shared(L, place, v) end
  end
  return raise_here(L, "a table of load time cannot be changed at packet time")
end

function table_set_int(L, t, k, v)
  local i = u64(k + 8)
  local count = u64(t + T_COUNT)
  if ult(i - 1, count) then
    local place = u64(t + T_ARRAY) + (i - 1 << 4)
    set64(place, u64(v))
    set64(place + 8, u64(v + 8))
    if i == count and u64(v) == TAG_NIL then table_shrink(t) end
    return 0
  end
  if i == count + 1 and u64(v) ~= TAG_NIL then return table_append_value(L, t, v) end
  local hash = inline.word_hash(TAG_INT, i)
  local entry = table_find(t, TAG_INT, i, hash)
  if entry == 0 then
    if u64(v) == TAG_NIL then return 0 end
    return table_insert_entry(L, t, k, v, hash)
  end
  inline.assign(t, entry, v)
  return 0
end

-- The array ends with a value that is not nil.
function table_shrink(t)
  local array = u64(t + T_ARRAY)
  local count = u64(t + T_COUNT)
  while count > 0 and u64(array + (count - 1 << 4)) == TAG_NIL do
    count = count - 1
  end
  set64(t + T_COUNT, count)
  return 0
end

-- The value of the key behind the array; entries with the keys that follow move into it.
function table_append_value(L, t, v)
  local count = u64(t + T_COUNT)
  local cap = u64(t + T_ARRAY_CAP)
  if count == cap then
    local want = cap << 1
    if want < 4 then want = 4 end
    -- Growth can move the array, but never the value.
    if table_grow_array(L, t, want) < 0 then return FAIL end
  end
  local place = u64(t + T_ARRAY) + (count << 4)
  set64(place, u64(v))
  set64(place + 8, u64(v + 8))
  count = count + 1
  set64(t + T_COUNT, count)
  -- An entry for this very key is dead.
  if u64(t + T_LIVE) == 0 then return 0 end
  local entry = table_find(t, TAG_INT, count + 1, inline.word_hash(TAG_INT, count + 1))
  while entry ~= 0 and u64(entry + E_TAG) ~= TAG_NIL do
    if count == u64(t + T_ARRAY_CAP) then
      if table_grow_array(L, t, count << 1) < 0 then return FAIL end
    end
    place = u64(t + T_ARRAY) + (count << 4)
    set64(place, u64(entry + E_TAG))
    set64(place + 8, u64(entry + E_VALUE))
    set64(entry + E_TAG, TAG_NIL)
    set64(t + T_LIVE, u64(t + T_LIVE) - 1)
    count = count + 1
    set64(t + T_COUNT, count)
    entry = table_find(t, TAG_INT, count + 1, inline.word_hash(TAG_INT, count + 1))
  end
  return 0
end

function table_set_other(L, t, k, v)
  local tag = u64(k)
  local payload = u64(k + 8)
  if tag == TAG_NIL then return raise_here(L, "table index is nil") end
  if tag == TAG_FLOAT then
    if ult(0xffe0000000000000, payload << 1) then return raise_here(L, "table index is NaN") end
  end
  local hash = inline.word_hash(tag, payload)
  local entry = table_find(t, tag, payload, hash)
  if entry == 0 then
    if u64(v) == TAG_NIL then return 0 end
    return table_insert_entry(L, t, k, v, hash)
  end
  inline.assign(t, entry, v)
  return 0
end

-- A border (Lua manual § 3.4.7): entries never have the key behind the array.
function table_length(t)
  return u64(t + T_COUNT)
end

-- The key and value that follow the key at `k` (nil: the first ones), at `out` and `out` + 16: 1; 0 at the end.
function table_next(L, t, k, out)
  local position = 0
  local count = u64(t + T_COUNT)
  local entries = u64(t + T_ENTRIES)
  if u64(k) ~= TAG_NIL then
    position = table_position(t, k)
    if position < 0 then return raise_plain(L, "invalid key to 'next'") end
  end
  if position < ENTRY_POSITIONS then
    local array = u64(t + T_ARRAY)
    while position < count do
      local value = array + (position << 4)
      position = position + 1
      if u64(value) ~= TAG_NIL then
        set64(out, TAG_INT)
        set64(out + 8, position)
        set64(out + 16, u64(value))
        set64(out + 24, u64(value + 8))
        return 1
      end
    end
    position = ENTRY_POSITIONS
  end
  local entry = entries + (position - ENTRY_POSITIONS) * ENTRY_SIZE
  local stop = entries + u64(t + T_USED) * ENTRY_SIZE
  while entry < stop do
    if u64(entry + E_TAG) ~= TAG_NIL then
      set64(out, u64(entry + E_KEY_TAG))
      set64(out + 8, u64(entry + E_KEY))
      set64(out + 16, u64(entry + E_TAG))
      set64(out + 24, u64(entry + E_VALUE))
      return 1
    end
    entry = entry + ENTRY_SIZE
  end
  return 0
end

-- Behind which values a traversal stands after a key: a number of array values, or ENTRY_POSITIONS and a number of entries;
-- FAIL for a key that is not there. Values at the array's end may have been cleared since.
function table_position(t, k)
  local tag = u64(k)
  local payload = u64(k + 8)
  local entry = 0
  if tag == TAG_INT then
    if ult(payload - 1, u64(t + T_COUNT)) then return payload end
    entry = table_find(t, tag, payload, inline.word_hash(tag, payload))
    if entry == 0 then
      if ult(payload - 1, u64(t + T_ARRAY_CAP)) then return payload end
      return FAIL
    end
  elseif tag == TAG_STRING then
    entry = table_find_text(t, payload, text_hash(payload))
  else
    entry = table_find(t, tag, payload, inline.word_hash(tag, payload))
  end
  if entry == 0 then return FAIL end
  return ENTRY_POSITIONS + udiv(entry - u64(t + T_ENTRIES), ENTRY_SIZE) + 1
end
