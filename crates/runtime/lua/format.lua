-- string.format (manual § 6.5, lstrlib.c).
--
-- The text is built at the end of the packet memory, and nothing is allocated meanwhile. What is known of the conversion that
-- is being done is in a record at L_SCRATCH (FORMAT_…).

local PERCENT <const> = 37
local MINUS <const> = 45
local ZERO <const> = 48

-- What format_string returns instead of an address: the argument must become a string first.
local PENDING <const> = -2

local ONES <const> = 0x0101010101010101

local function flag_bit(c)
  if c == 45 then
    return FORMAT_FLAG_LEFT
  elseif c == 43 then
    return FORMAT_FLAG_PLUS
  elseif c == 35 then
    return FORMAT_FLAG_FORM
  elseif c == 48 then
    return FORMAT_FLAG_ZERO
  elseif c == 32 then
    return FORMAT_FLAG_SPACE
  end
  return 0
end

-- The character at `at`, 0 at the end.
local function char_at(at, stop)
  if at < stop then
    return u8(at)
  end
  return 0
end

-- The number of at most two digits at `at`, and the address behind it.
local function two_digits(at, stop)
  local number = char_at(at, stop) - ZERO
  if number < 0 or number > 9 then
    return 0, at
  end
  local digit = char_at(at + 1, stop) - ZERO
  if digit < 0 or digit > 9 then
    return number, at + 1
  end
  return number * 10 + digit, at + 2
end

-- Reads the conversion at `at`, behind the "%", into the record. The address behind it, or FAIL.
function format_read(L, at, stop)
  local scratch = u64(L + L_SCRATCH)
  local first = at
  local flags = 0
  local bit = flag_bit(char_at(at, stop))
  while bit ~= 0 do
    flags = flags | bit
    at = at + 1
    bit = flag_bit(char_at(at, stop))
  end
  set64(scratch + FORMAT_FLAGS, flags)
  local width, behind = two_digits(at, stop)
  set64(scratch + FORMAT_WIDTH, width)
  set64(scratch + FORMAT_PRECISION, -1)
  if char_at(behind, stop) == 46 then
    local precision, last = two_digits(behind + 1, stop)
    set64(scratch + FORMAT_PRECISION, precision)
    behind = last
  end
  -- The conversion's letter is what follows any number of such characters.
  at = behind
  local c = char_at(at, stop)
  while flag_bit(c) ~= 0 or c == 46 or c - ZERO >= 0 and c - ZERO <= 9 do
    at = at + 1
    c = char_at(at, stop)
  end
  if at - first > 20 then
    return raise(L, "invalid format (too long)")
  end
  local clean = 0
  if at == behind then
    clean = 1
  end
  set64(scratch + FORMAT_CLEAN, clean)
  set64(scratch + FORMAT_LETTER, c)
  local size = at - first + 1
  if c ~= 0 then
    size = size + 1
  end
  set64(scratch + FORMAT_TEXT, first - 1 | size << 32)
  return at + 1
end

-- 1 if the conversion has only flags out of `allowed`, and no precision if that is -1; else 0.
function inline.format_is_good(scratch, allowed, precision)
  if u64(scratch + FORMAT_CLEAN) == 0 or u64(scratch + FORMAT_FLAGS) & ~allowed ~= 0 then
    return 0
  elseif precision ~= 1 and u64(scratch + FORMAT_PRECISION) >= 0 then
    return 0
  end
  return 1
end

function inline.format_raise_bad(L, scratch)
  return raise_joined(L, "invalid conversion specification: '", u64(scratch + FORMAT_TEXT), "'")
end

-- Stores `count` equal bytes, and up to 7 more. The address behind them.
local function fill(at, byte, count)
  local stop = at
  if count > 0 then
    stop = at + count
  end
  local word = byte * ONES
  while at < stop do
    set64(at, word)
    at = at + 8
  end
  return stop
end

-- Appends a prefix (up to three characters, and their number in the byte above), `zeros` zeros and the body, padded to the
-- width with spaces; where `zeros` is -1 and the flags say so with zeros. The address behind it.
function format_put(L, at, prefix, zeros, body)
  local scratch = u64(L + L_SCRATCH)
  local flags = u64(scratch + FORMAT_FLAGS)
  local length = body >> 32
  local padding = u64(scratch + FORMAT_WIDTH) - (prefix >> 24) - length
  if zeros > 0 then
    padding = padding - zeros
  elseif zeros < 0 and flags & FORMAT_FLAG_ZERO ~= 0 and flags & FORMAT_FLAG_LEFT == 0 then
    zeros = padding
    padding = 0
  end
  if flags & FORMAT_FLAG_LEFT == 0 then
    at = fill(at, 32, padding)
  end
  set32(at, prefix)
  at = fill(at + (prefix >> 24), ZERO, zeros)
  copy_bytes(at, body & 0xffffffff, length)
  at = at + length
  if flags & FORMAT_FLAG_LEFT ~= 0 then
    at = fill(at, 32, padding)
  end
  return at
end

-- The prefix that shows the sign of a number.
function inline.format_sign_prefix(flags, value)
  if value < 0 then
    return MINUS | 1 << 24
  elseif flags & FORMAT_FLAG_PLUS ~= 0 then
    return 43 | 1 << 24
  elseif flags & FORMAT_FLAG_SPACE ~= 0 then
    return 32 | 1 << 24
  end
  return 0
end

-- Stores the digits of an unsigned number in base 8 or 16 (2^bits) so that they end before stop; digits from ten on are
-- `letter` + 10 and so on. The address of the first.
local function store_in_base(stop, value, bits, letter)
  repeat
    local digit = value & shl(1, bits) - 1
    if digit > 9 then
      digit = digit + letter - ZERO
    end
    stop = stop - 1
    set8(stop, digit + ZERO)
    value = shr(value, bits)
  until value == 0
  return stop
end

-- Appends an integer with the conversion d, i, u, o, x or X. The address behind it.
local function put_integer(L, scratch, at, letter, value)
  local flags = u64(scratch + FORMAT_FLAGS)
  local stop = scratch + FORMAT_DIGITS
  local prefix = 0
  local first = stop
  if letter == 120 or letter == 88 then -- x X
    first = store_in_base(stop, value, 4, letter - 33)
    if flags & FORMAT_FLAG_FORM ~= 0 and value ~= 0 then
      prefix = ZERO | letter << 8 | 2 << 24
    end
  elseif letter == 111 then -- o
    first = store_in_base(stop, value, 3, 0)
  else
    if letter ~= 117 then -- u
      prefix = inline.format_sign_prefix(flags, value)
      if value < 0 then
        value = -value
      end
    end
    first = store_digits(stop, value)
  end
  local precision = u64(scratch + FORMAT_PRECISION)
  if precision == 0 and value == 0 then
    first = stop
  end
  local zeros = -1
  if precision >= 0 then
    zeros = precision - (stop - first)
    if zeros < 0 then
      zeros = 0
    end
  end
  if letter == 111 and flags & FORMAT_FLAG_FORM ~= 0 and zeros <= 0 and (first == stop or value ~= 0) then
    -- The alternative form of an octal number begins with a zero.
    first = first - 1
    set8(first, ZERO)
  end
  return format_put(L, at, prefix, zeros, first | stop - first << 32)
end

-- Flags of integer conversions.
local function integer_flags(letter)
  if letter == 100 or letter == 105 then -- d i
    return FORMAT_FLAG_LEFT | FORMAT_FLAG_PLUS | FORMAT_FLAG_ZERO | FORMAT_FLAG_SPACE
  elseif letter == 117 then -- u
    return FORMAT_FLAG_LEFT | FORMAT_FLAG_ZERO
  end
  return FORMAT_FLAG_LEFT | FORMAT_FLAG_FORM | FORMAT_FLAG_ZERO
end

-- Appends argument i with the conversion c, d, i, u, o, x or X. The address behind it, or FAIL.
function format_integer(L, base, n, i, at)
  local scratch = u64(L + L_SCRATCH)
  local letter = u64(scratch + FORMAT_LETTER)
  if letter == 99 and inline.format_is_good(scratch, FORMAT_FLAG_LEFT, -1) == 0 then -- c
    return inline.format_raise_bad(L, scratch)
  end
  local value, ok = inline.int_arg(L, base, n, i)
  if ok == 0 then
    return FAIL
  end
  if letter == 99 then
    set8(scratch + FORMAT_BODY, value)
    return format_put(L, at, 0, 0, scratch + FORMAT_BODY | 1 << 32)
  end
  if inline.format_is_good(scratch, integer_flags(letter), 1) == 0 then
    return inline.format_raise_bad(L, scratch)
  end
  return put_integer(L, scratch, at, letter, value)
end

-- Appends the address of a value with the conversion p. The address behind it, or FAIL.
function format_pointer(L, value, at)
  local scratch = u64(L + L_SCRATCH)
  local tag = u64(value)
  local stop = scratch + FORMAT_DIGITS
  if inline.format_is_good(scratch, FORMAT_FLAG_LEFT, -1) == 0 then
    return inline.format_raise_bad(L, scratch)
  end
  if tag < TAG_STRING then
    return format_put(L, at, 0, 0, "(null)")
  end
  local first = store_in_base(stop, u64(value + 8) & 0xffffffff, 4, 87)
  return format_put(L, at, ZERO | 120 << 8 | 2 << 24, 0, first | stop - first << 32)
end

-- A value as a string for %s, without memory for the digits of a number; 0 for values that Lua code has to convert.
local function plain_text(L, scratch, tag, payload)
  if tag == TAG_STRING then
    return payload
  elseif tag == TAG_INT then
    local first = store_integer(scratch + FORMAT_DIGITS, payload)
    return first | scratch + FORMAT_DIGITS - first << 32
  elseif tag == TAG_FLOAT then
    return store_float(L, scratch + FORMAT_BODY, payload)
  elseif tag == TAG_NIL then
    return "nil"
  elseif tag == TAG_TRUE then
    return "true"
  elseif tag == TAG_FALSE then
    return "false"
  end
  return 0
end

-- Appends argument i, which is the value at `value`, with the conversion s. The address behind it, FAIL, or PENDING.
function format_string(L, value, i, at)
  local scratch = u64(L + L_SCRATCH)
  local text = plain_text(L, scratch, u64(value), u64(value + 8))
  if text == 0 then
    return PENDING
  end
  local first = text & 0xffffffff
  local length = text >> 32
  if inline.text_room(L, at, length) == 0 then
    return FAIL
  end
  if u64(scratch + FORMAT_TEXT) >> 32 ~= 2 then
    if find_byte(first, first + length, 0) ~= first + length then
      return arg_error(L, i, "string contains zeros")
    elseif inline.format_is_good(scratch, FORMAT_FLAG_LEFT, 1) == 0 then
      return inline.format_raise_bad(L, scratch)
    end
    local precision = u64(scratch + FORMAT_PRECISION)
    if precision >= 0 or length < 100 then
      if precision >= 0 and precision < length then
        text = first | precision << 32
      end
      return format_put(L, at, 0, 0, text)
    end
  end
  copy_bytes(at, first, length)
  return at + length
end

-- Appends a string as a literal (addquoted in lstrlib.c). The address behind it.
local function put_quoted(at, first, stop)
  set8(at, 34)
  at = at + 1
  while first < stop do
    local c = u8(first)
    first = first + 1
    if c == 34 or c == 92 or c == 10 then
      set16(at, 92 | c << 8)
      at = at + 2
    elseif c < 32 or c == 127 then
      -- All three digits where another digit follows.
      local next = char_at(first, stop) - ZERO
      local count = 1
      if next >= 0 and next <= 9 or c > 99 then
        count = 3
      elseif c > 9 then
        count = 2
      end
      set32(at, 92 | 0x303000)
      at = at + 1 + count
      store_digits(at, c)
    else
      set8(at, c)
      at = at + 1
    end
  end
  set8(at, 34)
  return at + 1
end

-- Appends argument i, the value at `value`, with the conversion q. The address behind it, or FAIL.
function format_quoted(L, value, i, at)
  local scratch = u64(L + L_SCRATCH)
  local tag = u64(value)
  local payload = u64(value + 8)
  if u64(scratch + FORMAT_TEXT) >> 32 ~= 2 then
    return raise(L, "specifier '%q' cannot have modifiers")
  elseif tag == TAG_STRING then
    local first = payload & 0xffffffff
    local length = payload >> 32
    if inline.text_room(L, at, 4 * length + 2) == 0 then
      return FAIL
    end
    return put_quoted(at, first, first + length)
  elseif tag == TAG_FLOAT then
    return put_float_literal(scratch, at, payload)
  elseif tag > TAG_STRING then
    return arg_error(L, i, "value has no literal form")
  elseif tag == TAG_INT and payload << 1 == 0 and payload ~= 0 then
    return inline.append(at, "0x8000000000000000")
  end
  return inline.append(at, plain_text(L, scratch, tag, payload))
end

-- Appends argument i with the conversion that was read. The address behind it, FAIL, or PENDING.
local function put_argument(L, base, n, i, at)
  local scratch = u64(L + L_SCRATCH)
  local letter = u64(scratch + FORMAT_LETTER)
  local value = base + 16 * i - 16
  if letter == 115 then -- s
    return format_string(L, value, i, at)
  elseif letter == 113 then -- q
    return format_quoted(L, value, i, at)
  elseif letter == 112 then -- p
    return format_pointer(L, value, at)
  elseif letter | 32 == 120 or letter == 100 or letter == 99 or letter == 105 or letter == 111 or letter == 117 then
    return format_integer(L, base, n, i, at)
  elseif letter == 102 or letter | 32 == 97 or letter | 32 == 101 or letter | 32 == 103 then
    return format_float(L, base, n, i, at)
  end
  return raise_joined(L, "invalid conversion '", u64(scratch + FORMAT_TEXT), "' to 'format'")
end

-- string.format(format, ...). Where an argument for %s is neither a string nor an integer, boolean or nil, there are two
-- results: nil, and the number of the argument, which tostring has to convert before another try.
function string_format(L, base, n)
  local format, ok = inline.str_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local from = format & 0xffffffff
  local stop = from + (format >> 32)
  local first = inline.begin_text(L)
  local at = first
  local i = 1
  while from < stop do
    local percent = find_byte(from, stop, PERCENT)
    -- 480: for a number.
    if inline.text_room(L, at, percent - from + 480) == 0 then
      return FAIL
    end
    copy_bytes(at, from, percent - from)
    at = at + percent - from
    from = percent + 2
    if char_at(percent + 1, stop) == PERCENT then
      set8(at, PERCENT)
      at = at + 1
    elseif percent < stop then
      i = i + 1
      if i > n then
        return arg_error(L, i, "no value")
      end
      from = format_read(L, percent + 1, stop)
      if from < 0 then
        return FAIL
      end
      at = put_argument(L, base, n, i, at)
      if at < 0 then
        break
      end
    end
  end
  if at == PENDING then
    set64(base - 16, TAG_NIL)
    set64(base, TAG_INT)
    set64(base + 8, i)
    return 2
  elseif at < 0 then
    return FAIL
  end
  local text = inline.end_text(L, first, at)
  return inline.return_value(base, TAG_STRING, text)
end
