-- Tables that are maps: what the program's own code for each of them (`lower/src/general/thunks/shared.rs`) leaves to routines.
--
-- `t[k] = (t[k] or 0) + n` is a read and an assignment. So that no count is lost, the read notes what it gave, and an assignment
-- of a sum to the same word, with no other assignment in between, adds the difference.

-- Where it is noted what the site reads in a frame.
local function slot_of(L, frame, site)
  return L + L_READS + ((frame >> 4) + site & READ_SLOTS - 1) * READ_SIZE
end

-- The count of assignments to the word with the number and the key, and perhaps to others.
local function writes_of(L, word, tag, payload)
  local part = word
  if tag == TAG_INT then part = part + payload end
  return L + L_WRITES + ((part & WRITE_SLOTS - 1) << 3)
end

-- Notes that the word with the number and the key, a tag and a payload, is the value at `value` (nil counts as 0), if the running
-- instruction reads it in order to add to it.
function shared_note_read(L, word, tag, payload, value)
  local frame = u64(L + L_CI)
  if u64(inline.site_of(L, frame) + S_READ) == 0 then return 0 end
  local old = 0
  local is_nil = 1
  if u64(value) == TAG_INT then
    old = u64(value + 8)
    is_nil = 0
  end
  local site = u64(frame + F_SITE)
  local slot = slot_of(L, frame, site)
  set64(slot + READ_FRAME, frame)
  set64(slot + READ_SITE, site)
  set64(slot + READ_WORD, word)
  set64(slot + READ_KEY, tag)
  set64(slot + READ_KEY + 8, payload)
  set64(slot + READ_VALUE, old)
  set64(slot + READ_WRITES, u64(writes_of(L, word, tag, payload)))
  set64(slot + READ_RUN, u64(L + L_RUN) << 1 | is_nil)
  return 0
end

-- What the running instruction assigns to the word, the value at `value`, is the word's own value plus something: 1, and that is
-- at L_RESULT.
local function adds(L, word, key, value, writes, absent)
  local frame = u64(L + L_CI)
  local read = u64(inline.site_of(L, frame) + S_READ)
  if read == 0 or read & FIRST_FIELDS ~= 0 or u64(value) ~= TAG_INT then return 0 end
  if read & FIRST ~= 0 and absent ~= 0 then
    set64(L + L_RESULT, u64(value + 8))
    return 1
  end
  local site = read & KEEPS - 1
  local slot = slot_of(L, frame, site)
  if u64(slot + READ_FRAME) ~= frame or u64(slot + READ_SITE) ~= site or u64(slot + READ_WORD) ~= word then return 0 end
  local run = u64(slot + READ_RUN)
  if u64(slot + READ_WRITES) ~= writes or run >> 1 ~= u64(L + L_RUN) then return 0 end
  -- What stands in for nil is a value of its own.
  if read & KEEPS ~= 0 and run & 1 ~= 0 then return 0 end
  if value_equal(slot + READ_KEY, key) == 0 then return 0 end
  set64(L + L_RESULT, u64(value + 8) - u64(slot + READ_VALUE))
  return 1
end

-- The word is being assigned the value at `value`: 1 if that is the word's own value plus something, which is at L_RESULT then.
-- `absent` is 1 if the word was seen to have nothing.
function shared_addition(L, word, key, value, absent)
  local count = writes_of(L, word, u64(key), u64(key + 8))
  local writes = u64(count)
  set64(count, writes + 1)
  local result = adds(L, word, key, value, writes, absent)
  -- It may be the same key as an integer, which has another count.
  if u64(key) == TAG_FLOAT then set64(L + L_RUN, u64(L + L_RUN) + 1) end
  return result
end

-- The running instruction assigns a new table: 1 if the field called `name` is to be added where there is a table by now.
function shared_first_field(L, name)
  local read = u64(inline.site_of(L, u64(L + L_CI)) + S_READ)
  if read & FIRST_FIELDS == 0 then return 0 end
  local at = read & 0xffffffff
  local stop = at + (u64(at) << 3)
  while at < stop do
    at = at + 8
    if u64(at) == name then return 1 end
  end
  return 0
end

-- What was read of any word is not its value any more.
function shared_forget_reads(L)
  set64(L + L_RUN, u64(L + L_RUN) + 1)
  return 0
end

-- `if not t[k] then t[k] = {n = 0} end` must not replace an entry that another CPU makes between the two.

local function absent_slot(L, number)
  return L + L_ABSENT + (number & ABSENT_SLOTS - 1) * ABSENT_SIZE
end

-- No key was seen so far, or what was seen may have moved.
function inline.forget_absent(L)
  set64(L + L_ABSENT, 0)
  set64(L + L_ABSENT + ABSENT_SIZE, 0)
  set64(L + L_ABSENT + 2 * ABSENT_SIZE, 0)
  set64(L + L_ABSENT + 3 * ABSENT_SIZE, 0)
end

-- Notes that the table with that number has nothing at the key.
function shared_note_absent(L, number, key)
  local slot = absent_slot(L, number)
  set64(slot + ABSENT_TABLE, number + 1)
  inline.copy_value(slot + ABSENT_KEY, key)
  return 0
end

-- The key of the table with that number is being assigned: 1 if it was seen to have nothing.
function shared_was_absent(L, number, key)
  local slot = absent_slot(L, number)
  if u64(slot + ABSENT_TABLE) ~= number + 1 or value_equal(slot + ABSENT_KEY, key) == 0 then return 0 end
  set64(slot + ABSENT_TABLE, 0)
  return 1
end

-- Variables that handlers assign are such words too, by their addresses.

function variable_note_read(L, place, value)
  return shared_note_read(L, place >> 3, TAG_NIL, 0, value)
end

-- Assigns the value at `value` to the variable at `place`: 0 or FAIL; 1 if nothing was done, for what is at L_RESULT is to be added.
function variable_assign(L, place, value)
  if shared_addition(L, place >> 3, ADDR_NIL, value, 0) ~= 0 and u64(place) == TAG_INT then return 1 end
  return store_shared(L, place, value)
end
