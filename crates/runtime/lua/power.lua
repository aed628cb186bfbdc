-- Powers, exponentials and logarithms of floats (C11 §§ 7.12.6, 7.12.7, F.10.3, F.10.4). What is computed on the way has some 115 bits,
-- so results are the nearest float but in cases that are not known to exist; what is exact, or halfway between two floats, is told.
--
-- Numbers stand at L_SCRATCH: a fraction (see fraction.lua), and behind it room for another one.

local SIGN <const> = 1 << 63
local INFINITY <const> = 0x7ff0000000000000
local FRACTION <const> = 0xfffffffffffff
local IMPLICIT <const> = 0x10000000000000
local QUIET <const> = 0x8000000000000
local LOW <const> = 0xffffffff
local ONE <const> = 0x3ff0000000000000
-- What operations without a result give.
local NO_NUMBER <const> = 0xfff8000000000000
local POSITIVE_NAN <const> = 0x7ff8000000000000

-- An integral number and a fraction of it, whose sign is that of `whole`, at `at` as a fraction of 1/2 or more; its exponent << 1, and 1
-- if it is below 0.
local function store_mixed(at, whole, high, low)
  local negative = 0
  if whole < 0 then
    negative = 1
    whole = -whole
    if high | low ~= 0 then
      high, low = inline.fraction_complement(high, low)
      whole = whole - 1
    end
  end
  local exponent = 0
  if whole ~= 0 then
    exponent = inline.top_bit(whole) + 1
    low = shr(low, exponent) | shl(high, 64 - exponent)
    high = shr(high, exponent) | shl(whole, 64 - exponent)
  else
    high, low, exponent = inline.fraction_normalise(high, low)
    exponent = -exponent
  end
  set64(at, high)
  set64(at + 8, low)
  return exponent << 1 | negative
end

-- The logarithm to base 2 of a float that is above 0, finite and not 1: the magnitude at `at` as a fraction of about 1/2, of which all bits
-- are good also near 1; its exponent << 1, and 1 if the logarithm is below 0.
function float_log2(at, x)
  local exponent, significand = inline.float_unpack(x)
  -- The significand is near 1 + place / 32, or, times a number of 10 bits, near 1: x = 2^exponent * t * (1 + rest / 2^61).
  local place = (significand >> 46) - 63 >> 1
  local rest = significand * udiv(32800 + place, 64 + 2 * place) - (1 << 61)
  exponent = exponent - 1023 + (place >> 5)
  place = place & 31
  local negative = 0
  if rest < 0 then
    negative = 1
    rest = -rest
  end
  local high = 0
  local low = 0
  local shift = 63
  if rest ~= 0 then
    set64(at, rest << 3)
    set64(at + 8, 0)
    fraction_polynomial(at, inline.logarithm_terms(), negative ~ 1)
    shift = 63 - inline.top_bit(rest)
    local half_high, half_low = inline.half_log2_e()
    high, low = inline.fraction_multiply(half_high, half_low, shl(rest, shift), 0)
    local part, part_low = inline.fraction_multiply(high, low, u64(at + 16), u64(at + 24))
    if negative ~= 0 then
      high, low = inline.fraction_add(high, low, part, part_low)
    else
      high, low = inline.fraction_subtract(high, low, part, part_low)
    end
  end
  if exponent == 0 and place == 0 then
    set64(at, high)
    set64(at + 8, low)
    return 4 - shift << 1 | negative
  end
  high, low = inline.fraction_shift(high, low, shift - 4)
  if negative ~= 0 and high | low ~= 0 then
    high, low = inline.fraction_complement(high, low)
    exponent = exponent - 1
  end
  local logarithm = (inline.logarithms() & LOW) + 16 * place
  local sum, sum_low = inline.fraction_add(high, low, u64(logarithm), u64(logarithm + 8))
  if ult(sum, high) or sum == high and ult(sum_low, low) then
    exponent = exponent + 1
  end
  return store_mixed(at, exponent, sum, sum_low)
end

-- 2 to the power of the fraction at `at` times 2^exponent, or of minus that if `negative` is not 0; as a float with that sign.
function float_exp2(at, exponent, negative, sign)
  local high = u64(at)
  local low = u64(at + 8)
  local whole = 0
  if exponent > 12 then
    -- Beyond all floats.
    whole = 4096
    high = 0
    low = 0
  elseif exponent > 0 then
    whole = shr(high, 64 - exponent)
    high = shl(high, exponent) | shr(low, 64 - exponent)
    low = shl(low, exponent)
  else
    high, low = inline.fraction_shift(high, low, -exponent)
  end
  -- How far the result can be off, in units of 2^-126.
  local slack = whole + 1 << 5
  if negative ~= 0 then
    whole = -whole
    if high | low ~= 0 then
      high, low = inline.fraction_complement(high, low)
      whole = whole - 1
    end
  end
  local power = (inline.powers() & LOW) + 16 * (high >> 60)
  set64(at, high & 0xfffffffffffffff)
  set64(at + 8, low)
  fraction_polynomial(at, inline.power_terms(), 0)
  high, low = inline.fraction_multiply(u64(power), u64(power + 8), u64(at + 16), u64(at + 24))
  high, low = inline.fraction_add(high, low, u64(power), u64(power + 8))
  -- 63 bits, and what follows: nothing, if it is no more than the error.
  local rest = high << 63 | low >> 1
  high = high >> 1
  if ult(-slack, rest) then
    high = high + 1
    if high < 0 then
      high = 1 << 62
      whole = whole + 1
    end
  elseif not ult(rest, slack) then
    high = high | 1
  end
  return inline.float_pack_small(sign, whole + 1023, high)
end

-- Of a magnitude: 0 if it is not integral, 1 if it is odd, 2 if it is even.
local function parity(y)
  local exponent = y >> 52
  if exponent < 1023 then
    return 0
  end
  if exponent > 1075 then
    return 2
  end
  local significand = y & FRACTION | IMPLICIT
  local shift = 1075 - exponent
  local whole = shr(significand, shift)
  if shl(whole, shift) ~= significand then
    return 0
  end
  return 2 - (whole & 1)
end

-- INFINITY if the two words are equal, else 0.
local function infinity_or_zero(x, y)
  if x == y then
    return INFINITY
  end
  return 0
end

-- C's pow.
function float_power(L, x, y)
  if y << 1 == 0 or x == ONE then
    return ONE
  end
  local base = x & ~SIGN
  local magnitude = y & ~SIGN
  if base > INFINITY or magnitude > INFINITY then
    if magnitude <= INFINITY and parity(magnitude) == 1 then
      -- As glibc has it, which takes the square of x for its magnitude and negates that.
      x = base
    end
    return inline.float_of_nan(x, y)
  end
  if magnitude == INFINITY then
    if base == ONE then
      return ONE
    end
    return infinity_or_zero(base - ONE >> 63, y >> 63)
  end
  local sign = 0
  local kind = parity(magnitude)
  if kind == 1 then
    sign = x & SIGN
  end
  if base == 0 or base == INFINITY then
    return sign | infinity_or_zero(base - ONE >> 63, y >> 63)
  end
  if x < 0 and kind == 0 then
    return NO_NUMBER
  end
  if base == ONE then
    return sign | ONE
  end
  local at = u64(L + L_SCRATCH)
  local logarithm = float_log2(at, base)
  local exponent, significand = inline.float_unpack(magnitude)
  local high, low = inline.fraction_multiply(u64(at), u64(at + 8), significand << 11, 0)
  set64(at, high)
  set64(at + 8, low)
  return float_exp2(at, sar(logarithm, 1) + exponent - 1022, (logarithm ~ y >> 63) & 1, sign)
end

-- C's exp.
function float_exp(L, x)
  if inline.float_is_nan(x) then
    return x | QUIET
  end
  if inline.float_is_infinite(x) then
    return infinity_or_zero(x, INFINITY)
  end
  if x << 1 == 0 then
    return ONE
  end
  local at = u64(L + L_SCRATCH)
  local exponent, significand = inline.float_unpack(x & ~SIGN)
  local high, low = inline.half_log2_e()
  high, low = inline.fraction_multiply(high, low, significand << 11, 0)
  set64(at, high)
  set64(at + 8, low)
  return float_exp2(at, exponent - 1021, x >> 63, 0)
end

-- The logarithm to base 2 or 10, or the natural one if `base` is 0.
function float_log(L, x, base)
  if inline.float_is_nan(x) then
    return x | QUIET
  end
  if x << 1 == 0 then
    return SIGN | INFINITY
  end
  if x < 0 then
    -- As glibc has it, with the sign that `tostring` shows.
    if base == 10 then
      return POSITIVE_NAN
    end
    return NO_NUMBER
  end
  if x == INFINITY then
    return x
  end
  if x == ONE then
    return 0
  end
  local at = u64(L + L_SCRATCH)
  local logarithm = float_log2(at, x)
  local high = u64(at)
  local low = u64(at + 8)
  if base ~= 2 then
    local factor, factor_low = inline.log_2()
    if base == 10 then
      factor, factor_low = inline.log10_2()
    end
    high, low = inline.fraction_multiply(high, low, factor, factor_low)
  end
  return fraction_to_float(logarithm << 63, sar(logarithm, 1), high, low)
end
