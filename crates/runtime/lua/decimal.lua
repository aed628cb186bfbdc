-- Floats in decimal, exactly: numbers of up to 124 decimal words, at L_DECIMAL.
--
-- A word is 32 bits with 9 decimal digits; the most significant word comes first, at `first`, the last one ends at `last`, and the words
-- from `point` on are behind the decimal point. 35 words are enough before it (the largest float is below 10^309), and 120 behind it, where
-- the smallest float ends. Multiplication and division by powers of two are exact, as long as there are words.

local UNIT <const> = 1000000000
local ZERO <const> = 48
local FRACTION <const> = 0xfffffffffffff
local IMPLICIT <const> = 0x10000000000000
-- Where the point is, where words end, and where digits are written, in bytes.
local POINT <const> = 144
local END <const> = 648
local DIGITS <const> = 648

-- Multiplies the words up to last, from first on, by 2^count (at most 29); where the first one is then.
local function multiply_words(first, last, count)
  local at = last
  local carry = 0
  while at > first do
    at = at - 4
    local word = shl(u32(at), count) + carry
    carry = udiv(word, UNIT)
    set32(at, word - carry * UNIT)
  end
  if carry ~= 0 then
    first = first - 4
    set32(first, carry)
  end
  return first
end

-- Divides them by 2^count (at most 9); where they begin and end then. Of what is behind the last possible word it is only kept that there
-- is something: the last bit is set.
local function divide_words(first, last, count, stop)
  local at = first
  local carry = 0
  local mask = shl(1, count) - 1
  local unit = shr(UNIT, count)
  while at < last do
    local word = u32(at)
    set32(at, shr(word, count) + carry)
    carry = (word & mask) * unit
    at = at + 4
  end
  if carry ~= 0 then
    if last < stop then
      set32(last, carry)
      last = last + 4
    else
      set32(last - 4, u32(last - 4) | 1)
    end
  end
  if u32(first) == 0 then
    first = first + 4
  end
  return first, last
end

-- The words of the magnitude of a float that is finite and not 0.
local function expand(area, bits)
  local exponent = bits >> 52 & 0x7ff
  local significand = bits & FRACTION
  if exponent ~= 0 then
    significand = significand | IMPLICIT
  else
    exponent = 1
  end
  -- The fewer bits, the fewer divisions.
  local zeros = inline.top_bit(significand & -significand)
  significand = shr(significand, zeros)
  exponent = exponent - 1075 + zeros
  local last = area + POINT
  local first = last - 4
  local high = udiv(significand, UNIT)
  set32(first, significand - high * UNIT)
  if high ~= 0 then
    first = first - 4
    set32(first, high)
  end
  while exponent > 0 do
    local count = exponent
    if count > 29 then
      count = 29
    end
    first = multiply_words(first, last, count)
    exponent = exponent - count
  end
  while exponent < 0 do
    local count = -exponent
    if count > 9 then
      count = 9
    end
    first, last = divide_words(first, last, count, area + END)
    exponent = exponent + count
  end
  return first, last
end

-- The number of decimal digits of an unsigned number.
function inline.digit_count(magnitude)
  local count = 1
  while ult(9, magnitude) do
    magnitude = udiv(magnitude, 10)
    count = count + 1
  end
  return count
end

-- Writes the digits of the words at first to last until there are more than `wanted`; where digits end, and what the words that are left
-- have in common with 0.
local function write_digits(digits, first, last, wanted)
  local count = inline.digit_count(u32(first))
  local stop = digits
  repeat
    local at = stop + count
    local word = u32(first)
    while at > stop do
      local higher = udiv(word, 10)
      at = at - 1
      set8(at, word - 10 * higher + ZERO)
      word = higher
    end
    stop = stop + count
    count = 9
    first = first + 4
  until first >= last or stop - digits > wanted
  local rest = 0
  while first < last do
    rest = rest | u32(first)
    first = first + 4
  end
  return stop, rest
end

-- Whether digits are rounded up at `at`, to the nearest, ties to even; `rest` is not 0 if something is behind stop.
local function rounds_up(digits, at, stop, rest)
  local digit = u8(at)
  if digit ~= ZERO + 5 then
    return digit > ZERO + 5
  end
  local behind = at + 1
  while behind < stop do
    rest = rest | u8(behind) - ZERO
    behind = behind + 1
  end
  return rest ~= 0 or at > digits and u8(at - 1) & 1 ~= 0
end

-- Adds 1 to the last of the digits up to stop; not 0 if they were all nines, and are zeros now.
local function count_up(digits, stop)
  local at = stop
  while at > digits do
    at = at - 1
    if u8(at) ~= ZERO + 9 then
      set8(at, u8(at) + 1)
      return 0
    end
    set8(at, ZERO)
  end
  return 1
end

-- The address of the digits that float_digits writes.
function inline.decimal_digits(L)
  return L + L_DECIMAL + DIGITS
end

-- Writes the decimal digits of the magnitude of a finite float, rounded to `count` (1 or more) significant digits, or, if `decimals` is not
-- 0, to `count` behind the point. Gives the number of digits, and the exponent of ten of the first one in the upper half of the word.
function float_digits(L, bits, decimals, count)
  local area = L + L_DECIMAL
  local digits = area + DIGITS
  local exponent = 0
  local rest = 0
  local stop = digits + 1
  local wanted = count
  if bits << 1 == 0 then
    set8(digits, ZERO)
    if decimals ~= 0 then
      wanted = count + 1
    end
  else
    local first, last = expand(area, bits)
    exponent = sar(area + POINT - 4 - first, 2) * 9 + inline.digit_count(u32(first)) - 1
    if decimals ~= 0 then
      wanted = exponent + 1 + count
      if wanted < 0 then
        -- It is 0, with so many zeros before anything else.
        return -2 - count << 32
      end
    end
    stop, rest = write_digits(digits, first, last, wanted)
  end
  local end_of_digits = digits + wanted
  if end_of_digits < stop then
    if rounds_up(digits, end_of_digits, stop, rest) and count_up(digits, end_of_digits) ~= 0 then
      if decimals ~= 0 then
        set8(end_of_digits, ZERO)
        wanted = wanted + 1
      end
      set8(digits, ZERO + 1)
      exponent = exponent + 1
    end
  end
  while stop < end_of_digits do
    set8(stop, ZERO)
    stop = stop + 1
  end
  return wanted | exponent << 32
end

-- The integer before the point, less than 10^19, of words that begin at first.
local function whole_part(area, first)
  local whole = 0
  while first < area + POINT do
    whole = whole * UNIT + u32(first)
    first = first + 4
  end
  return whole
end

-- Whether something is behind the point.
local function has_fraction(area, first, last)
  if first < area + POINT then
    first = area + POINT
  end
  while first < last do
    if u32(first) ~= 0 then
      return true
    end
    first = first + 4
  end
  return false
end

-- The float (without sign) nearest to the number whose words begin at first, which is not 0, and end at last.
local function float_of_words(area, first, last)
  local exponent = 1023 + 62
  while area + POINT - first > 12 or area + POINT - first == 12 and u32(first) > 9 do
    first, last = divide_words(first, last, 9, area + END)
    exponent = exponent + 9
  end
  local whole = whole_part(area, first)
  -- Bit 62 has to be the highest one of the whole part.
  while whole >= 0 and whole >> 62 == 0 do
    local count = 29
    if whole >> 33 ~= 0 then
      count = 62 - inline.top_bit(whole)
    end
    first = multiply_words(first, last, count)
    exponent = exponent - count
    whole = whole_part(area, first)
  end
  if whole < 0 then
    whole = inline.shift_sticky(whole, 1)
    exponent = exponent + 1
  end
  if has_fraction(area, first, last) then
    whole = whole | 1
  end
  return inline.float_pack_small(0, exponent, whole)
end

-- The float (without sign) nearest to a number by its decimal digits, from `at` to stop (a point among them is skipped), of which the first one is not 0 and stands
-- for so many times 10^exponent.
function float_of_digits(L, at, stop, exponent)
  if exponent > 308 then
    return 0x7ff0000000000000
  end
  if exponent < -324 then
    return 0
  end
  local area = L + L_DECIMAL
  -- Of a sum that is positive: exponents are -324 at least.
  local place = (exponent + 360) // 9 - 40
  local left = exponent - 9 * place
  local first = area + POINT - 4 - 4 * place
  local last = first
  local word = 0
  while at < stop or left < 8 or last < area + POINT do
    local digit = 0
    if at < stop then
      if u8(at) == 46 then
        at = at + 1
      end
      if at < stop then
        digit = u8(at) - ZERO
        at = at + 1
      end
    end
    word = word * 10 + digit
    left = left - 1
    if left < 0 then
      left = 8
      if last < area + END then
        set32(last, word)
        last = last + 4
      elseif word ~= 0 then
        set32(last - 4, u32(last - 4) | 1)
      end
      word = 0
    end
  end
  return float_of_words(area, first, last)
end

-- 10^exponent as a float, for exponents up to 22: those are exact.
local function power_of_ten(exponent)
  local power = 1
  local more = exponent - 11
  if more > 0 then
    exponent = 11
  end
  for _ = 1, exponent do
    power = power * 10
  end
  power = float_of_integer(power)
  local rest = 1
  for _ = 1, more do
    rest = rest * 10
  end
  return float_multiply(power, float_of_integer(rest))
end

-- The float without sign that digits from `at` to stop stand for, as float_of_digits has them: where both the digits and the power of ten are
-- exact as floats, by one product or quotient (Clinger, How to read floating point numbers accurately, 1990).
function inline.decimal_float(L, at, stop, exponent)
  local from = at
  local value = 0
  local digits = 0
  while from < stop and digits < 17 do
    local c = u8(from)
    if c ~= 46 then
      value = value * 10 + c - ZERO
      digits = digits + 1
    end
    from = from + 1
  end
  local scale = exponent - digits + 1
  if from == stop and value >> 53 == 0 and scale >= -22 and scale <= 22 then
    value = float_of_integer(value)
    if scale < 0 then
      return float_divide(value, power_of_ten(-scale))
    end
    return float_multiply(value, power_of_ten(scale))
  end
  return float_of_digits(L, at, stop, exponent)
end
