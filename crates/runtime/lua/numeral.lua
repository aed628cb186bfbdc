-- Numerals: what integer or float a text stands for (luaO_str2num in lobject.c, luaV_tointeger in lvm.c).

local DOT <const> = 46
local MINUS <const> = 45
local PLUS <const> = 43
local ZERO <const> = 48

-- What text_to_number says of a text.
local NO_NUMERAL <const> = 0
local INTEGER <const> = 1
local FLOAT <const> = 2

-- Exponents from here on are all the same, infinite: texts are shorter.
local HUGE_EXPONENT <const> = 0x10000000000

function inline.is_space(c)
  return c == 32 or c >= 9 and c <= 13
end

local function is_digit(c)
  return c >= ZERO and c <= 57
end

-- The value of a hexadecimal digit, 16 for other characters.
local function hex_digit(c)
  if is_digit(c) then
    return c - ZERO
  end
  local digit = (c | 32) - 87
  if digit < 10 or digit > 15 then
    return 16
  end
  return digit
end

-- The number of the decimal digits at `at`, which go to stop, at most HUGE_EXPONENT; or -1 if there are none or other
-- characters.
local function exponent_digits(at, stop)
  if at >= stop then
    return -1
  end
  local value = 0
  while at < stop do
    local c = u8(at)
    if not is_digit(c) then
      return -1
    end
    if value < HUGE_EXPONENT then
      value = value * 10 + c - ZERO
    end
    at = at + 1
  end
  return value
end

-- The exponent at `at`, behind its letter, and 1; 0, 0 if there is none.
local function exponent_at(at, stop)
  local sign = 1
  local c = u8(at)
  if at < stop and (c == MINUS or c == PLUS) then
    at = at + 1
    if c == MINUS then
      sign = -1
    end
  end
  local value = exponent_digits(at, stop)
  if value < 0 then
    return 0, 0
  end
  return value * sign, 1
end

-- Where the digits of a decimal numeral at `at` end, and how many they are; the address of the point, or of the end.
local function decimal_extent(at, stop)
  local point = 0
  local digits = 0
  while at < stop do
    local c = u8(at)
    if c == DOT and point == 0 then
      point = at
    elseif is_digit(c) then
      digits = digits + 1
    else
      break
    end
    at = at + 1
  end
  if point == 0 then
    point = at
  end
  return at, digits, point
end

-- The number text at `at`, which has no sign and is no decimal integer: as text_to_number.
function decimal_to_number(L, at, stop, negative, out)
  local last, digits, point = decimal_extent(at, stop)
  local exponent = point - at - 1
  if digits == 0 then
    return NO_NUMERAL
  end
  if last < stop then
    local more, good = exponent_at(last + 1, stop)
    if u8(last) | 32 ~= 101 or good == 0 then
      return NO_NUMERAL
    end
    exponent = exponent + more
  end
  while at < last and (u8(at) == ZERO or u8(at) == DOT) do
    if u8(at) == ZERO then
      exponent = exponent - 1
    end
    at = at + 1
  end
  -- Zeros at the end are nothing that takes time.
  while at < last and (u8(last - 1) == ZERO or u8(last - 1) == DOT) do
    last = last - 1
  end
  local bits = 0
  if at < last then
    bits = inline.decimal_float(L, at, last, exponent)
  end
  set64(out, bits | negative << 63)
  return FLOAT
end

-- Stores the float nearest to value * 2^scale (rest: there is something non-zero below the value), as text_to_number.
local function binary_to_number(value, scale, rest, negative, out)
  local bits = 0
  if value ~= 0 then
    local top = inline.top_bit(value)
    if top == 63 then
      value = inline.shift_sticky(value, 1)
    else
      value = shl(value, 62 - top)
    end
    if rest ~= 0 then
      value = value | 1
    end
    bits = inline.float_pack_small(0, 1023 + top + scale, value)
  end
  set64(out, bits | negative << 63)
  return FLOAT
end

-- The hexadecimal numeral whose digits begin at `at`, behind "0x": as text_to_number.
function hex_to_number(at, stop, negative, out)
  local value = 0
  local scale = 0
  local rest = 0
  local digits = 0
  local point = 0
  -- The integer wraps around; a float's digits are those from the first that is not 0.
  local wrapped = 0
  while at < stop do
    local c = u8(at)
    local digit = hex_digit(c)
    if c == DOT and point == 0 then
      point = 1
    elseif digit < 16 then
      digits = digits + 1
      wrapped = wrapped << 4 | digit
      scale = scale - 4 * point
      if value >> 60 == 0 then
        value = value << 4 | digit
      else
        rest = rest | digit
        scale = scale + 4
      end
    else
      break
    end
    at = at + 1
  end
  if digits == 0 then
    return NO_NUMERAL
  end
  if at == stop and point == 0 then
    if negative ~= 0 then
      wrapped = -wrapped
    end
    set64(out, wrapped)
    return INTEGER
  end
  if at < stop then
    local exponent, good = exponent_at(at + 1, stop)
    if u8(at) | 32 ~= 112 or good == 0 then
      return NO_NUMERAL
    end
    scale = scale + exponent
  end
  return binary_to_number(value, scale, rest, negative, out)
end

-- Whether one more digit makes a decimal integer too large: 2^63 - 1 ends with a 7, the negative -2^63 with an 8.
local function too_long(value, digit, negative)
  return ult(922337203685477579, value) and (value ~= 922337203685477580 or digit > 7 + negative)
end

-- text_to_number, to be expanded: numerals are read at the end of long chains of calls.
local function read_number(L, text, out)
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
    return NO_NUMERAL
  end
  if stop - at > 2 and u8(at) == ZERO and u8(at + 1) | 32 == 120 then
    return hex_to_number(at + 2, stop, negative, out)
  end
  local first = at
  local value = 0
  while at < stop do
    local digit = u8(at) - ZERO
    if digit < 0 or digit > 9 or too_long(value, digit, negative) then
      return decimal_to_number(L, first, stop, negative, out)
    end
    value = value * 10 + digit
    at = at + 1
  end
  if negative ~= 0 then
    value = -value
  end
  set64(out, value)
  return INTEGER
end

-- Whether text is a numeral: 0 if not, 1 for an integer, 2 for a float. What it stands for is stored at out.
function text_to_number(L, text, out)
  return read_number(L, text, out)
end

-- 1 after storing the integer that text stands for at out; 0 if it is no numeral; 2 if it is the numeral of a float that no
-- integer is equal to.
function text_to_integer(L, text, out)
  local kind = read_number(L, text, out)
  if kind ~= FLOAT then
    return kind
  end
  local bits = u64(out)
  if float_is_integer(bits) == 0 then
    return FLOAT
  end
  set64(out, float_to_integer(bits))
  return INTEGER
end
