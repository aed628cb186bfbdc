-- Angles of sines, cosines and tangents (C11 §§ 7.12.4, F.10.1), computed as in angle.lua, with numbers at the same places.

local SIGN <const> = 1 << 63
local INFINITY <const> = 0x7ff0000000000000
local FRACTION <const> = 0xfffffffffffff
local IMPLICIT <const> = 0x10000000000000
local QUIET <const> = 0x8000000000000
local LOW <const> = 0xffffffff
local ONE <const> = 0x3ff0000000000000
local QUARTER_PI <const> = 0x3fe921fb54442d18
local HALF_PI <const> = 0x3ff921fb54442d18
local THREE_QUARTERS_PI <const> = 0x4002d97c7f3321d2
local PI <const> = 0x400921fb54442d18
-- What glibc gives for sines and cosines beyond 1: the sign is shown by `tostring`.
local NO_NUMBER <const> = 0x7ff8000000000000

-- x * factor, a small integer.
local function multiple(high, low, factor)
  return high * factor + inline.multiply_high(low, factor), low * factor
end

-- The fractions at `at + 32` and `at + 48`, of which the first one counts 2^exponent and is not the larger one, as numerator and denominator
-- of the tangent of what the angle is beside atan(place / 8): at `at` and `at + 16`, 1/2 or more. Their exponent; in the lowest bit 1 if the
-- angle is less.
function angle_rotate(at, exponent, place)
  local high, low = inline.fraction_shift(u64(at + 32), u64(at + 40), 5 - exponent)
  local other, other_low = inline.fraction_shift(u64(at + 48), u64(at + 56), 5)
  local part, part_low = multiple(other, other_low, place)
  local first, first_low = inline.fraction_subtract(high << 3 | low >> 61, low << 3, part, part_low)
  part, part_low = multiple(high, low, place)
  local second, second_low = inline.fraction_add(other << 3 | other_low >> 61, other_low << 3, part, part_low)
  local less = 0
  if first < 0 then
    less = 1
    first, first_low = inline.fraction_complement(first, first_low)
  end
  local shift = 0
  local other_shift = 0
  if first | first_low ~= 0 then
    first, first_low, shift = inline.fraction_normalise(first, first_low)
  end
  second, second_low, other_shift = inline.fraction_normalise(second, second_low)
  set64(at, first)
  set64(at + 8, first_low)
  set64(at + 16, second)
  set64(at + 24, second_low)
  return other_shift - shift << 1 | less
end

-- The angle that is the fraction at `at + 32` times 2^exponent, added to atan(place / 8), or subtracted from it if bit 0 of `parts` is set; a
-- quarter turn minus that if bit 1 is, half a turn minus that if bit 2 is. As a float with that sign.
function angle_compose(at, exponent, place, parts, sign)
  local high = u64(at + 32)
  local low = u64(at + 40)
  if place | parts ~= 0 then
    -- In units of 4, where pi / 4 is pi.
    high, low = inline.fraction_shift(high, low, 2 - exponent)
    exponent = 2
    local known = (inline.arctangents() & LOW) + 16 * place
    local angle, angle_low = inline.fraction_shift(u64(known), u64(known + 8), 2)
    if parts & 1 ~= 0 then
      high, low = inline.fraction_subtract(angle, angle_low, high, low)
    else
      high, low = inline.fraction_add(angle, angle_low, high, low)
    end
    local half, half_low = inline.quarter_pi()
    if parts & 2 ~= 0 then
      high, low = inline.fraction_subtract(half >> 1, half << 63 | half_low >> 1, high, low)
    end
    if parts & 4 ~= 0 then
      high, low = inline.fraction_subtract(half, half_low, high, low)
    end
  end
  return fraction_to_float(sign, exponent, high, low)
end

-- The angle whose tangent is the fraction at `at + 32`, times 2^exponent, by the one at `at + 48`, both 1/2 or more; or half a turn minus
-- that if `obtuse` is 1. As a float with that sign.
function angle_of_ratio(at, exponent, obtuse, sign)
  local parts = obtuse << 2
  if exponent > 0 or exponent == 0 and ult(u64(at + 48), u64(at + 32)) then
    parts = parts | 2
    exponent = -exponent
    local high = u64(at + 32)
    local low = u64(at + 40)
    set64(at + 32, u64(at + 48))
    set64(at + 40, u64(at + 56))
    set64(at + 48, high)
    set64(at + 56, low)
  end
  -- The tangent is near place / 8.
  local place = 0
  if exponent > -5 then
    local divisor = u64(at + 48) >> 33
    place = udiv(shr(u64(at + 32) >> 33 << 4, -exponent) + divisor, divisor << 1)
  end
  local rotated = exponent << 1
  if place ~= 0 then
    rotated = angle_rotate(at, exponent, place)
  else
    set64(at, u64(at + 32))
    set64(at + 8, u64(at + 40))
    set64(at + 16, u64(at + 48))
    set64(at + 24, u64(at + 56))
  end
  exponent = sar(rotated, 1) + 1
  fraction_divide(at)
  set64(at + 32, u64(at))
  set64(at + 40, u64(at + 8))
  inline.store_square(at, exponent)
  fraction_polynomial(at, inline.arctangent_terms(), 1)
  inline.store_correction(at)
  return angle_compose(at, exponent, place, parts | rotated & 1, sign)
end

-- Where one of two magnitudes is 0 or infinite, the angle of the point that they are the coordinates of.
local function angle_of_edge(y, x)
  if y == INFINITY and x == INFINITY then
    return QUARTER_PI
  end
  if y == 0 or x == INFINITY then
    return 0
  end
  return HALF_PI
end

-- C's atan2: the angle of the point (x, y).
function float_arctangent(L, y, x)
  if inline.float_is_nan(x) or inline.float_is_nan(y) then
    return inline.float_of_nan(x, y)
  end
  local sign = y & SIGN
  local width = x & ~SIGN
  local height = y & ~SIGN
  if height == 0 or height == INFINITY or width == 0 or width == INFINITY then
    local angle = angle_of_edge(height, width)
    if x < 0 then
      if angle == 0 then
        angle = PI
      elseif angle == QUARTER_PI then
        angle = THREE_QUARTERS_PI
      end
    end
    return sign | angle
  end
  local at = u64(L + L_SCRATCH)
  local exponent, significand = inline.float_unpack(height)
  set64(at + 32, significand << 11)
  set64(at + 40, 0)
  local other, divisor = inline.float_unpack(width)
  set64(at + 48, divisor << 11)
  set64(at + 56, 0)
  return angle_of_ratio(at, exponent - other, x >> 63, sign)
end

-- Stores at `place` the square root of a fraction that is 1/4 or more.
function store_root(place, high, low)
  -- 53 bits of it as floats have it, and 32 from what the square of those leaves.
  local exponent = 1022
  local significand = high >> 11
  if high >= 0 then
    exponent = 1021
    significand = high >> 10
  end
  local root = float_sqrt(exponent << 52 | significand & FRACTION) & FRACTION | IMPLICIT
  root = root << 11
  local rest, rest_low = inline.fraction_subtract(high, low, inline.multiply_high(root, root), root * root)
  local negative = 0
  if rest < 0 then
    negative = 1
    rest, rest_low = inline.fraction_complement(rest, rest_low)
  end
  -- The rest by twice the root, rounded down: the sum is below 1.
  local quotient = udiv(rest << 50 | rest_low >> 14, (root >> 32) + 1)
  if negative ~= 0 then
    high, low = inline.fraction_subtract(root, 0, quotient >> 19, quotient << 45)
  else
    high, low = inline.fraction_add(root, 0, quotient >> 19, quotient << 45)
  end
  set64(place, high)
  set64(place + 8, low)
end

-- Stores at `place` the root of 1 - x^2, of a magnitude from 2^-60 on and below 1 that has that exponent and significand, as a fraction of 1/2
-- or more; minus its exponent.
local function store_leg(place, exponent, significand)
  local high, low = inline.fraction_shift(inline.multiply_high(significand, significand), significand * significand, -2 * exponent)
  high, low = inline.fraction_complement(high, low)
  local shift = 0
  high, low, shift = inline.fraction_normalise(high, low)
  if shift & 1 ~= 0 then
    low = low >> 1 | high << 63
    high = high >> 1
  end
  store_root(place, high, low)
  return shift >> 1
end

-- The angle whose sine is x; whose cosine is x if `cosine` is 1.
function float_arcsine(L, x, cosine)
  local magnitude = x & ~SIGN
  if magnitude > ONE then
    if magnitude > INFINITY then
      return x | QUIET
    end
    return NO_NUMBER
  end
  if magnitude == ONE then
    if cosine == 0 then
      return x & SIGN | HALF_PI
    end
    return (x >> 63) * PI
  end
  -- Below 2^-28, x is the angle; below 2^-60, it does not count beside a quarter turn.
  if cosine == 0 and magnitude < 0x3e30000000000000 then
    return x
  end
  if magnitude < 0x3c30000000000000 then
    return HALF_PI
  end
  local at = u64(L + L_SCRATCH)
  local exponent, significand = inline.float_unpack(magnitude)
  exponent = exponent - 1022
  significand = significand << 11
  if cosine ~= 0 then
    set64(at + 48, significand)
    set64(at + 56, 0)
    local shift = store_leg(at + 32, exponent, significand)
    return angle_of_ratio(at, -shift - exponent, x >> 63, 0)
  end
  set64(at + 32, significand)
  set64(at + 40, 0)
  local shift = store_leg(at + 48, exponent, significand)
  return angle_of_ratio(at, exponent + shift, 0, x & SIGN)
end
