-- Floats as texts: the conversions e, f, g and a of printf (C11 § 7.21.6.1), and what tostring makes (tostringbuffFloat in lobject.c).

local POINT <const> = 46
local ZERO <const> = 48
local MINUS <const> = 45
local FRACTION <const> = 0xfffffffffffff
local INFINITY <const> = 0x7ff0000000000000
local ALTERNATIVE <const> = 0x100

local function copy_digits(at, from, count)
  if count > 0 then
    copy_bytes(at, from, count)
    return at + count
  end
  return at
end

local function zeros(at, count)
  local stop = at
  if count > 0 then
    stop = at + count
  end
  while at < stop do
    set8(at, ZERO)
    at = at + 1
  end
  return stop
end

-- Stores an exponent behind its letter, with its sign and two digits at least. The address behind it.
local function put_exponent(at, letter, exponent, least)
  set8(at, letter)
  set8(at + 1, 43)
  if exponent < 0 then
    set8(at + 1, MINUS)
    exponent = -exponent
  end
  at = at + 2
  if exponent < 10 and least == 2 then
    set8(at, ZERO)
    at = at + 1
  end
  local count = inline.digit_count(exponent)
  store_digits(at + count, exponent)
  return at + count
end

-- Stores `count` digits as 1.23e+04. The address behind it.
local function put_scientific(at, digits, count, exponent, letter, point)
  set8(at, u8(digits))
  at = at + 1
  if count > 1 or point ~= 0 then
    set8(at, POINT)
    at = copy_digits(at + 1, digits + 1, count - 1)
  end
  return put_exponent(at, letter, exponent, 2)
end

-- Stores digits as 123.45 with so many decimals; the first one has the exponent. The address behind it.
local function put_fixed(at, digits, exponent, decimals, point)
  local before = exponent + 1
  if before > 0 then
    at = copy_digits(at, digits, before)
    digits = digits + before
    before = 0
  else
    set8(at, ZERO)
    at = at + 1
  end
  if decimals > 0 or point ~= 0 then
    set8(at, POINT)
    at = at + 1
  end
  local leading = -before
  if leading > decimals then
    leading = decimals
  end
  at = zeros(at, leading)
  return copy_digits(at, digits, decimals - leading)
end

-- Stores `precision` digits, of which the first one has the exponent, as the conversion g does; zeros at the end are left out if `point` is 0.
-- The address behind it.
local function put_general(at, digits, precision, exponent, letter, point)
  local count = precision
  if point == 0 then
    while count > 1 and u8(digits + count - 1) == ZERO do
      count = count - 1
    end
  end
  if exponent < -4 or exponent >= precision then
    return put_scientific(at, digits, count, exponent, letter - 2, point)
  end
  return put_fixed(at, digits, exponent, count - 1 - exponent, point)
end

-- Stores the magnitude of a finite float at `at` with the conversion that `form` says (e, E, f, g, G; with ALTERNATIVE in the alternative
-- form), with `precision`. It takes 420 bytes at most. The string.
function put_float(L, at, bits, form, precision)
  local first = at
  local letter = form & 0xff
  local point = form & ALTERNATIVE
  local digits = inline.decimal_digits(L)
  local kind = letter | 32
  if kind == 102 then -- f
    local made = float_digits(L, bits, 1, precision)
    at = put_fixed(at, digits, sar(made, 32), precision, point)
  elseif kind == 101 then -- e
    local made = float_digits(L, bits, 0, precision + 1)
    at = put_scientific(at, digits, precision + 1, sar(made, 32), letter, point)
  else -- g
    if precision == 0 then
      precision = 1
    end
    local made = float_digits(L, bits, 0, precision)
    at = put_general(at, digits, precision, sar(made, 32), letter, point)
  end
  return first | at - first << 32
end

-- Stores the magnitude of a finite float in hexadecimal, without the leading 0x (conversions a and A), with `precision` digits behind the
-- point, as many as there are if that is negative. It takes 120 bytes at most. The string.
function put_hexadecimal(at, bits, letter, precision, point)
  local first = at
  local exponent = (bits >> 52 & 0x7ff) - 1023
  local fraction = bits & FRACTION
  local whole = 1
  if exponent == -1023 then
    whole = 0
    exponent = -1022
    if fraction == 0 then
      exponent = 0
    end
  end
  local count = 13
  if precision < 0 then
    while count > 0 and shr(fraction, 52 - 4 * count) << 60 == 0 do
      count = count - 1
    end
  elseif precision < 13 then
    -- To the nearest, ties to even; the digit before the point may become 2.
    count = precision
    local unit = shl(1, 52 - 4 * count)
    local all = whole << 52 | fraction
    local rest = all & unit - 1
    all = all - rest
    if rest > unit >> 1 or rest == unit >> 1 and all & unit ~= 0 then
      all = all + unit
    end
    whole = all >> 52
    fraction = all & FRACTION
  end
  set8(at, whole + ZERO)
  at = at + 1
  if count > 0 or precision > 0 or point ~= 0 then
    set8(at, POINT)
    at = at + 1
  end
  local shift = 48
  local stop = at + count
  while at < stop do
    local digit = shr(fraction, shift) & 15
    if digit > 9 then
      digit = digit + letter - 97 + 39
    end
    set8(at, digit + ZERO)
    shift = shift - 4
    at = at + 1
  end
  at = zeros(at, precision - count)
  at = put_exponent(at, letter + 15, exponent, 1)
  return first | at - first << 32
end

-- The text of an infinite float or NaN, without its sign.
function inline.special_text(bits)
  if inline.float_is_nan(bits) then
    return "nan"
  end
  return "inf"
end

-- Stores the text that tostring makes of a float at `at`: 40 bytes at most. The string.
function store_float(L, at, bits)
  local first = at
  if bits < 0 then
    set8(at, MINUS)
    at = at + 1
  end
  local text = 0
  local magnitude = bits & ~(1 << 63)
  if magnitude >= INFINITY then
    text = inline.special_text(magnitude)
    copy_bytes(at, text & 0xffffffff, 3)
    return first | at + 3 - first << 32
  end
  -- So that it reads back as the same: with 15 digits, or 17.
  local digits = inline.decimal_digits(L)
  local count = 15
  local made = float_digits(L, magnitude, 0, count)
  if inline.decimal_float(L, digits, digits + count, sar(made, 32)) ~= magnitude then
    count = 17
    made = float_digits(L, magnitude, 0, count)
  end
  local stop = put_general(at, digits, count, sar(made, 32), 103, 0)
  -- What looks like an integer is told from one.
  local others = 0
  while at < stop do
    if u8(at) < ZERO or u8(at) > ZERO + 9 then
      others = 1
    end
    at = at + 1
  end
  if others == 0 then
    set16(stop, POINT | ZERO << 8)
    stop = stop + 2
  end
  return first | stop - first << 32
end

-- The same in packet memory; 0 after an error.
function inline.float_to_text(L, bits)
  local room = alloc(L, 48)
  if room == 0 then
    return 0
  end
  return store_float(L, room, bits)
end
