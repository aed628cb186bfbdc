-- string.pack and string.packsize (manual § 6.5.2, lstrlib.c). What is known of the format is in a record at L_SCRATCH (PACK_…).

local MAX_SIZE <const> = 0x7fffffffffffffff
local ZERO <const> = 48

function inline.pack_start(L, text)
  local scratch = u64(L + L_SCRATCH)
  local at = text & 0xffffffff
  set64(scratch + PACK_AT, at)
  -- A zero ends a format.
  set64(scratch + PACK_STOP, find_byte(at, at + (text >> 32), 0))
  set64(scratch + PACK_BIG, 0)
  set64(scratch + PACK_MAX_ALIGN, 1)
  return scratch
end

-- The number in the format at PACK_AT, or `default` if there is none.
local function format_number(scratch, default)
  local at = u64(scratch + PACK_AT)
  local stop = u64(scratch + PACK_STOP)
  local number = default
  if at < stop and u8(at) - ZERO >= 0 and u8(at) - ZERO <= 9 then
    number = 0
    while at < stop and u8(at) - ZERO >= 0 and u8(at) - ZERO <= 9 and number <= (MAX_SIZE - 9) // 10 do
      number = number * 10 + u8(at) - ZERO
      at = at + 1
    end
    set64(scratch + PACK_AT, at)
  end
  return number
end

-- The size of an integer, 1 to 16 bytes; 0 after an error.
local function integer_size(L, scratch, default)
  local size = format_number(scratch, default)
  if not ult(size - 1, 16) then
    -- The message shows 32 bits of the number.
    local text = integer_to_text(L, sx32(size))
    if text ~= 0 then
      raise_joined(L, "integral size (", text, ") out of limits [1,16]")
    end
    return 0
  end
  return size
end

-- The size of the integer that a letter in lower case names, by type of C on 64-bit machines; 0 for other letters.
local function native_size(letter)
  if letter == 98 then -- b
    return 1
  elseif letter == 104 then -- h
    return 2
  elseif letter == 108 or letter == 106 then -- l j
    return 8
  end
  return 0
end

-- Reads an option that is neither an integer of a type of C nor a configuration: its kind and size; -1 after an error.
local function other_option(L, scratch, letter)
  if letter == 84 then -- T
    return PACKED_UNSIGNED, 8
  elseif letter == 102 then -- f
    return PACKED_FLOAT, 4
  elseif letter == 110 or letter == 100 then -- n d
    return PACKED_FLOAT, 8
  elseif letter == 99 then -- c
    local size = format_number(scratch, -1)
    if size == -1 then
      raise(L, "missing size for format option 'c'")
      return -1, 0
    end
    return PACKED_CHARACTERS, size
  elseif letter == 122 then -- z
    return PACKED_TERMINATED, 0
  elseif letter == 120 then -- x
    return PACKED_NO_VALUE, 1
  elseif letter == 88 then -- X
    return PACKED_ALIGN, 0
  end
  raise_joined(L, "invalid format option '", u64(scratch + PACK_AT) - 1 | 1 << 32, "'")
  return -1, 0
end

-- Reads the option at PACK_AT, which is before PACK_STOP: PACK_KIND and PACK_SIZE (getoption in lstrlib.c). 0, or FAIL.
function pack_read_option(L, scratch)
  local at = u64(scratch + PACK_AT)
  local letter = u8(at)
  set64(scratch + PACK_AT, at + 1)
  local kind = PACKED_NOTHING
  local size = 0
  -- The upper-case letters are the unsigned ones.
  local native = native_size(letter | 32)
  if native ~= 0 then
    kind = letter >> 5 & 1 ~ 1
    size = native
  elseif letter | 32 == 105 or letter == 115 then -- i I s
    local default = 4
    kind = letter >> 5 & 1 ~ 1
    if letter == 115 then
      default = 8
      kind = PACKED_COUNTED
    end
    size = integer_size(L, scratch, default)
    if size == 0 then
      return FAIL
    end
  elseif letter == 60 or letter == 61 then -- < =
    set64(scratch + PACK_BIG, 0)
  elseif letter == 62 then -- >
    set64(scratch + PACK_BIG, 1)
  elseif letter == 33 then -- !
    -- The default is the alignment of a long double.
    local align = integer_size(L, scratch, 16)
    if align == 0 then
      return FAIL
    end
    set64(scratch + PACK_MAX_ALIGN, align)
  elseif letter ~= 32 then
    kind, size = other_option(L, scratch, letter)
    if kind < 0 then
      return FAIL
    end
  end
  set64(scratch + PACK_KIND, kind)
  set64(scratch + PACK_SIZE, size)
  return 0
end

-- Reads the option at PACK_AT and finds out how it is aligned after `total` bytes: PACK_KIND, PACK_SIZE, PACK_PADDING (getdetails in lstrlib.c).
-- 0, or FAIL.
function pack_next_option(L, scratch, total)
  if pack_read_option(L, scratch) ~= 0 then
    return FAIL
  end
  local kind = u64(scratch + PACK_KIND)
  local align = u64(scratch + PACK_SIZE)
  if kind == PACKED_ALIGN then
    -- The option behind the X says the alignment.
    local wrong = 1
    if u64(scratch + PACK_AT) < u64(scratch + PACK_STOP) then
      if pack_read_option(L, scratch) ~= 0 then
        return FAIL
      end
      align = u64(scratch + PACK_SIZE)
      if u64(scratch + PACK_KIND) ~= PACKED_CHARACTERS and align ~= 0 then
        wrong = 0
      end
    end
    if wrong ~= 0 then
      return arg_error(L, 1, "invalid next option for option 'X'")
    end
    set64(scratch + PACK_KIND, PACKED_ALIGN)
    set64(scratch + PACK_SIZE, 0)
  end
  set64(scratch + PACK_PADDING, 0)
  if align > 1 and kind ~= PACKED_CHARACTERS then
    if align > u64(scratch + PACK_MAX_ALIGN) then
      align = u64(scratch + PACK_MAX_ALIGN)
    end
    if align & align - 1 ~= 0 then
      return arg_error(L, 1, "format asks for alignment not power of 2")
    end
    set64(scratch + PACK_PADDING, -total & align - 1)
  end
  return 0
end

-- Stores an integer in `size` bytes, 1 to 16, and whatever up to 15 bytes behind. `extension`: the bytes beyond the eighth.
local function store_packed(at, value, size, big, extension)
  if big == 0 then
    set64(at, value)
    set64(at + 8, extension)
  elseif size <= 8 then
    set64(at, swap64(shl(value, 64 - 8 * size)))
  else
    set64(at, extension)
    set64(at + size - 8, swap64(value))
  end
end

-- Argument i as a string, without memory for that of a number; 0 after an error.
local function packed_text(L, base, n, i, scratch)
  local at = base + 16 * i - 16
  if i <= n and u64(at) == TAG_STRING then
    return u64(at + 8), 1
  elseif i <= n and u64(at) == TAG_INT then
    local digits = store_integer(scratch + PACK_DIGITS, u64(at + 8))
    return digits | scratch + PACK_DIGITS - digits << 32, 1
  elseif i <= n and u64(at) == TAG_FLOAT then
    return store_float(L, scratch + PACK_DIGITS, u64(at + 8)), 1
  end
  return inline.str_arg(L, base, n, i)
end

-- Argument i, an integer for the option that was read, packed at `at`. The address behind it, or FAIL.
function pack_integer(L, base, n, i, at)
  local scratch = u64(L + L_SCRATCH)
  local value, ok = inline.int_arg(L, base, n, i)
  if ok == 0 then
    return FAIL
  end
  local size = u64(scratch + PACK_SIZE)
  local extension = 0
  if u64(scratch + PACK_KIND) == PACKED_SIGNED then
    extension = sar(value, 63)
    if size < 8 and sar(value, 8 * size - 1) ~= extension then
      return arg_error(L, i, "integer overflow")
    end
  elseif size < 8 and shr(value, 8 * size) ~= 0 then
    return arg_error(L, i, "unsigned overflow")
  end
  store_packed(at, value, size, u64(scratch + PACK_BIG), extension)
  return at + size
end

-- Argument i, a string for the option that was read, packed at `at`. The address behind it, or FAIL.
function pack_text(L, base, n, i, at)
  local scratch = u64(L + L_SCRATCH)
  local text, ok = packed_text(L, base, n, i, scratch)
  if ok == 0 then
    return FAIL
  end
  local kind = u64(scratch + PACK_KIND)
  local size = u64(scratch + PACK_SIZE)
  local from = text & 0xffffffff
  local length = text >> 32
  local room = length
  if kind == PACKED_CHARACTERS then
    if length > size then
      return arg_error(L, i, "string longer than given size")
    end
    room = size
  elseif kind == PACKED_COUNTED then
    if size < 8 and shr(length, 8 * size) ~= 0 then
      return arg_error(L, i, "string length does not fit in given size")
    end
  elseif find_byte(from, from + length, 0) ~= from + length then
    return arg_error(L, i, "string contains zeros")
  end
  if inline.text_room(L, at, room) == 0 then
    return FAIL
  end
  if kind == PACKED_COUNTED then
    store_packed(at, length, size, u64(scratch + PACK_BIG), 0)
    at = at + size
  end
  copy_bytes(at, from, length)
  at = at + length
  if kind == PACKED_TERMINATED then
    set8(at, 0)
    return at + 1
  end
  local stop = at + room - length
  while at < stop do
    set64(at, 0)
    at = at + 8
  end
  return stop
end

-- Appends argument i as a float of the size of the option that was read. The address behind it, or FAIL.
function pack_float(L, base, n, i, at)
  local scratch = u64(L + L_SCRATCH)
  local bits, ok = inline.float_arg(L, base, n, i)
  if ok == 0 then
    return FAIL
  end
  if u64(scratch + PACK_SIZE) == 4 then
    bits = float_to_single(bits)
    if u64(scratch + PACK_BIG) ~= 0 then
      bits = swap32(bits)
    end
    set32(at, bits)
    return at + 4
  end
  if u64(scratch + PACK_BIG) ~= 0 then
    bits = swap64(bits)
  end
  set64(at, bits)
  return at + 8
end

function string_pack(L, base, n)
  local text, ok = inline.str_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local scratch = inline.pack_start(L, text)
  local first = inline.begin_text(L)
  local at = first
  -- The first argument is the format; the next value is argument i + 1. In PUC-Rio's Lua the one after the last is a nil, a mark
  -- on its stack.
  local i = 1
  set64(base + 16 * n, TAG_NIL)
  n = n + 1
  while u64(scratch + PACK_AT) < u64(scratch + PACK_STOP) do
    if pack_next_option(L, scratch, at - first) ~= 0 then
      return FAIL
    end
    local kind = u64(scratch + PACK_KIND)
    local padding = u64(scratch + PACK_PADDING)
    if ult(MAX_SIZE - (at - first), u64(scratch + PACK_SIZE) + padding) then
      return arg_error(L, i, "result too long")
    end
    -- 48: for padding, an integer or a count.
    if inline.text_room(L, at, 48) == 0 then
      return FAIL
    end
    set64(at, 0)
    set64(at + 8, 0)
    at = at + padding
    if kind == PACKED_NO_VALUE then
      set8(at, 0)
      at = at + 1
    elseif kind < PACKED_NO_VALUE then
      i = i + 1
      if kind <= PACKED_UNSIGNED then
        at = pack_integer(L, base, n, i, at)
      elseif kind == PACKED_FLOAT then
        at = pack_float(L, base, n, i, at)
      else
        at = pack_text(L, base, n, i, at)
      end
      if at < 0 then
        return FAIL
      end
    end
  end
  local packed = inline.end_text(L, first, at)
  return inline.return_value(base, TAG_STRING, packed)
end

function string_packsize(L, base, n)
  local text, ok = inline.str_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local scratch = inline.pack_start(L, text)
  local total = 0
  while u64(scratch + PACK_AT) < u64(scratch + PACK_STOP) do
    if pack_next_option(L, scratch, total) ~= 0 then
      return FAIL
    end
    local kind = u64(scratch + PACK_KIND)
    if kind == PACKED_COUNTED or kind == PACKED_TERMINATED then
      return arg_error(L, 1, "variable-length format")
    end
    -- Unsigned: the largest sizes and their padding reach beyond 2^63.
    local size = u64(scratch + PACK_SIZE) + u64(scratch + PACK_PADDING)
    if ult(MAX_SIZE - size, total) or size < 0 then
      return arg_error(L, 1, "format result too large")
    end
    total = total + size
  end
  return inline.return_value(base, TAG_INT, total)
end
