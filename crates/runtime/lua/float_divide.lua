-- Quotients, remainders and roots of floats (see float.lua).

local SIGN <const> = 1 << 63
local INFINITY <const> = 0x7ff0000000000000
local QUIET <const> = 0x8000000000000
-- What operations without a result give.
local NO_NUMBER <const> = 0xfff8000000000000
local LOW <const> = 0xffffffff

-- A digit of 32 bits of the quotient of (high << 32) and a divisor whose bit 63 is set, where high < divisor (Knuth, The Art of Computer
-- Programming 2, § 4.3.1, D3).
local function quotient_digit(high, divisor)
  local upper = divisor >> 32
  local lower = divisor & LOW
  local digit = udiv(high, upper)
  local rest = high - digit * upper
  -- The estimate is too large by 2 at most.
  if digit >> 32 ~= 0 or ult(rest << 32, digit * lower) then
    digit = digit - 1
    rest = rest + upper
    if rest >> 32 == 0 and (digit >> 32 ~= 0 or ult(rest << 32, digit * lower)) then
      digit = digit - 1
    end
  end
  return digit
end

function float_divide(x, y)
  local a = x & ~SIGN
  local b = y & ~SIGN
  local sign = (x ~ y) & SIGN
  if a >= INFINITY or b >= INFINITY then
    if a > INFINITY or b > INFINITY then
      return inline.float_of_nan(x, y)
    end
    if b ~= INFINITY then
      return sign | INFINITY
    end
    if a == INFINITY then
      return NO_NUMBER
    end
    return sign
  end
  if b == 0 then
    if a == 0 then
      return NO_NUMBER
    end
    return sign | INFINITY
  end
  if a == 0 then
    return sign
  end
  local first, dividend = inline.float_unpack(a)
  local second, divisor = inline.float_unpack(b)
  local exponent = first - second + 1023
  if dividend < divisor then
    dividend = dividend << 1
    exponent = exponent - 1
  end
  -- 63 bits of the quotient, bit 62 the first of them.
  divisor = divisor << 11
  local high = dividend << 9
  local upper = quotient_digit(high, divisor)
  high = (high << 32) - upper * divisor
  local lower = quotient_digit(high, divisor)
  local quotient = upper << 32 | lower
  if (high << 32) - lower * divisor ~= 0 then
    quotient = quotient | 1
  end
  return inline.float_pack_small(sign, exponent, quotient)
end

-- C's fmod, without the cases that have no result: the rest of a division that rounds towards zero, which is exact.
local function remainder(x, y)
  local a = x & ~SIGN
  local b = y & ~SIGN
  if a < b then
    return x
  end
  local exponent, rest = inline.float_unpack(a)
  local second, divisor = inline.float_unpack(b)
  rest = umod(rest, divisor)
  -- 11 bits at a time: a significand has 53.
  local left = exponent - second
  while left > 0 do
    local count = left
    if count > 11 then
      count = 11
    end
    rest = umod(shl(rest, count), divisor)
    left = left - count
  end
  if rest == 0 then
    return x & SIGN
  end
  -- The rest has the divisor's exponent, and perhaps leading zeros.
  local shift = 62 - inline.top_bit(rest)
  return inline.float_pack_small(x & SIGN, second + 10 - shift, shl(rest, shift))
end

function float_remainder(x, y)
  local a = x & ~SIGN
  local b = y & ~SIGN
  if a >= INFINITY or b > INFINITY or b == 0 then
    if a > INFINITY or b > INFINITY then
      return inline.float_of_nan(x, y)
    end
    return NO_NUMBER
  end
  if a == 0 or b == INFINITY then
    return x
  end
  return remainder(x, y)
end

-- Lua's `%`: the sign of the divisor (luai_nummod in llimits.h).
function float_modulo(x, y)
  local rest = float_remainder(x, y)
  if rest << 1 ~= 0 and (rest ~ y) < 0 and not inline.float_is_nan(rest) then
    -- A divisor of 0 has given NaN.
    return float_add(rest, y)
  end
  return rest
end

-- The square root: of a significand of 54 bits, bit by bit.
function float_sqrt(x)
  if inline.float_is_nan(x) then
    return x | QUIET
  end
  if x << 1 == 0 or x == INFINITY then
    return x
  end
  if x < 0 then
    return NO_NUMBER
  end
  local exponent, rest = inline.float_unpack(x)
  exponent = exponent - 1023
  rest = rest << 1
  if exponent & 1 ~= 0 then
    rest = rest << 1
  end
  -- fdlibm's way: rest is what is left of the number, twice the root so far is subtracted together with the next bit.
  local root = 0
  local twice = 0
  local bit = 1 << 53
  while bit ~= 0 do
    local try = twice + bit
    if try <= rest then
      twice = try + bit
      rest = rest - try
      root = root + bit
    end
    rest = rest << 1
    bit = bit >> 1
  end
  -- 54 bits; the rest says whether bits follow.
  root = root << 9
  if rest ~= 0 then
    root = root | 1
  end
  return inline.float_pack(0, sar(exponent, 1) + 1023, root)
end
