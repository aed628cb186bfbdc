-- Sines, cosines and tangents of floats (C11 §§ 7.12.4, F.10.1). What is computed on the way has some 120 bits, so
-- results are the nearest float but in cases that are not known to exist.
--
-- Numbers stand at L_SCRATCH, as fractions (see fraction.lua): two with which fraction_polynomial and fraction_divide compute, then two that
-- are kept.

local SIGN <const> = 1 << 63
local INFINITY <const> = 0x7ff0000000000000
local QUIET <const> = 0x8000000000000
local LOW <const> = 0xffffffff
local ONE <const> = 0x3ff0000000000000
local QUARTER_PI <const> = 0x3fe921fb54442d18
-- What operations without a result give.
local NO_NUMBER <const> = 0xfff8000000000000

-- A finite magnitude that is not 0 as quarter turns and an angle of an eighth turn at most, which is to be added, or subtracted: the angle at
-- `at + 32` as a fraction; its exponent << 3, the sign << 2, and the quarter turns, of which whole turns are left away.
--
-- 2 / pi is multiplied by the float exactly, apart from what makes whole turns (Payne and Hanek, Radian reduction for trigonometric functions,
-- 1983): of 256 bits that are left, 7 + 2 + 62 can be in front of the angle's first one, and 53 are not good.
function angle_reduce(at, x)
  local exponent, significand = inline.float_unpack(x)
  if x <= QUARTER_PI then
    set64(at + 32, significand << 11)
    set64(at + 40, 0)
    return exponent - 1022 << 3
  end
  exponent = exponent - 1021
  local digits = (inline.two_over_pi() & LOW) + (exponent >> 3)
  local carry = 0
  local offset = 24
  while offset >= 0 do
    local word = swap64(u64(digits + offset))
    local low = word * significand + carry
    local high = inline.multiply_high(word, significand)
    if ult(low, carry) then
      high = high + 1
    end
    set64(at + offset, low)
    carry = high
    offset = offset - 8
  end
  -- Behind the bits of whole turns are two of quarter turns.
  local shift = (exponent & 7) + 2
  local first = u64(at)
  local second = u64(at + 8)
  local third = u64(at + 16)
  local turns = shr(first, 64 - shift) & 3
  first = shl(first, shift) | shr(second, 64 - shift)
  second = shl(second, shift) | shr(third, 64 - shift)
  third = shl(third, shift) | shr(u64(at + 24), 64 - shift)
  local sign = 0
  if first < 0 then
    first = ~first
    second = ~second
    third = ~third
    sign = 4
    turns = turns + 1 & 3
  end
  local zeros = 0
  if first == 0 then
    first = second
    second = third
    third = 0
    zeros = 64
  end
  shift = 63 - inline.top_bit(first)
  zeros = zeros + shift
  if shift ~= 0 then
    first = shl(first, shift) | shr(second, 64 - shift)
    second = shl(second, shift) | shr(third, 64 - shift)
  end
  local factor, factor_low = inline.quarter_pi()
  first, second = inline.fraction_multiply(first, second, factor, factor_low)
  set64(at + 32, first)
  set64(at + 40, second)
  return 1 - zeros << 3 | sign | turns
end

-- Stores at `at` the square of the number that is the fraction at `at + 32` times 2^exponent, which is below 1.
function inline.store_square(at, exponent)
  local high = u64(at + 32)
  local low = u64(at + 40)
  high, low = inline.fraction_multiply(high, low, high, low)
  high, low = inline.fraction_shift(high, low, -2 * exponent)
  set64(at, high)
  set64(at + 8, low)
end

-- Replaces the fraction x at `at + 32` by x - x * p, where p is the polynomial that was computed last.
function inline.store_correction(at)
  local high = u64(at + 32)
  local low = u64(at + 40)
  local part, part_low = inline.fraction_multiply(high, low, u64(at + 16), u64(at + 24))
  high, low = inline.fraction_subtract(high, low, part, part_low)
  set64(at + 32, high)
  set64(at + 40, low)
end

-- The sine of the angle that is the fraction at `at + 32` times 2^exponent, with the same exponent.
local function store_sine(at)
  fraction_polynomial(at, inline.sine_terms(), 1)
  inline.store_correction(at)
end

-- The cosine of the angle whose square is at `at`, at `at + 48`; just below 1 where it is 1.
local function store_cosine(at)
  fraction_polynomial(at, inline.cosine_terms(), 1)
  set64(at + 48, ~u64(at + 16))
  set64(at + 56, ~u64(at + 24))
end

-- The quotient of sine and cosine, or of cosine and sine if `turned` is 1, as a float; the sine has that exponent.
local function tangent(at, exponent, turned, sign)
  local high, low, shift = inline.fraction_normalise(u64(at + 32), u64(at + 40))
  exponent = exponent - shift
  local sine = at + 16 * turned
  local cosine = at + 16 - 16 * turned
  set64(sine, high)
  set64(sine + 8, low)
  set64(cosine, u64(at + 48))
  set64(cosine + 8, u64(at + 56))
  if turned ~= 0 then
    exponent = -exponent
  end
  fraction_divide(at)
  return fraction_to_float(sign, exponent + 1, u64(at), u64(at + 8))
end

-- The sine of a float if `kind` is 0, its cosine if it is 1, its tangent if it is 2.
function float_sine(L, x, kind)
  local magnitude = x & ~SIGN
  if magnitude >= INFINITY then
    if magnitude > INFINITY then
      return x | QUIET
    end
    return NO_NUMBER
  end
  if magnitude == 0 then
    if kind == 1 then
      return ONE
    end
    return x
  end
  local at = u64(L + L_SCRATCH)
  local angle = angle_reduce(at, magnitude)
  local exponent = sar(angle, 3)
  local turned = angle & 1
  -- In the highest bits, what changes the sign: half turns, the angle's own sign where it is not lost, the float's.
  local half = angle << 62
  local sign = angle << 61
  local other = x
  if kind == 1 then
    half = angle + 1 << 62
    turned = turned ~ 1
    other = 0
  end
  inline.store_square(at, exponent)
  if kind == 2 or turned == 0 then
    store_sine(at)
  end
  if kind == 2 or turned ~= 0 then
    store_cosine(at)
  end
  if kind == 2 then
    return tangent(at, exponent, turned, (sign ~ other ~ turned << 63) & SIGN)
  end
  if turned ~= 0 then
    return fraction_to_float((half ~ other) & SIGN, 0, u64(at + 48), u64(at + 56))
  end
  return fraction_to_float((half ~ other ~ sign) & SIGN, exponent, u64(at + 32), u64(at + 40))
end
