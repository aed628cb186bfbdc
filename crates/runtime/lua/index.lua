-- Indexing, length and concatenation with metamethods (Lua manual § 2.4), as lvm.c does them.

-- The metatable of a value: 0 if it has none.
function metatable_of(L, value)
  local tag = u64(value)
  if tag == TAG_TABLE then
    local meta = u64(u64(value + 8) + T_META)
    if meta == u64(L + L_SHARED_META) then return 0 end
    return meta
  end
  if tag == TAG_STRING then return u64(L + L_STRING_META) end
  return 0
end

-- The address of the metamethod `name` of a value; of a nil if it has none.
function metamethod(L, value, name, hash)
  local meta = metatable_of(L, value)
  if meta == 0 then return ADDR_NIL end
  return table_get_text(L, meta, name, hash)
end

-- Requests `handler(first, second)` with one result for `dest`; the call stands behind the running function's registers.
function request_binary(L, handler, first, second, dest)
  local top = u64(u64(L + L_CI) + F_LIMIT)
  inline.copy_value(top, handler)
  inline.copy_value(top + 16, first)
  inline.copy_value(top + 32, second)
  return inline.request(L, top, 2, dest, 1)
end

-- Asks for an access to a shared table or a record in one (ACCESS_…), with a key and a place for the value.
function inline.request_shared(L, t, key, place, kind)
  set64(L + L_ACCESS_TABLE, t)
  set64(L + L_ACCESS_KEY, key)
  set64(L + L_ACCESS_PLACE, place)
  set64(L + L_ACCESS_KIND, kind)
  set64(L + L_ACCESS_CALL, 0)
  return SHARED
end

-- The same, by a library function whose call was requested and ends with the access.
function inline.request_for_call(L, t, key, place, kind)
  inline.request_shared(L, t, key, place, kind)
  set64(L + L_ACCESS_CALL, 1)
  return SHARED
end

-- The address of a value that was found, good while others are looked for.
function inline.kept(L, value)
  if value ~= L + L_FOUND then return value end
  inline.copy_value(L + L_OBJECT, value)
  return L + L_OBJECT
end

-- dest := object[key]. 0, FAIL, REQUEST, OBJECT for a field of a packet object, or SHARED.
function index(L, dest, object, key)
  local turns = 0
  while turns < 2000 do
    local tag = u64(object)
    local handler = ADDR_NIL
    if tag == TAG_TABLE then
      local t = u64(object + 8)
      local value = table_get(L, t, key)
      local found = u64(value)
      local meta = u64(t + T_META)
      if found ~= TAG_NIL or meta == 0 then
        if found == TAG_MISSING then return missing_error(L) end
        set64(dest, found)
        set64(dest + 8, u64(value + 8))
        return 0
      end
      if u64(t + T_FLAGS) & FLAG_SHARED ~= 0 then return inline.request_shared(L, t, key, dest, ACCESS_READ) end
      handler = table_get_text(L, meta, "__index", text_hash("__index"))
      if u64(handler) == TAG_NIL then
        set64(dest, TAG_NIL)
        set64(dest + 8, 0)
        return 0
      end
    elseif tag == TAG_OBJECT or tag >= TAG_STRUCTURE then
      set64(L + L_CALL_DEST, dest)
      set64(L + L_CALL_FUNC, object)
      set64(L + L_CALL_COUNT, key)
      return OBJECT
    else
      handler = metamethod(L, object, "__index", text_hash("__index"))
      if u64(handler) == TAG_NIL then return index_error(L, object, turns) end
    end
    local kind = u64(handler)
    if kind == TAG_CLOSURE or kind == TAG_BUILTIN then return request_binary(L, handler, object, key, dest) end
    object = inline.kept(L, handler)
    turns = turns + 1
  end
  return raise_here(L, "'__index' chain too long; possible loop")
end

-- Tables of the library have only the names that stand in the script.
function missing_error(L)
  return raise_here(L, "this name of the library is not in the program: write it where it is used")
end

-- `attempt to index a nil value (field 'x')` (luaG_typeerror). What `__index` led to has no name.
function index_error(L, object, turns)
  local name = 0
  if turns == 0 then name = operand_name(L, S_A) end
  return operand_error(L, object, "index", name)
end

-- dest := object[text], with the text's hash.
function index_text(L, dest, object, text, hash)
  if u64(object) == TAG_TABLE then
    local t = u64(object + 8)
    local value = table_get_text(L, t, text, hash)
    local found = u64(value)
    if found ~= TAG_NIL or u64(t + T_META) == 0 then
      set64(dest, found)
      set64(dest + 8, u64(value + 8))
      return 0
    end
  end
  set64(L + L_KEY, TAG_STRING)
  set64(L + L_KEY + 8, text)
  return index(L, dest, object, L + L_KEY)
end

-- What tables with a metatable have under a name, if the tables to which `__index` leads are of load time: there that does not change. The
-- address of the value, not nil, or 0.
local function inherited(L, meta, name)
  local stop = u64(L + L_IMAGE_END)
  local turns = 0
  while turns < 16 do
    if meta == 0 or meta >= stop or meta == u64(L + L_SHARED_META) then return 0 end
    local handler = table_get_text(L, meta, "__index", text_hash("__index"))
    if u64(handler) ~= TAG_TABLE then return 0 end
    local t = u64(handler + 8)
    if t >= stop or u64(t + T_FLAGS) & FLAG_SHARED ~= 0 then return 0 end
    local value = table_get_text(L, t, u64(name + A_NAME + 8), u64(name + A_HASH))
    if u64(value) ~= TAG_NIL then return value end
    meta = u64(t + T_META)
    turns = turns + 1
  end
  return 0
end

-- dest := object[name], by the record of the access (A_…), where no function and no error comes of that; takes note of where the field is.
-- 0, or GENERAL: `index` is to do it.
function index_named(L, dest, object, name)
  if u64(object) == TAG_TABLE then
    local t = u64(object + 8)
    local hash = u64(name + A_HASH)
    if u64(t + T_FILTER) & inline.filter(hash) ~= 0 then
      local entry = table_find_text(t, u64(name + A_NAME + 8), hash)
      if entry ~= 0 and u64(entry + E_TAG) ~= TAG_NIL then
        set64(L + u64(name + A_POSITION), entry - u64(t + T_ENTRIES))
        if u64(entry + E_TAG) ~= TAG_VARIABLE then
          inline.copy_value(dest, entry + E_TAG)
          return 0
        end
        -- The object may be in the place of the value.
        local found = variable_read(L, u64(entry + E_VALUE))
        if u64(found) ~= TAG_NIL then
          inline.copy_value(dest, found)
          return 0
        end
      end
    end
    local meta = u64(t + T_META)
    if meta == 0 then
      set64(dest, TAG_NIL)
      set64(dest + 8, 0)
      return 0
    end
    local place = u64(name + A_INHERITED)
    if place ~= 0 then
      place = L + place
      if u64(place) ~= meta then
        local value = inherited(L, meta, name)
        if value == 0 then return GENERAL end
        set64(place, meta)
        inline.copy_value(place + 8, value)
      end
      inline.copy_value(dest, place + 8)
      return 0
    end
  end
  return GENERAL
end

-- object[name] := value, in the same way. 0, FAIL, or GENERAL: `set_index` is to do it.
function set_named(L, object, name, value)
  if u64(object) == TAG_TABLE then
    local t = u64(object + 8)
    if t >= u64(L + L_IMAGE_END) then
      local hash = u64(name + A_HASH)
      local text = u64(name + A_NAME + 8)
      local entry = 0
      if u64(t + T_FILTER) & inline.filter(hash) ~= 0 then entry = table_find_text(t, text, hash) end
      if entry ~= 0 and u64(entry + E_TAG) ~= TAG_NIL then
        set64(L + u64(name + A_POSITION), entry - u64(t + T_ENTRIES))
        table_assign(t, entry, value)
        return 0
      end
      if u64(t + T_META) == 0 then
        if entry == 0 then
          if u64(value) == TAG_NIL then return 0 end
          entry = table_add_entry(L, t, TAG_STRING, text, hash)
          if entry == 0 then return FAIL end
        end
        table_assign(t, entry, value)
        return 0
      end
    end
  end
  return GENERAL
end

-- object[key] := value. 0, FAIL, REQUEST, ASSIGN_OBJECT for a field of a packet object, or SHARED.
function set_index(L, object, key, value)
  local turns = 0
  while turns < 2000 do
    local handler = ADDR_NIL
    if u64(object) == TAG_TABLE then
      local t = u64(object + 8)
      local meta = u64(t + T_META)
      if meta ~= 0 then
        if u64(t + T_FLAGS) & FLAG_SHARED ~= 0 then return inline.request_shared(L, t, key, value, ACCESS_WRITE) end
        if u64(table_get(L, t, key)) == TAG_NIL then handler = table_get_text(L, meta, "__newindex", text_hash("__newindex")) end
      end
      if u64(handler) == TAG_NIL then
        return table_set(L, t, key, value)
      end
    elseif u64(object) == TAG_OBJECT or u64(object) >= TAG_STRUCTURE then
      set64(L + L_CALL_DEST, value)
      set64(L + L_CALL_FUNC, object)
      set64(L + L_CALL_COUNT, key)
      return ASSIGN_OBJECT
    else
      handler = metamethod(L, object, "__newindex", text_hash("__newindex"))
      if u64(handler) == TAG_NIL then return index_error(L, object, turns) end
    end
    local kind = u64(handler)
    if kind == TAG_CLOSURE or kind == TAG_BUILTIN then
      local top = u64(u64(L + L_CI) + F_LIMIT)
      inline.copy_value(top, handler)
      inline.copy_value(top + 16, object)
      inline.copy_value(top + 32, key)
      inline.copy_value(top + 48, value)
      return inline.request(L, top, 3, top, 0)
    end
    object = inline.kept(L, handler)
    turns = turns + 1
  end
  return raise_here(L, "'__newindex' chain too long; possible loop")
end

-- object[key] := value for a table that packets make, where no function and no error comes of that: an element of its array, or the one behind
-- them. 0, FAIL, or GENERAL: `set_index` is to do it.
function set_element(L, object, key, value)
  if u64(object) ~= TAG_TABLE or u64(key) ~= TAG_INT then return GENERAL end
  local t = u64(object + 8)
  if t < u64(L + L_IMAGE_END) or u64(t + T_META) ~= 0 then return GENERAL end
  return table_set_int(L, t, u64(key + 8), value)
end

-- object[text] := value.
function set_index_text(L, object, text, value)
  set64(L + L_KEY, TAG_STRING)
  set64(L + L_KEY + 8, text)
  return set_index(L, object, L + L_KEY, value)
end

-- dest := #object.
function length(L, dest, object)
  local tag = u64(object)
  if tag == TAG_STRING then
    set64(dest + 8, u64(object + 8) >> 32)
    set64(dest, TAG_INT)
    return 0
  end
  local handler = metamethod(L, object, "__len", text_hash("__len"))
  if u64(handler) ~= TAG_NIL then return request_binary(L, handler, object, object, dest) end
  if tag == TAG_TABLE then
    if u64(u64(object + 8) + T_FLAGS) & (FLAG_SHARED | FLAG_ENTRY) == FLAG_SHARED then
      return inline.request_shared(L, u64(object + 8), 0, dest, ACCESS_LENGTH)
    end
    set64(dest + 8, table_length(u64(object + 8)))
    set64(dest, TAG_INT)
    return 0
  end
  if tag == TAG_OBJECT or tag >= TAG_STRUCTURE then
    set64(L + L_CALL_DEST, dest)
    set64(L + L_CALL_FUNC, object)
    set64(L + L_CALL_COUNT, 0)
    return OBJECT
  end
  return operand_error(L, object, "get length of", operand_name(L, S_A))
end

-- Concatenates the running frame's F_PENDING values that start at `from`; the result stands at `from`. Called again after each
-- metamethod, whose result has taken the place of its two operands.
function concat(L, from)
  local frame = u64(L + L_CI)
  local count = u64(frame + F_PENDING)
  while count > 1 do
    -- How many of the last values are strings or numbers?
    local joined = 0
    local scan = 1
    while scan ~= 0 and joined < count do
      local tag = u64(from + (count - 1 - joined << 4))
      if tag >= TAG_INT and tag <= TAG_STRING then joined = joined + 1 else scan = 0 end
    end
    if joined >= 2 then
      local first = from + (count - joined << 4)
      if text_concat(L, first, joined) < 0 then return FAIL end
      count = count - joined + 1
    else
      local left = from + (count - 2 << 4)
      local handler = metamethod(L, left, "__concat", text_hash("__concat"))
      if u64(handler) == TAG_NIL then handler = metamethod(L, left + 16, "__concat", text_hash("__concat")) end
      if u64(handler) == TAG_NIL then return concat_error(L, left, from) end
      set64(frame + F_PENDING, count - 1)
      return request_binary(L, handler, left, left + 16, left)
    end
  end
  set64(frame + F_PENDING, count)
  return 0
end

-- The right operand is wrong only if the left one is not (luaG_concaterror). The names of operands at a concatenation are a list.
function concat_error(L, left, from)
  local tag = u64(left)
  if tag == TAG_STRING or tag == TAG_INT or tag == TAG_FLOAT then left = left + 16 end
  local names = operand_name(L, S_A)
  local name = 0
  if names ~= 0 then name = u64((names & 0xffffffff) + (left - from >> 1)) end
  return operand_error(L, left, "concatenate", name)
end
