-- Tables that are maps: what the program's own code for each of them (`specialise/src/stubs/shared`) leaves to routines.
--
-- `t[k] = (t[k] or 0) + n` is a read and an assignment. So that no count is lost, the read notes what it gave, and an
-- assignment of a sum to the same word, with no other assignment to that word in between, adds the difference.

-- Where the frame has its note of what is read, or added to, by the instruction with that S_READ. Frames are 7 times 16 bytes apart, so
-- that 64 of them in a row have 8 notes each of their own.
local function note_of(L, frame, read)
  return L + L_NOTES + ((frame << 5) + (read & READ_NOTE) & NOTES_SIZE - 1)
end

-- Notes that the word with the number and the key, a tag and a payload, is the value at `value` (nil counts as 0), if the running
-- instruction reads it in order to add to it.
function shared_note_read(L, word, tag, payload, value)
  local frame = u64(L + L_CI)
  local read = u64(inline.site_of(L, frame) + S_READ)
  if read == 0 then return 0 end
  local old = 0
  local is_nil = 1
  if u64(value) == TAG_INT then
    old = u64(value + 8)
    is_nil = 0
  end
  local note = note_of(L, frame, read)
  set64(note + READ_FRAME, frame)
  set64(note + READ_SITE, read)
  set64(note + READ_WORD, word)
  set64(note + READ_KEY, tag)
  set64(note + READ_KEY + 8, payload)
  set64(note + READ_VALUE, old)
  set64(note + READ_WRITES, u64(L + L_WRITES))
  set64(note + READ_RUN, u64(L + L_RUN) << 1 | is_nil)
  return 0
end

local function written(L, number)
  return L + L_WRITTEN + (number & WRITE_SLOTS - 1) * WRITE_SIZE
end

-- Whether the word has perhaps been assigned since there were so many assignments. Different texts may be one address.
local function is_written(L, word, key, since)
  local now = u64(L + L_WRITES)
  if now - since > WRITE_SLOTS then return 1 end
  local is_text = u64(key) == TAG_STRING
  local at = since
  while at < now do
    local last = written(L, at)
    if u64(last) == word then
      if is_text and u64(last + 8) == TAG_STRING then return 1 end
      if value_equal(last + 8, key) ~= 0 then return 1 end
    end
    at = at + 1
  end
  return 0
end

-- What the running instruction assigns to the word, the value at `value`, is the word's own value plus something: 1, or 2 if nil was read,
-- and that is at L_RESULT.
local function adds(L, word, key, value, absent)
  local frame = u64(L + L_CI)
  local read = u64(inline.site_of(L, frame) + S_READ)
  if read == 0 or read & FIRST_FIELDS ~= 0 or u64(value) ~= TAG_INT then return 0 end
  if read & FIRST ~= 0 and absent ~= 0 then
    set64(L + L_RESULT, u64(value + 8))
    return 1
  end
  local note = note_of(L, frame, read)
  local site = read & KEEPS - 1
  if u64(note + READ_FRAME) ~= frame or u64(note + READ_SITE) ~= site or u64(note + READ_WORD) ~= word then return 0 end
  local run = u64(note + READ_RUN)
  if run >> 1 ~= u64(L + L_RUN) then return 0 end
  -- What stands in for nil is a value of its own.
  if read & KEEPS ~= 0 and run & 1 ~= 0 then return 0 end
  if value_equal(note + READ_KEY, key) == 0 then return 0 end
  if is_written(L, word, key, u64(note + READ_WRITES)) ~= 0 then return 0 end
  set64(L + L_RESULT, u64(value + 8) - u64(note + READ_VALUE))
  return 1 + (run & 1)
end

-- The word is being assigned the value at `value`: not 0 if that is the word's own value plus something, which is at L_RESULT then.
-- `absent` is 1 if the word was seen to have nothing.
function shared_addition(L, word, key, value, absent)
  local result = adds(L, word, key, value, absent)
  local writes = u64(L + L_WRITES)
  local last = written(L, writes)
  set64(last, word)
  inline.copy_value(last + 8, key)
  set64(L + L_WRITES, writes + 1)
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

-- Another program may have assigned anything: what was read of any word is not its value any more.
function shared_forget(L)
  set64(L + L_RUN, u64(L + L_RUN) + 1)
  inline.forget_absent(L)
  return 0
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
