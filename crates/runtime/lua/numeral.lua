-- Numerals: what integer or float a text stands for (luaO_str2num in lobject.c, luaV_tointeger in lvm.c).

local DOT <const> = 46
local MINUS <const> = 45
local PLUS <const> = 43
local ZERO <const> = 48

-- What text_to_number says of a text.
local NO_NUMERAL <const> = 0
local INTEGER <const> = 1
local FLOAT <const> = 2
local INTEGRAL_FLOAT <const> = 3

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

-- Number of the highest bit that is set in value, which is not 0.
local function highest_bit(value)
  local bit = 0
  local step = 32
  while step ~= 0 do
    if shr(value, step) ~= 0 then
      value = shr(value, step)
      bit = bit + step
    end
    step = step >> 1
  end
  return bit
end

-- Stores the integer of a float's sign and magnitude at `out`, if it is one.
local function store_integral(magnitude, negative, out)
  if magnitude < 0 and (negative == 0 or magnitude << 1 ~= 0) then
    return FLOAT
  end
  if negative ~= 0 then
    magnitude = -magnitude
  end
  set64(out, magnitude)
  return INTEGRAL_FLOAT
end

-- `value` without its lowest bits, so that 53 are left, and the number of bits that were dropped; rounded to the nearest,
-- ties to even. `rest` is not 0 if something non-zero is below the value.
function inline.round_to_float(value, rest)
  local count = highest_bit(value) - 52
  if count <= 0 then
    return value, 0
  end
  local low = value & shl(1, count) - 1
  local half = shl(1, count - 1)
  value = shr(value, count)
  if low > half or low == half and (rest ~= 0 or value & 1 ~= 0) then
    value = value + 1
  end
  return value, count
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

-- Compares the decimal fraction 0.000ddd, where ddd are the digits at `at` (a point among them is skipped) up to stop, and
-- `zeros` the number of zeros before them, with numerator / 2^bits (less than 1, bits <= 58): -1, 0, 1.
local function compare_fraction(at, stop, zeros, numerator, bits)
  local mask = shl(1, bits) - 1
  while at < stop do
    local digit = 0
    if numerator == 0 then
      zeros = 0
    end
    if zeros > 0 then
      zeros = zeros - 1
    else
      if u8(at) == DOT then
        at = at + 1
      end
      if at < stop then
        digit = u8(at) - ZERO
        at = at + 1
      end
    end
    numerator = numerator * 10
    local wanted = shr(numerator, bits)
    if digit < wanted then
      return -1
    elseif digit > wanted then
      return 1
    end
    numerator = numerator & mask
  end
  if numerator ~= 0 then
    return -1
  end
  return 0
end

-- Whether a fraction (as in compare_fraction) becomes 0 as a float: half of the smallest float is 2^-1075, which is
-- 0.247032822920623272… * 10^-323. (Of the digits the first 18 are looked at.)
local function rounds_to_zero(at, stop, zeros)
  while at < stop and (u8(at) == ZERO or u8(at) == DOT) do
    if u8(at) == ZERO then
      zeros = zeros + 1
    end
    at = at + 1
  end
  if at == stop or zeros > 323 then
    return true
  elseif zeros < 323 then
    return false
  end
  local value = 0
  for _ = 1, 18 do
    if at < stop and u8(at) == DOT then
      at = at + 1
    end
    value = value * 10
    if at < stop then
      value = value + u8(at) - ZERO
      at = at + 1
    end
  end
  return value <= 247032822920623272
end

-- What whole.fraction, with the fraction as in compare_fraction, is as a float: an integer, and whether it is one.
local function decimal_round(whole, at, stop, zeros, out)
  local kind = INTEGRAL_FLOAT
  if whole >> 52 ~= 0 then
    -- Floats of this size are integers.
    local tail = compare_fraction(at, stop, zeros, 0, 1)
    if whole >> 53 ~= 0 then
      local rounded, count = inline.round_to_float(whole, tail)
      whole = shl(rounded, count)
    else
      local half = compare_fraction(at, stop, zeros, 1, 1)
      if half > 0 or half == 0 and whole & 1 ~= 0 then
        whole = whole + 1
      end
    end
  else
    -- The float is an integer if it is nearer to that than half the distance between floats there, 2^-bits.
    local bits = 54
    if whole ~= 0 then
      bits = 53 - highest_bit(whole)
    end
    if compare_fraction(at, stop, zeros, shl(1, bits) - 1, bits) >= 0 then
      whole = whole + 1
    elseif whole == 0 then
      if not rounds_to_zero(at, stop, zeros) then
        kind = FLOAT
      end
    elseif compare_fraction(at, stop, zeros, 1, bits) > 0 then
      kind = FLOAT
    end
  end
  set64(out, whole)
  return kind
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
function decimal_to_number(at, stop, negative, out)
  local last, digits, point = decimal_extent(at, stop)
  local weight = point - at - 1
  if digits == 0 then
    return NO_NUMERAL
  end
  if last < stop then
    local exponent, good = exponent_at(last + 1, stop)
    if u8(last) | 32 ~= 101 or good == 0 then
      return NO_NUMERAL
    end
    weight = weight + exponent
  end
  -- The digits before the point, after it was moved by the exponent.
  local whole = 0
  while weight >= 0 and (at < last or whole ~= 0) do
    local digit = 0
    if at < last then
      if at == point then
        at = at + 1
      end
      if at < last then
        digit = u8(at) - ZERO
        at = at + 1
      end
    end
    -- 18446744073709551610: far beyond 2^63, and one digit less than what 64 bits hold.
    if not ult(whole, 1844674407370955161) then
      return FLOAT
    end
    whole = whole * 10 + digit
    weight = weight - 1
  end
  if ult(0xc000000000000000, whole) then
    return FLOAT
  end
  if at < last or whole >> 53 ~= 0 then
    local zeros = 0
    if weight < -1 then
      zeros = -1 - weight
    end
    if decimal_round(whole, at, last, zeros, out) == FLOAT then
      return FLOAT
    end
    whole = u64(out)
  end
  return store_integral(whole, negative, out)
end

-- What value * 2^scale is as a float (rest: there is something non-zero below the value), as text_to_number.
local function binary_to_number(value, scale, rest, negative, out)
  if value == 0 then
    return store_integral(0, 0, out)
  end
  local top = highest_bit(value) + scale
  if top < -1075 or top == -1075 and rest == 0 and value & value - 1 == 0 then
    return store_integral(0, 0, out)
  end
  local rounded, count = inline.round_to_float(value, rest)
  scale = scale + count
  if scale > 63 or scale < -63 then
    return FLOAT
  end
  local magnitude = 0
  if scale >= 0 then
    magnitude = shl(rounded, scale)
    if shr(magnitude, scale) ~= rounded then
      return FLOAT
    end
  else
    magnitude = shr(rounded, -scale)
    if shl(magnitude, -scale) ~= rounded then
      return FLOAT
    end
  end
  return store_integral(magnitude, negative, out)
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
local function read_number(text, out)
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
      return decimal_to_number(first, stop, negative, out)
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

-- Whether text is a numeral: 0 if not, 1 for an integer, 2 for a float that no integer is equal to, 3 for a float that one
-- is equal to. The integer is stored at out, for 1 and 3.
function text_to_number(text, out)
  return read_number(text, out)
end

-- 1 after storing the integer that text stands for at out; 0 if it is no numeral; 2 if it is the numeral of a float that no
-- integer is equal to.
function text_to_integer(text, out)
  local kind = read_number(text, out)
  if kind == INTEGRAL_FLOAT then
    return 1
  end
  return kind
end
