-- Arithmetic of floats: IEEE 754 doubles by integer operations, since eBPF has no others. Floats are words with their bits: sign, 11 bits
-- of exponent, 52 of fraction. Every result is the exact one rounded to the nearest, ties to even (IEEE 754-2019 § 4.3.1); where one
-- operand is NaN or there is no result, it is the NaN that x86's SSE2 gives, whose sign `tostring` shows.

local SIGN <const> = 1 << 63
local INFINITY <const> = 0x7ff0000000000000
local FRACTION <const> = 0xfffffffffffff
local IMPLICIT <const> = 0x10000000000000
local QUIET <const> = 0x8000000000000
-- What operations without a result give.
local NO_NUMBER <const> = 0xfff8000000000000
local LOW <const> = 0xffffffff

function inline.float_is_nan(x)
  return ult(0xffe0000000000000, x << 1)
end

function inline.float_is_infinite(x)
  return x << 1 == 0xffe0000000000000
end

-- Number of the highest bit that is set in value, which is not 0: the bits below it are set, too, and counted.
function inline.top_bit(value)
  value = value | value >> 1
  value = value | value >> 2
  value = value | value >> 4
  value = value | value >> 8
  value = value | value >> 16
  value = value | value >> 32
  value = value - (value >> 1 & 0x5555555555555555)
  value = (value & 0x3333333333333333) + (value >> 2 & 0x3333333333333333)
  value = value + (value >> 4) & 0x0f0f0f0f0f0f0f0f
  return (value * 0x0101010101010101 >> 56) - 1
end

-- value >> count (1 to 63), with the lowest bit set if a bit was lost.
function inline.shift_sticky(value, count)
  local shifted = shr(value, count)
  if shl(value, 64 - count) ~= 0 then
    shifted = shifted | 1
  end
  return shifted
end

-- The upper half of the product of two unsigned numbers.
function inline.multiply_high(x, y)
  local xl = x & LOW
  local xh = x >> 32
  local yl = y & LOW
  local yh = y >> 32
  local middle = xh * yl + (xl * yl >> 32)
  local other = xl * yh + (middle & LOW)
  return xh * yh + (middle >> 32) + (other >> 32)
end

-- The float with that sign (0 or SIGN), biased exponent (1 or more), and significand, of which bit 62 is the one before the point; lower
-- bits are rounded away. Where bit 62 is not set, the exponent must be 1.
function inline.float_pack(sign, exponent, significand)
  if exponent > 2046 then
    return sign | INFINITY
  end
  local rounded = significand + 0x1ff + (significand >> 10 & 1) >> 10
  -- The bit before the point adds 1 to the exponent, and so does a carry from rounding, up to infinity.
  return sign | (exponent - 1 << 52) + rounded
end

-- The same for any exponent, where bit 62 is set: below 1, the result is subnormal.
function inline.float_pack_small(sign, exponent, significand)
  if exponent < 1 then
    local count = 1 - exponent
    if count > 63 then
      count = 63
    end
    significand = inline.shift_sticky(significand, count)
    exponent = 1
  end
  return inline.float_pack(sign, exponent, significand)
end

-- Of a float that is not 0, infinite or NaN: its biased exponent, and its significand with bit 52 set; of subnormal ones the exponent is
-- below 1.
function inline.float_unpack(x)
  local exponent = x >> 52 & 0x7ff
  local significand = x & FRACTION
  if exponent ~= 0 then
    significand = significand | IMPLICIT
  else
    local shift = 52 - inline.top_bit(significand)
    significand = shl(significand, shift)
    exponent = 1 - shift
  end
  return exponent, significand
end

-- The NaN that becomes of two operands of which at least one is NaN: the first one that is, made quiet.
function inline.float_of_nan(x, y)
  if inline.float_is_nan(x) then
    return x | QUIET
  end
  return y | QUIET
end

-- Of two magnitudes of which x is not less, both finite: the exponent of x, and both significands, shifted to the left by `count`, y's so that
-- its exponent is that of x.
local function align(x, y, count)
  local exponent = x >> 52
  local other = y >> 52
  local high = x & FRACTION
  local low = y & FRACTION
  if exponent ~= 0 then
    high = high | IMPLICIT
  else
    exponent = 1
  end
  if other ~= 0 then
    low = low | IMPLICIT
  else
    other = 1
  end
  low = shl(low, count)
  local distance = exponent - other
  if distance ~= 0 then
    if distance > 63 then
      distance = 63
    end
    low = inline.shift_sticky(low, distance)
  end
  return exponent, shl(high, count), low
end

-- The sum of two such magnitudes; the sign of the result.
local function add_magnitudes(x, y, sign)
  local exponent, high, low = align(x, y, 9)
  local sum = high + low
  if sum >> 62 ~= 0 then
    exponent = exponent + 1
  else
    sum = sum << 1
  end
  return inline.float_pack(sign, exponent, sum)
end

-- The difference of such magnitudes.
local function subtract_magnitudes(x, y, sign)
  local exponent, high, low = align(x, y, 10)
  local difference = high - low
  if difference == 0 then
    return 0
  end
  local shift = 62 - inline.top_bit(difference)
  if shift >= exponent then
    shift = exponent - 1
  end
  return inline.float_pack(sign, exponent - shift, shl(difference, shift))
end

function float_add(x, y)
  local a = x & ~SIGN
  local b = y & ~SIGN
  if a >= INFINITY or b >= INFINITY then
    if a > INFINITY or b > INFINITY then
      return inline.float_of_nan(x, y)
    end
    if a ~= INFINITY then
      return y
    end
    if b == INFINITY and x ~= y then
      return NO_NUMBER
    end
    return x
  end
  local sign = x & SIGN
  local differ = (x ~ y) & SIGN
  if a < b then
    sign = y & SIGN
    local swapped = a
    a = b
    b = swapped
  end
  if differ ~= 0 then
    return subtract_magnitudes(a, b, sign)
  end
  return add_magnitudes(a, b, sign)
end

function float_subtract(x, y)
  if inline.float_is_nan(y) then
    return inline.float_of_nan(x, y)
  end
  return float_add(x, y ~ SIGN)
end

function float_multiply(x, y)
  local a = x & ~SIGN
  local b = y & ~SIGN
  local sign = (x ~ y) & SIGN
  if a >= INFINITY or b >= INFINITY then
    if a > INFINITY or b > INFINITY then
      return inline.float_of_nan(x, y)
    end
    if a == 0 or b == 0 then
      return NO_NUMBER
    end
    return sign | INFINITY
  end
  if a == 0 or b == 0 then
    return sign
  end
  local first, left = inline.float_unpack(a)
  local second, right = inline.float_unpack(b)
  -- Of the product's 106 bits the first 64: bit 62 or bit 61 is the highest.
  left = left << 10
  right = right << 11
  local product = inline.multiply_high(left, right)
  if left * right ~= 0 then
    product = product | 1
  end
  local exponent = first + second - 1023
  if product >> 62 ~= 0 then
    exponent = exponent + 1
  else
    product = product << 1
  end
  return inline.float_pack_small(sign, exponent, product)
end
