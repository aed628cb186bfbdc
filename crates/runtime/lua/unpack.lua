-- string.unpack (manual § 6.5.2, lstrlib.c); formats are read by pack.lua.

-- The integer of `size` bytes, 1 to 16, at `at`, and 1; or 0, 0 if it does not fit into 64 bits.
local function load_packed(at, size, big, signed)
  local value = u64(at)
  if size <= 8 then
    local unused = 64 - 8 * size
    if big ~= 0 then
      value = swap64(value)
    else
      value = shl(value, unused)
    end
    if signed ~= 0 then
      return sar(value, unused), 1
    end
    return shr(value, unused), 1
  end
  local unused = 128 - 8 * size
  local extension = u64(at + 8)
  if big ~= 0 then
    extension = shr(swap64(value), unused)
    value = swap64(u64(at + size - 8))
  else
    extension = shr(shl(extension, unused), unused)
  end
  local wanted = 0
  if signed ~= 0 and value < 0 then
    wanted = shr(-1, unused)
  end
  if extension ~= wanted then
    return 0, 0
  end
  return value, 1
end

-- Stores the integer at `at` for the option that was read as a result. 0, or FAIL.
function unpack_integer(L, at, result)
  local scratch = u64(L + L_SCRATCH)
  local size = u64(scratch + PACK_SIZE)
  local signed = 0
  if u64(scratch + PACK_KIND) == PACKED_SIGNED then
    signed = 1
  end
  local value, fits = load_packed(at, size, u64(scratch + PACK_BIG), signed)
  if fits == 0 then
    local text = integer_to_text(L, size)
    return raise_joined(L, text, "-byte integer does not fit into Lua Integer", "")
  end
  set64(result, TAG_INT)
  set64(result + 8, value)
  return 0
end

-- Stores the float at `at` for the option that was read as a result.
function unpack_float(L, at, result)
  local scratch = u64(L + L_SCRATCH)
  local bits = 0
  if u64(scratch + PACK_SIZE) == 4 then
    bits = u32(at)
    if u64(scratch + PACK_BIG) ~= 0 then
      bits = swap32(bits)
    end
    bits = float_of_single(bits)
  else
    bits = u64(at)
    if u64(scratch + PACK_BIG) ~= 0 then
      bits = swap64(bits)
    end
  end
  set64(result, TAG_FLOAT)
  set64(result + 8, bits)
  return 0
end

-- Stores the string at `at`, in data that goes to stop, for the option that was read as a result. The address behind the
-- string, or FAIL.
function unpack_text(L, at, stop, result)
  local scratch = u64(L + L_SCRATCH)
  local kind = u64(scratch + PACK_KIND)
  local size = u64(scratch + PACK_SIZE)
  local length = size
  local after = at + size
  if kind == PACKED_COUNTED then
    if unpack_integer(L, at, result) ~= 0 then
      return FAIL
    end
    at = at + size
    length = u64(result + 8)
    if ult(stop - at, length) then
      return arg_error(L, 2, "data string too short")
    end
    after = at + length
  elseif kind == PACKED_TERMINATED then
    after = find_byte(at, stop, 0)
    if after == stop then
      return arg_error(L, 2, "unfinished string for format 'z'")
    end
    length = after - at
    after = after + 1
  end
  set64(result, TAG_STRING)
  set64(result + 8, at | length << 32)
  return after
end

function string_unpack(L, base, n)
  local text, text_ok = inline.str_arg(L, base, n, 1)
  if text_ok == 0 then
    return FAIL
  end
  local data, data_ok = inline.str_arg(L, base, n, 2)
  if data_ok == 0 then
    return FAIL
  end
  local from, from_ok = inline.opt_int(L, base, n, 3, 1)
  if from_ok == 0 then
    return FAIL
  end
  local first = data & 0xffffffff
  local stop = first + (data >> 32)
  from = inline.start_position(from, data >> 32) - 1
  if from > data >> 32 then
    return arg_error(L, 3, "initial position out of string")
  end
  local at = first + from
  local scratch = inline.pack_start(L, text)
  local count = 0
  while u64(scratch + PACK_AT) < u64(scratch + PACK_STOP) do
    if pack_next_option(L, scratch, at - first) ~= 0 then
      return FAIL
    end
    local kind = u64(scratch + PACK_KIND)
    local size = u64(scratch + PACK_SIZE)
    if ult(stop - at, u64(scratch + PACK_PADDING) + size) then
      return arg_error(L, 2, "data string too short")
    end
    at = at + u64(scratch + PACK_PADDING)
    if inline.result_room(L, base, count + 2) == 0 then
      return raise(L, "stack overflow (too many results)")
    end
    local result = base - 16 + 16 * count
    if kind <= PACKED_UNSIGNED then
      if unpack_integer(L, at, result) ~= 0 then
        return FAIL
      end
      at = at + size
    elseif kind == PACKED_FLOAT then
      unpack_float(L, at, result)
      at = at + size
    elseif kind < PACKED_NO_VALUE then
      at = unpack_text(L, at, stop, result)
      if at < 0 then
        return FAIL
      end
    else
      at = at + size
    end
    if kind < PACKED_NO_VALUE then
      count = count + 1
    end
  end
  local result = base - 16 + 16 * count
  set64(result, TAG_INT)
  set64(result + 8, at - first + 1)
  return count + 1
end
