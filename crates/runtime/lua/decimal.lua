-- Integers written as floats are: the conversions e, f and g of string.format (fprintf in C11 § 7.21.6.1). The value is
-- rounded as a conversion to a float does it, and then to the digits that are asked for; both to the nearest, ties to even.

local POINT <const> = 46
local ZERO <const> = 48

-- The number of decimal digits of an unsigned number.
local function digit_count(magnitude)
  local count = 1
  while ult(9, magnitude) do
    magnitude = udiv(magnitude, 10)
    count = count + 1
  end
  return count
end

-- Stores a point and `count` zeros, and up to 7 bytes more; the point only if one follows or `point` is not 0. The address
-- behind them.
local function store_decimals(at, count, point)
  if count == 0 and point == 0 then
    return at
  end
  set8(at, POINT)
  at = at + 1
  local stop = at + count
  while at < stop do
    set64(at, ZERO * 0x0101010101010101)
    at = at + 8
  end
  return stop
end

-- `magnitude`, which has `digits` digits, rounded to `count` significant digits, and its exponent.
local function round_decimal(magnitude, digits, count)
  local unit = 1
  local dropped = digits - count
  while dropped > 0 do
    unit = unit * 10
    dropped = dropped - 1
  end
  local kept = udiv(magnitude, unit)
  local rest = magnitude - kept * unit
  if unit ~= 1 and (rest > unit >> 1 or rest == unit >> 1 and kept & 1 ~= 0) then
    kept = kept + 1
  end
  local exponent = digits - 1
  if digit_count(kept) > count then
    kept = udiv(kept, 10)
    exponent = exponent + 1
  end
  return kept, exponent
end

-- Stores a number as 1.23e+04 with `count` significant digits; without zeros at the end if `strip` is not 0. The string.
local function store_scientific(at, magnitude, count, letter, strip, point)
  local digits = digit_count(magnitude)
  local kept, exponent = round_decimal(magnitude, digits, count)
  if strip ~= 0 then
    while kept ~= 0 and umod(kept, 10) == 0 do
      kept = udiv(kept, 10)
    end
    count = digit_count(kept)
  end
  -- The digits, with room for the point behind the first of them.
  local first = store_digits(at + 24, kept) - 1
  set8(first, u8(first + 1))
  local present = at + 24 - first - 1
  local stop = at + 24
  if count > 1 or point ~= 0 then
    set8(first + 1, POINT)
    local wanted = first + 1 + count
    while stop < wanted do
      set64(stop, ZERO * 0x0101010101010101)
      stop = stop + 8
    end
    stop = wanted
  else
    stop = first + present
  end
  set8(stop, letter)
  set8(stop + 1, 43)
  set16(stop + 2, ZERO << 8 | ZERO)
  store_digits(stop + 4, exponent)
  return first | stop + 4 - first << 32
end

-- Stores an unsigned number, at most 2^63, at `at` with the conversion that `letter` says, with `precision`; `point` is not 0
-- for the alternative form. It takes 150 bytes at most. The string.
function store_as_float(at, magnitude, letter, precision, point)
  if magnitude >> 53 ~= 0 then
    local rounded, count = inline.round_to_float(magnitude, 0)
    magnitude = shl(rounded, count)
  end
  if letter | 32 == 101 then -- e
    return store_scientific(at, magnitude, precision + 1, letter, 0, point)
  end
  local decimals = precision
  if letter ~= 102 then -- g
    if precision == 0 then
      precision = 1
    end
    decimals = precision - digit_count(magnitude)
    if decimals < 0 then
      return store_scientific(at, magnitude, precision, letter - 2, 1 - point, point)
    end
    -- Zeros at the end are left out, except in the alternative form.
    decimals = decimals * point
  end
  local first = store_digits(at + 20, magnitude)
  local stop = store_decimals(at + 20, decimals, point)
  return first | stop - first << 32
end
