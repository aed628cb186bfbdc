-- string.pack, string.packsize and string.unpack (manual § 6.5.2, lstrlib.c). Formats with floats raise an error when it is
-- their turn.
--
-- What is known of the format is in a record at L_SCRATCH:

-- Address of the next character of the format, and where that ends.
local AT <const> = 0
local STOP <const> = 8
-- 1 for big endian.
local BIG <const> = 16
local MAX_ALIGN <const> = 24
-- The option that was read last: what kind it is, its size in bytes, and the padding before it.
local KIND <const> = 32
local SIZE <const> = 40
local PADDING <const> = 48
-- An integer in place of a string is written here; it ends before DIGITS.
local DIGITS <const> = 96

-- Kinds of options. From NO_VALUE on, options neither take nor give a value.
local SIGNED <const> = 0
local UNSIGNED <const> = 1
local FLOAT <const> = 2
local CHARACTERS <const> = 3
local COUNTED <const> = 4
local TERMINATED <const> = 5
local NO_VALUE <const> = 6
local ALIGN <const> = 7
local NOTHING <const> = 8

local MAX_SIZE <const> = 0x7fffffffffffffff
local ZERO <const> = 48

local function start_format(L, text)
  local scratch = u64(L + L_SCRATCH)
  local at = text & 0xffffffff
  set64(scratch + AT, at)
  -- A zero ends a format.
  set64(scratch + STOP, find_byte(at, at + (text >> 32), 0))
  set64(scratch + BIG, 0)
  set64(scratch + MAX_ALIGN, 1)
  return scratch
end

-- The number in the format at AT, or `default` if there is none.
local function format_number(scratch, default)
  local at = u64(scratch + AT)
  local stop = u64(scratch + STOP)
  local number = default
  if at < stop and u8(at) - ZERO >= 0 and u8(at) - ZERO <= 9 then
    number = 0
    while at < stop and u8(at) - ZERO >= 0 and u8(at) - ZERO <= 9 and number <= (MAX_SIZE - 9) // 10 do
      number = number * 10 + u8(at) - ZERO
      at = at + 1
    end
    set64(scratch + AT, at)
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
    return UNSIGNED, 8
  elseif letter == 102 then -- f
    return FLOAT, 4
  elseif letter == 110 or letter == 100 then -- n d
    return FLOAT, 8
  elseif letter == 99 then -- c
    local size = format_number(scratch, -1)
    if size == -1 then
      raise(L, "missing size for format option 'c'")
      return -1, 0
    end
    return CHARACTERS, size
  elseif letter == 122 then -- z
    return TERMINATED, 0
  elseif letter == 120 then -- x
    return NO_VALUE, 1
  elseif letter == 88 then -- X
    return ALIGN, 0
  end
  raise_joined(L, "invalid format option '", u64(scratch + AT) - 1 | 1 << 32, "'")
  return -1, 0
end

-- Reads the option at AT, which is before STOP: KIND and SIZE (getoption in lstrlib.c). 0, or FAIL.
function pack_read_option(L, scratch)
  local at = u64(scratch + AT)
  local letter = u8(at)
  set64(scratch + AT, at + 1)
  local kind = NOTHING
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
      kind = COUNTED
    end
    size = integer_size(L, scratch, default)
    if size == 0 then
      return FAIL
    end
  elseif letter == 60 or letter == 61 then -- < =
    set64(scratch + BIG, 0)
  elseif letter == 62 then -- >
    set64(scratch + BIG, 1)
  elseif letter == 33 then -- !
    -- The default is the alignment of a long double.
    local align = integer_size(L, scratch, 16)
    if align == 0 then
      return FAIL
    end
    set64(scratch + MAX_ALIGN, align)
  elseif letter ~= 32 then
    kind, size = other_option(L, scratch, letter)
    if kind < 0 then
      return FAIL
    end
  end
  set64(scratch + KIND, kind)
  set64(scratch + SIZE, size)
  return 0
end

-- Reads the option at AT and finds out how it is aligned after `total` bytes: KIND, SIZE, PADDING (getdetails in lstrlib.c).
-- 0, or FAIL.
function pack_next_option(L, scratch, total)
  if pack_read_option(L, scratch) ~= 0 then
    return FAIL
  end
  local kind = u64(scratch + KIND)
  local align = u64(scratch + SIZE)
  if kind == ALIGN then
    -- The option behind the X says the alignment.
    local wrong = 1
    if u64(scratch + AT) < u64(scratch + STOP) then
      if pack_read_option(L, scratch) ~= 0 then
        return FAIL
      end
      align = u64(scratch + SIZE)
      if u64(scratch + KIND) ~= CHARACTERS and align ~= 0 then
        wrong = 0
      end
    end
    if wrong ~= 0 then
      return arg_error(L, 1, "invalid next option for option 'X'")
    end
    set64(scratch + KIND, ALIGN)
    set64(scratch + SIZE, 0)
  end
  set64(scratch + PADDING, 0)
  if align > 1 and kind ~= CHARACTERS then
    if align > u64(scratch + MAX_ALIGN) then
      align = u64(scratch + MAX_ALIGN)
    end
    if align & align - 1 ~= 0 then
      return arg_error(L, 1, "format asks for alignment not power of 2")
    end
    set64(scratch + PADDING, -total & align - 1)
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

-- Argument i as a string, without memory for that of an integer; 0 after an error.
local function packed_text(L, base, n, i, scratch)
  local at = base + 16 * i - 16
  if i <= n and u64(at) == TAG_STRING then
    return u64(at + 8), 1
  elseif i <= n and u64(at) == TAG_INT then
    local digits = store_integer(scratch + DIGITS, u64(at + 8))
    return digits | scratch + DIGITS - digits << 32, 1
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
  local size = u64(scratch + SIZE)
  local extension = 0
  if u64(scratch + KIND) == SIGNED then
    extension = sar(value, 63)
    if size < 8 and sar(value, 8 * size - 1) ~= extension then
      return arg_error(L, i, "integer overflow")
    end
  elseif size < 8 and shr(value, 8 * size) ~= 0 then
    return arg_error(L, i, "unsigned overflow")
  end
  store_packed(at, value, size, u64(scratch + BIG), extension)
  return at + size
end

-- Argument i, a string for the option that was read, packed at `at`. The address behind it, or FAIL.
function pack_text(L, base, n, i, at)
  local scratch = u64(L + L_SCRATCH)
  local text, ok = packed_text(L, base, n, i, scratch)
  if ok == 0 then
    return FAIL
  end
  local kind = u64(scratch + KIND)
  local size = u64(scratch + SIZE)
  local from = text & 0xffffffff
  local length = text >> 32
  local room = length
  if kind == CHARACTERS then
    if length > size then
      return arg_error(L, i, "string longer than given size")
    end
    room = size
  elseif kind == COUNTED then
    if size < 8 and shr(length, 8 * size) ~= 0 then
      return arg_error(L, i, "string length does not fit in given size")
    end
  elseif find_byte(from, from + length, 0) ~= from + length then
    return arg_error(L, i, "string contains zeros")
  end
  if inline.text_room(L, at, room) == 0 then
    return FAIL
  end
  if kind == COUNTED then
    store_packed(at, length, size, u64(scratch + BIG), 0)
    at = at + size
  end
  copy_bytes(at, from, length)
  at = at + length
  if kind == TERMINATED then
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

function string_pack(L, base, n)
  local text, ok = inline.str_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local scratch = start_format(L, text)
  local first = inline.begin_text(L)
  local at = first
  -- The first argument is the format; the next value is argument i + 1. In PUC-Rio's Lua the one after the last is a nil, a mark
  -- on its stack.
  local i = 1
  set64(base + 16 * n, TAG_NIL)
  n = n + 1
  while u64(scratch + AT) < u64(scratch + STOP) do
    if pack_next_option(L, scratch, at - first) ~= 0 then
      return FAIL
    end
    local kind = u64(scratch + KIND)
    local padding = u64(scratch + PADDING)
    if ult(MAX_SIZE - (at - first), u64(scratch + SIZE) + padding) then
      return arg_error(L, i, "result too long")
    end
    -- 48: for padding, an integer or a count.
    if inline.text_room(L, at, 48) == 0 then
      return FAIL
    end
    set64(at, 0)
    set64(at + 8, 0)
    at = at + padding
    if kind == NO_VALUE then
      set8(at, 0)
      at = at + 1
    elseif kind < NO_VALUE then
      i = i + 1
      if kind <= UNSIGNED then
        at = pack_integer(L, base, n, i, at)
      elseif kind == FLOAT then
        return float_error(L, base, n, i)
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
  local scratch = start_format(L, text)
  local total = 0
  while u64(scratch + AT) < u64(scratch + STOP) do
    if pack_next_option(L, scratch, total) ~= 0 then
      return FAIL
    end
    local kind = u64(scratch + KIND)
    if kind == COUNTED or kind == TERMINATED then
      return arg_error(L, 1, "variable-length format")
    end
    -- Unsigned: the largest sizes and their padding reach beyond 2^63.
    local size = u64(scratch + SIZE) + u64(scratch + PADDING)
    if ult(MAX_SIZE - size, total) or size < 0 then
      return arg_error(L, 1, "format result too large")
    end
    total = total + size
  end
  return inline.return_value(base, TAG_INT, total)
end

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
  local size = u64(scratch + SIZE)
  local signed = 0
  if u64(scratch + KIND) == SIGNED then
    signed = 1
  end
  local value, fits = load_packed(at, size, u64(scratch + BIG), signed)
  if fits == 0 then
    local text = integer_to_text(L, size)
    return raise_joined(L, text, "-byte integer does not fit into Lua Integer", "")
  end
  set64(result, TAG_INT)
  set64(result + 8, value)
  return 0
end

-- Stores the string at `at`, in data that goes to stop, for the option that was read as a result. The address behind the
-- string, or FAIL.
function unpack_text(L, at, stop, result)
  local scratch = u64(L + L_SCRATCH)
  local kind = u64(scratch + KIND)
  local size = u64(scratch + SIZE)
  local length = size
  local after = at + size
  if kind == COUNTED then
    if unpack_integer(L, at, result) ~= 0 then
      return FAIL
    end
    at = at + size
    length = u64(result + 8)
    if ult(stop - at, length) then
      return arg_error(L, 2, "data string too short")
    end
    after = at + length
  elseif kind == TERMINATED then
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
  local scratch = start_format(L, text)
  local count = 0
  while u64(scratch + AT) < u64(scratch + STOP) do
    if pack_next_option(L, scratch, at - first) ~= 0 then
      return FAIL
    end
    local kind = u64(scratch + KIND)
    local size = u64(scratch + SIZE)
    if ult(stop - at, u64(scratch + PADDING) + size) then
      return arg_error(L, 2, "data string too short")
    end
    at = at + u64(scratch + PADDING)
    if inline.result_room(L, base, count + 2) == 0 then
      return raise(L, "stack overflow (too many results)")
    end
    local result = base - 16 + 16 * count
    if kind <= UNSIGNED then
      if unpack_integer(L, at, result) ~= 0 then
        return FAIL
      end
      at = at + size
    elseif kind == FLOAT then
      return raise(L, "floats cannot be computed at packet time")
    elseif kind < NO_VALUE then
      at = unpack_text(L, at, stop, result)
      if at < 0 then
        return FAIL
      end
    else
      at = at + size
    end
    if kind < NO_VALUE then
      count = count + 1
    end
  end
  local result = base - 16 + 16 * count
  set64(result, TAG_INT)
  set64(result + 8, at - first + 1)
  return count + 1
end
