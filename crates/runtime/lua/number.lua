-- Integers and texts: digits, and the functions tonumber and tostring (luaB_tonumber in lbaselib.c).

local MINUS <const> = 45
local PLUS <const> = 43
local ZERO <const> = 48

local function is_digit(c)
  return c >= ZERO and c <= 57
end

-- Two characters for each number below 100.
local PAIRS <const> = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\z
5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

-- Stores the decimal digits of a magnitude (unsigned) so that they end before `stop`; the address of the first.
function store_digits(stop, magnitude)
  local pairs = PAIRS & 0xffffffff
  while ult(99, magnitude) do
    local rest = udiv(magnitude, 100)
    stop = stop - 2
    set16(stop, u16(pairs + 2 * (magnitude - 100 * rest)))
    magnitude = rest
  end
  if magnitude < 10 then
    stop = stop - 1
    set8(stop, magnitude + ZERO)
    return stop
  end
  stop = stop - 2
  set16(stop, u16(pairs + 2 * magnitude))
  return stop
end

-- The same for an integer, with its sign. It takes 20 bytes at most.
function store_integer(stop, value)
  if value >= 0 then
    return store_digits(stop, value)
  end
  local at = store_digits(stop, -value) - 1
  set8(at, MINUS)
  return at
end

-- An integer in decimal, as a string; 0 after an error.
function integer_to_text(L, value)
  if ult(value, 100) then
    local single = 0
    if value < 10 then
      single = 1
    end
    return (PAIRS & 0xffffffff) + 2 * value + single | 2 - single << 32
  end
  local room = alloc(L, 24)
  if room == 0 then
    return 0
  end
  local at = store_integer(room + 24, value)
  return at | room + 24 - at << 32
end

-- The text that tostring makes of a nil, boolean, number or string without asking a metatable. 0 after an error; -1 for
-- other values.
function value_to_text(L, tag, payload)
  if tag == TAG_STRING then
    return payload
  elseif tag == TAG_INT then
    return integer_to_text(L, payload)
  elseif tag == TAG_FLOAT then
    return inline.float_to_text(L, payload)
  elseif tag == TAG_NIL then
    return "nil"
  elseif tag == TAG_TRUE then
    return "true"
  elseif tag == TAG_FALSE then
    return "false"
  end
  return -1
end

-- The value of a letter or digit in bases up to 36, 36 for other characters.
local function digit_in_base(c)
  if is_digit(c) then
    return c - ZERO
  end
  local digit = (c | 32) - 87
  if digit < 10 or digit > 35 then
    return 36
  end
  return digit
end

-- 1 after storing the integer that text stands for in a base at out; 0 if it is no such numeral.
function text_to_integer_in_base(text, base, out)
  local at = text & 0xffffffff
  local stop = at + (text >> 32)
  while at < stop and inline.is_space(u8(at)) do
    at = at + 1
  end
  while at < stop and inline.is_space(u8(stop - 1)) do
    stop = stop - 1
  end
  local negative = 0
  local c = u8(at)
  if at < stop and (c == MINUS or c == PLUS) then
    at = at + 1
    if c == MINUS then
      negative = 1
    end
  end
  if at >= stop then
    return 0
  end
  local value = 0
  while at < stop do
    local digit = digit_in_base(u8(at))
    if digit >= base then
      return 0
    end
    value = value * base + digit
    at = at + 1
  end
  if negative ~= 0 then
    value = -value
  end
  set64(out, value)
  return 1
end

-- tonumber(v) without a base.
local function convert_to_number(L, base, n)
  if n == 0 then
    return arg_error(L, 1, "value expected")
  end
  local tag = u64(base)
  local payload = u64(base + 8)
  if tag == TAG_STRING then
    local kind = text_to_number(L, payload, base - 8)
    tag = TAG_NIL
    if kind == 1 then
      tag = TAG_INT
    elseif kind == 2 then
      tag = TAG_FLOAT
    end
    set64(base - 16, tag)
    return 1
  end
  if tag ~= TAG_INT and tag ~= TAG_FLOAT then
    tag = TAG_NIL
    payload = 0
  end
  set64(base - 16, tag)
  set64(base - 8, payload)
  return 1
end

-- tonumber(v [, base])
function base_tonumber(L, base, n)
  if n < 2 or u64(base + 16) == TAG_NIL then
    return convert_to_number(L, base, n)
  end
  local radix, ok = inline.int_arg(L, base, n, 2)
  if ok == 0 then
    return FAIL
  end
  if u64(base) ~= TAG_STRING then
    return type_error(L, base, n, 1, "string")
  end
  if radix < 2 or radix > 36 then
    return arg_error(L, 2, "base out of range")
  end
  set64(base - 16, TAG_NIL)
  if text_to_integer_in_base(u64(base + 8), radix, base - 8) ~= 0 then
    set64(base - 16, TAG_INT)
  end
  return 1
end
