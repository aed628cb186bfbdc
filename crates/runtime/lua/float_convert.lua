-- Floats compared, rounded, and made of other numbers (see float.lua).

local SIGN <const> = 1 << 63
local FRACTION <const> = 0xfffffffffffff
local IMPLICIT <const> = 0x10000000000000
local QUIET <const> = 0x8000000000000
local INFINITY <const> = 0x7ff0000000000000

-- The largest float with integral value that is not above x.
function float_floor(x)
  local exponent = (x >> 52 & 0x7ff) - 1023
  if exponent >= 52 then
    if inline.float_is_nan(x) then
      return x | QUIET
    end
    return x
  end
  if exponent < 0 then
    if x >= 0 then
      return 0
    end
    if x == SIGN then
      return x
    end
    return 0xbff0000000000000 -- -1.0
  end
  local mask = shr(FRACTION, exponent)
  if x & mask == 0 then
    return x
  end
  if x < 0 then
    x = x + mask
  end
  return x & ~mask
end

-- The smallest float with integral value that is not below x.
function float_ceil(x)
  return float_floor(x ~ SIGN) ~ SIGN
end

-- The exponent of two of a float that is not 0, infinite or NaN: of 1.0 it is 0.
function float_exponent(x)
  local exponent = x >> 52 & 0x7ff
  if exponent == 0 then
    return inline.top_bit(x & FRACTION) - 1074
  end
  return exponent - 1023
end

-- x * 2^count (ldexp).
function float_scale(x, count)
  local magnitude = x & ~SIGN
  if magnitude == 0 or magnitude >= INFINITY then
    return x
  end
  local exponent, significand = inline.float_unpack(magnitude)
  return inline.float_pack_small(x & SIGN, exponent + count, significand << 10)
end

-- The float nearest to an integer.
function float_of_integer(value)
  if value == 0 then
    return 0
  end
  local sign = value & SIGN
  if value < 0 then
    value = -value
  end
  local top = inline.top_bit(value)
  if top == 63 then
    return sign | 0x43e0000000000000 -- 2^63
  end
  return inline.float_pack(sign, 1023 + top, shl(value, 62 - top))
end

-- The order of two floats: -1, 0, 1, or 2 where one of them is NaN.
function float_compare(x, y)
  if inline.float_is_nan(x) or inline.float_is_nan(y) then
    return 2
  end
  -- As integers floats order by magnitude: the bits of negative ones are turned round, and both zeros are 0.
  if x < 0 then
    x = SIGN - x
  end
  if y < 0 then
    y = SIGN - y
  end
  if x < y then
    return -1
  end
  if x > y then
    return 1
  end
  return 0
end

-- The bits of the float of 32 bits that is nearest, as C converts a double.
function float_to_single(x)
  local sign = x >> 63 << 31
  local exponent = (x >> 52 & 0x7ff) - 896
  local significand = x & FRACTION
  if exponent == 1151 then
    if significand ~= 0 then
      significand = significand | QUIET
    end
    return sign | 0x7f800000 | significand >> 29
  end
  if exponent >= 255 then
    return sign | 0x7f800000
  end
  significand = significand | IMPLICIT
  if exponent < 1 then
    local count = 1 - exponent
    if count > 63 then
      count = 63
    end
    significand = inline.shift_sticky(significand, count)
    exponent = 1
  end
  -- Rounded to the nearest, ties to even; a carry adds to the exponent, up to infinity.
  local rounded = significand + 0xfffffff + (significand >> 29 & 1) >> 29
  return sign | (exponent - 1 << 23) + rounded
end

-- A float of 32 bits, which is the same as a double.
function float_of_single(x)
  local sign = x >> 31 << 63
  local exponent = x >> 23 & 0xff
  local fraction = x & 0x7fffff
  if exponent == 255 then
    if fraction ~= 0 then
      sign = sign | QUIET
    end
    return sign | INFINITY | fraction << 29
  end
  if exponent ~= 0 then
    return sign | exponent + 896 << 52 | fraction << 29
  end
  if fraction == 0 then
    return sign
  end
  local top = inline.top_bit(fraction)
  return sign | top + 874 << 52 | shl(fraction, 52 - top) & FRACTION
end
