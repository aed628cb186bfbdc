-- Tables: an array of the values of the keys 1 to T_COUNT, and entries in the order of insertion, found through an index of hashes
-- once there are more than a few.
--
-- The array ends with a value that is not nil, and no living entry has the key behind it: so T_COUNT is a border. An entry
-- whose value is nil is dead but stays, so that a traversal can clear fields; growth drops it. An entry whose key moves into
-- the array becomes one without key. Behind the entries, in one piece of memory with them, is their index: for each entry an eighth of its distance from the
-- first one, and 1 more. Which texts are surely no keys is seen in T_FILTER.

-- The bit of T_FILTER for texts with a hash.
function inline.filter(hash)
  return shl(1, hash >> 58)
end

-- The entry with a key that is no text, and no float with integral value: its address, or 0.
function table_find(t, tag, payload, hash)
  local index = u64(t + T_INDEX)
  local entry = u64(t + T_ENTRIES)
  if index == 0 then
    local stop = entry + u64(t + T_USED)
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
    local found = entry + (number - 1 << 3)
    if u64(found + E_KEY) == payload and u64(found + E_KEY_TAG) == tag then return found end
    slot = slot + 1 & mask
    number = u32(index + (slot << 2))
  end
  return 0
end

local function has_text(entry, text, hash)
  return u64(entry + E_HASH) == hash
    and u64(entry + E_KEY_TAG) == TAG_STRING
    and (u64(entry + E_KEY) == text or text_equal(u64(entry + E_KEY), text) == 1)
end

-- The entry with a text as key: its address, or 0.
function table_find_text(t, text, hash)
  local index = u64(t + T_INDEX)
  local entry = u64(t + T_ENTRIES)
  if index == 0 then
    local stop = entry + u64(t + T_USED)
    while entry < stop do
      if has_text(entry, text, hash) then return entry end
      entry = entry + ENTRY_SIZE
    end
    return 0
  end
  local mask = u64(t + T_INDEX_MASK)
  local slot = hash & mask
  local number = u32(index + (slot << 2))
  while number ~= 0 do
    local found = entry + (number - 1 << 3)
    if has_text(found, text, hash) then return found end
    slot = slot + 1 & mask
    number = u32(index + (slot << 2))
  end
  return 0
end

-- Where the value of an entry (0: none) is.
local function value_of(entry)
  if entry == 0 then return ADDR_NIL end
  return entry + E_TAG
end

local function find_int(t, i)
  if u64(t + T_INTS) == 0 then return 0 end
  return table_find(t, TAG_INT, i, inline.word_hash(TAG_INT, i))
end

-- The address of the value with an integer as key; of a nil if there is none.
function table_get_int(t, i)
  if ult(i - 1, u64(t + T_COUNT)) then return u64(t + T_ARRAY) + (i - 1 << 4) end
  return value_of(find_int(t, i))
end

-- The address of the value with a text as key; of a nil if there is none. That of a field which packet code assigns is good until the next one is read.
function table_get_text(L, t, text, hash)
  if u64(t + T_FILTER) & inline.filter(hash) == 0 then return ADDR_NIL end
  local entry = table_find_text(t, text, hash)
  if entry == 0 then return ADDR_NIL end
  if u64(entry + E_TAG) == TAG_VARIABLE then return variable_read(L, u64(entry + E_VALUE)) end
  return entry + E_TAG
end

-- The address of the value with the key at `k`; of a nil if there is none. The value may be overwritten with one that is not
-- nil if neither is it, and the table is not of load time.
function table_get(L, t, k)
  local tag = u64(k)
  local payload = u64(k + 8)
  if tag == TAG_INT then
    if ult(payload - 1, u64(t + T_COUNT)) then return u64(t + T_ARRAY) + (payload - 1 << 4) end
    return value_of(find_int(t, payload))
  end
  if tag == TAG_STRING then
    return table_get_text(L, t, payload, text_hash(payload))
  end
  -- Floats with integral value are the same keys as integers (Lua manual § 2.1).
  if tag == TAG_FLOAT and float_is_integer(payload) ~= 0 then return table_get_int(t, float_to_integer(payload)) end
  return value_of(table_find(t, tag, payload, inline.word_hash(tag, payload)))
end

-- How many values there are: places of the array, and entries that are not nil. Fields that packet code assigns to tables of load time count as
-- what they are now.
function table_filled(t)
  local count = u64(t + T_COUNT)
  local entry = u64(t + T_ENTRIES)
  local stop = entry + u64(t + T_USED)
  while entry < stop do
    local tag = u64(entry + E_TAG)
    if tag == TAG_VARIABLE then tag = u64(u64(entry + E_VALUE)) end
    if tag ~= TAG_NIL then count = count + 1 end
    entry = entry + ENTRY_SIZE
  end
  return count
end

-- Gives an entry another value.
function table_assign(t, entry, v)
  local old = u64(entry + E_TAG)
  local new = u64(v)
  if old == TAG_NIL and new ~= TAG_NIL then set64(t + T_LIVE, u64(t + T_LIVE) + 1) end
  if old ~= TAG_NIL and new == TAG_NIL then set64(t + T_LIVE, u64(t + T_LIVE) - 1) end
  set64(entry + E_TAG, new)
  set64(entry + E_VALUE, u64(v + 8))
  return 0
end

-- A new entry with a key that is not there yet, so far with the value nil: its address, or 0 after an error.
function table_add_entry(L, t, tag, payload, hash)
  local used = u64(t + T_USED)
  if used == u64(t + T_ENTRY_CAP) then
    if table_grow_entries(L, t) < 0 then return 0 end
    used = u64(t + T_USED)
  end
  local entry = u64(t + T_ENTRIES) + used
  set64(entry + E_KEY_TAG, tag)
  set64(entry + E_KEY, payload)
  set64(entry + E_TAG, TAG_NIL)
  set64(entry + E_HASH, hash)
  set64(t + T_USED, used + ENTRY_SIZE)
  if tag == TAG_INT then set64(t + T_INTS, u64(t + T_INTS) + 1) end
  if tag == TAG_STRING then set64(t + T_FILTER, u64(t + T_FILTER) | inline.filter(hash)) end
  local index = u64(t + T_INDEX)
  if index ~= 0 then inline.link(index, u64(t + T_INDEX_MASK), hash, (used >> 3) + 1) end
  return entry
end

-- Gives the entry (0: one that is still to be made) with a key the value at v. 0 or FAIL.
local function assign_or_add(L, t, entry, tag, payload, hash, v)
  if entry == 0 then
    if u64(v) == TAG_NIL then return 0 end
    entry = table_add_entry(L, t, tag, payload, hash)
    if entry == 0 then return FAIL end
  end
  table_assign(t, entry, v)
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

-- The value, not nil, of the key behind the array. 0 or FAIL.
function table_append_value(L, t, v)
  local count = u64(t + T_COUNT)
  if count == u64(t + T_ARRAY_CAP) then
    -- Growth can move the array, but never the value.
    if table_grow_array(L, t) < 0 then return FAIL end
  end
  inline.copy_value(u64(t + T_ARRAY) + (count << 4), v)
  set64(t + T_COUNT, count + 1)
  if u64(t + T_INTS) ~= 0 then return table_collect(L, t) end
  return 0
end

-- An entry whose key has moved into the array.
local function forget(t, entry)
  set64(entry + E_KEY_TAG, TAG_NIL)
  set64(entry + E_KEY, 0)
  set64(entry + E_TAG, TAG_NIL)
  set64(t + T_INTS, u64(t + T_INTS) - 1)
end

-- Entries with the keys that follow move into the array, which has become longer by one value. 0 or FAIL.
function table_collect(L, t)
  local count = u64(t + T_COUNT)
  local entry = find_int(t, count)
  if entry ~= 0 then forget(t, entry) end
  entry = find_int(t, count + 1)
  while entry ~= 0 and u64(entry + E_TAG) ~= TAG_NIL do
    if count == u64(t + T_ARRAY_CAP) then
      if table_grow_array(L, t) < 0 then return FAIL end
    end
    inline.copy_value(u64(t + T_ARRAY) + (count << 4), entry + E_TAG)
    forget(t, entry)
    set64(t + T_LIVE, u64(t + T_LIVE) - 1)
    count = count + 1
    set64(t + T_COUNT, count)
    entry = find_int(t, count + 1)
  end
  return 0
end

local function refuse_change(L)
  return raise_here(L, "a table of load time cannot be changed at packet time")
end

local function set_int(L, t, i, v)
  local count = u64(t + T_COUNT)
  if ult(i - 1, count) then
    inline.copy_value(u64(t + T_ARRAY) + (i - 1 << 4), v)
    if i == count and u64(v) == TAG_NIL then table_shrink(t) end
    return 0
  end
  if i == count + 1 then
    if u64(v) == TAG_NIL then return 0 end
    return table_append_value(L, t, v)
  end
  local hash = inline.word_hash(TAG_INT, i)
  local entry = 0
  if u64(t + T_INTS) ~= 0 then entry = table_find(t, TAG_INT, i, hash) end
  return assign_or_add(L, t, entry, TAG_INT, i, hash, v)
end

-- t[i] := the value at v, without metamethods: 0 or FAIL.
function table_set_int(L, t, i, v)
  if t < u64(L + L_IMAGE_END) then return refuse_change(L) end
  return set_int(L, t, i, v)
end

-- The variable that is a field of a table of load time; 0 where that cannot change.
local function field_variable(t, text, hash)
  local entry = table_find_text(t, text, hash)
  if entry == 0 or u64(entry + E_TAG) ~= TAG_VARIABLE then return 0 end
  return u64(entry + E_VALUE)
end

-- Tables of load time do not change, but for global variables and fields with names that packet code assigns.
function table_set_variable(L, t, text, hash, v)
  local place = field_variable(t, text, hash)
  if place == 0 then return refuse_change(L) end
  -- What was read of it is not its value any more.
  set64(L + L_RUN, u64(L + L_RUN) + 1)
  return variable_store(L, place, v)
end

-- The variable that is a field of an object, if that is a table of load time and no metamethod has to be asked for the field; else 0.
function variable_place(L, object, text, hash)
  if u64(object) ~= TAG_TABLE then return 0 end
  local t = u64(object + 8)
  if t >= u64(L + L_IMAGE_END) then return 0 end
  local place = field_variable(t, text, hash)
  if place == 0 or u64(place) == TAG_NIL and u64(t + T_META) ~= 0 then return 0 end
  return place
end

-- t[text] := the value at v, without metamethods: 0 or FAIL.
function table_set_text(L, t, text, hash, v)
  if t < u64(L + L_IMAGE_END) then return table_set_variable(L, t, text, hash, v) end
  return assign_or_add(L, t, table_find_text(t, text, hash), TAG_STRING, text, hash, v)
end

-- t[k] := the value at v, without metamethods: 0 or FAIL.
function table_set(L, t, k, v)
  local tag = u64(k)
  local payload = u64(k + 8)
  if t < u64(L + L_IMAGE_END) then
    if tag == TAG_STRING then return table_set_variable(L, t, payload, text_hash(payload), v) end
    return refuse_change(L)
  end
  if tag == TAG_FLOAT and float_is_integer(payload) ~= 0 then
    tag = TAG_INT
    payload = float_to_integer(payload)
  end
  if tag == TAG_INT then return set_int(L, t, payload, v) end
  local hash = 0
  local entry = 0
  if tag == TAG_STRING then
    hash = text_hash(payload)
    entry = table_find_text(t, payload, hash)
  else
    if tag == TAG_NIL then return raise_here(L, "table index is nil") end
    if tag == TAG_FLOAT and ult(0xffe0000000000000, payload << 1) then return raise_here(L, "table index is NaN") end
    hash = inline.word_hash(tag, payload)
    entry = table_find(t, tag, payload, hash)
  end
  return assign_or_add(L, t, entry, tag, payload, hash, v)
end

-- A border (Lua manual § 3.4.7).
function table_length(t)
  return u64(t + T_COUNT)
end

-- The key and value that follow the key at `k` (nil: the first ones), at `out` and `out` + 16: 1; 0 at the end.
function table_next(L, t, k, out)
  local position = 0
  if u64(k) ~= TAG_NIL then
    position = table_position(t, k)
    if position < 0 then return raise_plain(L, "invalid key to 'next'") end
  end
  local entries = u64(t + T_ENTRIES)
  if position < ENTRY_POSITIONS then
    local count = u64(t + T_COUNT)
    local array = u64(t + T_ARRAY)
    while position < count do
      local value = array + (position << 4)
      position = position + 1
      if u64(value) ~= TAG_NIL then
        set64(out, TAG_INT)
        set64(out + 8, position)
        inline.copy_value(out + 16, value)
        return 1
      end
    end
    position = ENTRY_POSITIONS
  end
  local entry = entries + (position - ENTRY_POSITIONS)
  local stop = entries + u64(t + T_USED)
  while entry < stop do
    local value = entry + E_TAG
    if u64(value) == TAG_VARIABLE then value = variable_read(L, u64(entry + E_VALUE)) end
    if u64(value) ~= TAG_NIL then
      if u64(value) == TAG_MISSING then
        return raise_plain(L, "a table of the library cannot be traversed at packet time")
      end
      inline.copy_value(out, entry + E_KEY_TAG)
      inline.copy_value(out + 16, value)
      return 1
    end
    entry = entry + ENTRY_SIZE
  end
  return 0
end

-- Behind which values a traversal stands after a key: a number of array values, or ENTRY_POSITIONS and bytes of entries;
-- FAIL for a key that is not there.
function table_position(t, k)
  local tag = u64(k)
  local payload = u64(k + 8)
  local entry = 0
  if tag == TAG_FLOAT and float_is_integer(payload) ~= 0 then
    tag = TAG_INT
    payload = float_to_integer(payload)
  end
  if tag == TAG_INT then
    if ult(payload - 1, u64(t + T_COUNT)) then return payload end
    entry = find_int(t, payload)
    -- Values at the array's end may have been cleared since.
    if entry == 0 and ult(payload - 1, u64(t + T_ARRAY_CAP)) then return payload end
  elseif tag == TAG_STRING then
    entry = table_find_text(t, payload, text_hash(payload))
  else
    entry = table_find(t, tag, payload, inline.word_hash(tag, payload))
  end
  if entry == 0 then return FAIL end
  return ENTRY_POSITIONS + ENTRY_SIZE + entry - u64(t + T_ENTRIES)
end
