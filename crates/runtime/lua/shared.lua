-- Tables that are maps: what the program's own code for each of them (`lower/src/general/thunks/shared.rs`) leaves to routines.
--
-- `t[k] = (t[k] or 0) + n` is a read and an assignment. So that no count is lost, the read notes what it gave, and an assignment
-- of a sum to the same word, with no other assignment in between, adds the difference.

local function slot_of(L, frame)
  return L + L_READS + (frame >> 4 & READ_SLOTS - 1) * READ_SIZE
end

-- Notes that the word with the number and the key is the value at `value` (nil counts as 0), if the running instruction reads it
-- in order to add to it.
function shared_note_read(L, word, key, value)
  local frame = u64(L + L_CI)
  if u64(inline.site_of(L, frame) + S_READ) == 0 then return 0 end
  local old = 0
  if u64(value) == TAG_INT then old = u64(value + 8) end
  local slot = slot_of(L, frame)
  set64(slot + READ_FRAME, frame)
  set64(slot + READ_SITE, u64(frame + F_SITE))
  set64(slot + READ_WORD, word)
  inline.copy_value(slot + READ_KEY, key)
  set64(slot + READ_VALUE, old)
  set64(slot + READ_WRITES, u64(L + L_WRITES + ((word & WRITE_SLOTS - 1) << 3)))
  set64(slot + READ_RUN, u64(L + L_RUN))
  return 0
end

-- The word is being assigned the value at `value`: 1 if that is the word's own value plus something, which is at L_RESULT then.
function shared_addition(L, word, key, value)
  local count = L + L_WRITES + ((word & WRITE_SLOTS - 1) << 3)
  local writes = u64(count)
  set64(count, writes + 1)
  local frame = u64(L + L_CI)
  local read = u64(inline.site_of(L, frame) + S_READ)
  if read == 0 or u64(value) ~= TAG_INT then return 0 end
  local slot = slot_of(L, frame)
  if u64(slot + READ_FRAME) ~= frame or u64(slot + READ_SITE) ~= read or u64(slot + READ_WORD) ~= word then return 0 end
  if u64(slot + READ_WRITES) ~= writes or u64(slot + READ_RUN) ~= u64(L + L_RUN) then return 0 end
  if value_equal(slot + READ_KEY, key) == 0 then return 0 end
  set64(L + L_RESULT, u64(value + 8) - u64(slot + READ_VALUE))
  return 1
end

-- What was read of any word is not its value any more.
function shared_forget_reads(L)
  set64(L + L_RUN, u64(L + L_RUN) + 1)
  return 0
end

-- Variables that handlers assign are such words too, by their addresses.

function variable_note_read(L, place, value)
  return shared_note_read(L, place >> 3, ADDR_NIL, value)
end

-- Assigns the value at `value` to the variable at `place`: 0 or FAIL; 1 if nothing was done, for what is at L_RESULT is to be added.
function variable_assign(L, place, value)
  if shared_addition(L, place >> 3, ADDR_NIL, value) ~= 0 and u64(place) == TAG_INT then return 1 end
  return store_shared(L, place, value)
end
