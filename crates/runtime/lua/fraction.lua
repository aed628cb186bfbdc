-- Arithmetic of fractions of 128 bits, with which mathematical functions are computed before they are rounded to floats. A fraction is two
-- words, (high << 64 | low) / 2^128, from 0 on and below 1; with an exponent of two beside it, it is any number.

local LOW <const> = 0xffffffff

-- x + y without what is carried.
function inline.fraction_add(xh, xl, yh, yl)
  local low = xl + yl
  local high = xh + yh
  if ult(low, xl) then
    high = high + 1
  end
  return high, low
end

function inline.fraction_subtract(xh, xl, yh, yl)
  local high = xh - yh
  if ult(xl, yl) then
    high = high - 1
  end
  return high, xl - yl
end

-- 1 - x; 0 for 0.
function inline.fraction_complement(high, low)
  high = ~high
  if low == 0 then
    high = high + 1
  end
  return high, -low
end

-- x * y, below the exact product by 3 units of the last place at most.
function inline.fraction_multiply(xh, xl, yh, yl)
  local high = inline.multiply_high(xh, yh)
  local low = xh * yh
  local part = inline.multiply_high(xh, yl)
  low = low + part
  if ult(low, part) then
    high = high + 1
  end
  part = inline.multiply_high(xl, yh)
  low = low + part
  if ult(low, part) then
    high = high + 1
  end
  return high, low
end

-- x / 2^count, for any count from 0 on.
function inline.fraction_shift(high, low, count)
  if count >= 64 then
    low = high
    high = 0
    count = count - 64
    if count >= 64 then
      low = 0
    end
  end
  if count ~= 0 then
    low = shr(low, count) | shl(high, 64 - count)
    high = shr(high, count)
  end
  return high, low
end

-- x, which is not 0, times 2^n so that it is 1/2 or more; and n.
function inline.fraction_normalise(high, low)
  local count = 0
  if high == 0 then
    high = low
    low = 0
    count = 64
  end
  local shift = 63 - inline.top_bit(high)
  if shift ~= 0 then
    high = shl(high, shift) | shr(low, 64 - shift)
    low = shl(low, shift)
  end
  return high, low, count + shift
end

-- Stores at `at + 16` the sum of t[k] * x^k for k from 1 on, where x is the fraction at `at`, and `terms` the table of t; or, if `alternate` is
-- not 0, of t[1] * x - t[2] * x^2 + …
function fraction_polynomial(at, terms, alternate)
  local first = terms & LOW
  local term = first + (terms >> 32) - 16
  local high = u64(term)
  local low = u64(term + 8)
  while true do
    high, low = inline.fraction_multiply(high, low, u64(at), u64(at + 8))
    if term == first then
      break
    end
    term = term - 16
    if alternate ~= 0 then
      high, low = inline.fraction_subtract(u64(term), u64(term + 8), high, low)
    else
      high, low = inline.fraction_add(high, low, u64(term), u64(term + 8))
    end
  end
  set64(at + 16, high)
  set64(at + 24, low)
end

-- Replaces the fraction at `at` by half its quotient by the one at `at + 16`, which is 1/2 or more: bit by bit, rounded down.
function fraction_divide(at)
  -- Halves, so that twice the rest has room.
  local rest = u64(at) >> 1
  local rest_low = u64(at) << 63 | u64(at + 8) >> 1
  local divisor = u64(at + 16) >> 1
  local divisor_low = u64(at + 16) << 63 | u64(at + 24) >> 1
  local high = 0
  local low = 0
  local count = 128
  while count ~= 0 do
    high = high << 1 | low >> 63
    low = low << 1
    if ult(divisor, rest) or divisor == rest and not ult(rest_low, divisor_low) then
      rest, rest_low = inline.fraction_subtract(rest, rest_low, divisor, divisor_low)
      low = low | 1
    end
    rest = rest << 1 | rest_low >> 63
    rest_low = rest_low << 1
    count = count - 1
  end
  set64(at, high)
  set64(at + 8, low)
end

-- The float nearest to a fraction times 2^exponent, with that sign (0 or 1 << 63).
function fraction_to_float(sign, exponent, high, low)
  if high | low == 0 then
    return sign
  end
  local shift = 0
  high, low, shift = inline.fraction_normalise(high, low)
  local significand = high >> 1
  if high << 63 | low ~= 0 then
    significand = significand | 1
  end
  return inline.float_pack_small(sign, exponent - shift + 1022, significand)
end
