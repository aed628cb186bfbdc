-- Variables of load time that packet code assigns, on all CPUs at once (`V_…`).
--
-- A value is two words, and no CPU reads or writes both at once. So each tag has a payload of its own: the payload is written before the tag and
-- read behind it, and is always one that was assigned with that tag.

-- The value of the variable at `place`: its address, good until the next one is read.
function variable_read(L, place)
  local tag = u64(place)
  set64(L + L_FOUND, tag)
  set64(L + L_FOUND + 8, u64(place + V_SLOTS + (tag << 3)))
  return L + L_FOUND
end

-- Takes note of what was read of it in order to be added to. Variables are such words as fields of shared tables, by their addresses.
function variable_note_read(L, place, value)
  return shared_note_read(L, place >> 3, TAG_NIL, 0, value)
end

-- Assigns the value at `value` to the variable at `place`: 0 or FAIL; 1 if nothing was done, for what is at L_RESULT is to be added, and
-- the place has an integer then. It may be nil, with 0 as its integer: so that of CPUs that all make the first sum none is lost.
function variable_assign(L, place, value)
  local adds = shared_addition(L, place >> 3, ADDR_NIL, value, 0)
  local found = u64(place)
  if adds ~= 0 and found == TAG_INT or adds == 2 and found == TAG_NIL then return 1 end
  return variable_store(L, place, value)
end

-- Stores a value that is no sum.
function variable_store(L, place, value)
  local tag = u64(value)
  local payload = u64(value + 8)
  local is_made = tag >= TAG_STRING and tag <= TAG_CLOSURE and (payload & 0xffffffff) >= u64(L + L_IMAGE_END)
  if is_made or tag == TAG_THREAD then
    local text = text_join(L, "a ", tag_name(tag))
    if text ~= 0 then text = text_join(L, text, " made at packet time cannot be kept from packet to packet") end
    if text == 0 then return FAIL end
    return raise_here(L, text)
  end
  if tag == TAG_OBJECT and payload == OBJECT_EVENT then
    return raise_here(L, "an event cannot be kept from packet to packet")
  end
  if tag >= TAG_STRUCTURE then
    return raise_here(L, "a structure of the kernel's cannot be kept from packet to packet")
  end
  if tag >= TAG_INT then set64(place + V_SLOTS + (tag << 3), payload) end
  set64(place, tag)
  -- Who adds to it in between adds to the 0, or what is added is lost.
  if tag == TAG_NIL and u64(place + V_SUMS) ~= 0 then set64(place + V_INT, 0) end
  return 0
end
