-- The mathematical library (manual § 6.8, lmathlib.c).

local ONE <const> = 0x3ff0000000000000

-- Returns a float with integral value, as an integer if it is one (pushnumint).
local function return_integral(base, bits)
  if float_is_integer(bits) ~= 0 then
    return inline.return_value(base, TAG_INT, float_to_integer(bits))
  end
  return inline.return_value(base, TAG_FLOAT, bits)
end

function math_abs(L, base, n)
  if n ~= 0 and u64(base) == TAG_INT then
    local value = u64(base + 8)
    if value < 0 then
      value = -value
    end
    return inline.return_value(base, TAG_INT, value)
  end
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, bits & 0x7fffffffffffffff)
end

function math_ceil(L, base, n)
  if n ~= 0 and u64(base) == TAG_INT then
    return inline.return_value(base, TAG_INT, u64(base + 8))
  end
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return return_integral(base, float_ceil(bits))
end

function math_floor(L, base, n)
  if n ~= 0 and u64(base) == TAG_INT then
    return inline.return_value(base, TAG_INT, u64(base + 8))
  end
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return return_integral(base, float_floor(bits))
end

function math_sqrt(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_sqrt(bits))
end

function math_exp(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_exp(L, bits))
end

function math_sin(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_sine(L, bits, 0))
end

function math_cos(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_sine(L, bits, 1))
end

function math_tan(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_sine(L, bits, 2))
end

function math_asin(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_arcsine(L, bits, 0))
end

function math_acos(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_arcsine(L, bits, 1))
end

-- math.atan(y [, x])
function math_atan(L, base, n)
  local y, y_ok = inline.float_arg(L, base, n, 1)
  if y_ok == 0 then
    return FAIL
  end
  local x = ONE
  if n >= 2 and u64(base + 16) ~= TAG_NIL then
    local other, ok = inline.float_arg(L, base, n, 2)
    if ok == 0 then
      return FAIL
    end
    x = other
  end
  return inline.return_value(base, TAG_FLOAT, float_arctangent(L, y, x))
end

-- math.log(x [, base])
function math_log(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  if n < 2 or u64(base + 16) == TAG_NIL then
    return inline.return_value(base, TAG_FLOAT, float_log(L, bits, 0))
  end
  local of, of_ok = inline.float_arg(L, base, n, 2)
  if of_ok == 0 then
    return FAIL
  end
  if of == 0x4000000000000000 then
    return inline.return_value(base, TAG_FLOAT, float_log(L, bits, 2))
  end
  if of == 0x4024000000000000 then
    return inline.return_value(base, TAG_FLOAT, float_log(L, bits, 10))
  end
  local logarithm = float_log(L, bits, 0)
  return inline.return_value(base, TAG_FLOAT, float_divide(logarithm, float_log(L, of, 0)))
end

-- From radians to degrees: times 180 / pi.
function math_deg(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_multiply(bits, 0x404ca5dc1a63c1f8))
end

function math_rad(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_multiply(bits, 0x3f91df46a2529d39))
end

-- The integral part, towards zero, and what is left.
function math_modf(L, base, n)
  if n ~= 0 and u64(base) == TAG_INT then
    local integer = u64(base + 8)
    inline.return_value(base, TAG_INT, integer)
    set64(base, TAG_FLOAT)
    set64(base + 8, 0)
    return 2
  end
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local whole = 0
  if float_compare(bits, 0) == -1 then
    whole = float_ceil(bits)
  else
    whole = float_floor(bits)
  end
  local rest = 0
  if float_compare(bits, whole) ~= 0 then
    rest = float_subtract(bits, whole)
  end
  return_integral(base, whole)
  set64(base, TAG_FLOAT)
  set64(base + 8, rest)
  return 2
end

-- A float as a fraction from 0.5 on and below 1, and an exponent of two.
function math_frexp(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local exponent = 0
  if bits << 1 ~= 0 and not ult(0xffdfffffffffffff, bits << 1) then
    exponent = float_exponent(bits) + 1
    bits = float_scale(bits, -exponent)
  end
  inline.return_value(base, TAG_FLOAT, bits)
  set64(base, TAG_INT)
  set64(base + 8, exponent)
  return 2
end

function math_ldexp(L, base, n)
  local bits, ok = inline.float_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local exponent, exponent_ok = inline.int_arg(L, base, n, 2)
  if exponent_ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_scale(bits, sx32(exponent)))
end

function math_fmod(L, base, n)
  if n >= 2 and u64(base) == TAG_INT and u64(base + 16) == TAG_INT then
    local divisor = u64(base + 24)
    if divisor == 0 then
      return arg_error(L, 2, "zero")
    end
    local rest = 0
    -- The quotient of -2^63 and -1 is no integer.
    if divisor ~= -1 then
      rest = smod(u64(base + 8), divisor)
    end
    return inline.return_value(base, TAG_INT, rest)
  end
  -- PUC-Rio's Lua, as C compilers order it, looks at the second argument first.
  local y, y_ok = inline.float_arg(L, base, n, 2)
  if y_ok == 0 then
    return FAIL
  end
  local x, x_ok = inline.float_arg(L, base, n, 1)
  if x_ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_FLOAT, float_remainder(x, y))
end

-- The largest of n >= 1 numbers, or the smallest if `sign` is -1, as the only result; no result if not all are numbers.
local function best(base, n, sign)
  local stop = base + 16 * n
  local at = base + 16
  local found = base
  if not inline.is_number(base) then
    return 0
  end
  while at < stop do
    if not inline.is_number(at) then
      return 0
    end
    if sign > 0 and order_numbers(found, at) == -1 or sign < 0 and order_numbers(at, found) == -1 then
      found = at
    end
    at = at + 16
  end
  return inline.return_value(base, u64(found), u64(found + 8))
end

-- math.max of numbers; no result if some value is none, which is for Lua code to compare.
function math_max(L, base, n)
  if n == 0 then
    return arg_error(L, 1, "value expected")
  end
  return best(base, n, 1)
end

function math_min(L, base, n)
  if n == 0 then
    return arg_error(L, 1, "value expected")
  end
  return best(base, n, -1)
end

function math_tointeger(L, base, n)
  if n == 0 then
    return arg_error(L, 1, "value expected")
  end
  local tag = u64(base)
  local payload = u64(base + 8)
  if tag == TAG_STRING then
    set64(base - 16, TAG_NIL)
    if text_to_integer(L, payload, base - 8) == 1 then
      set64(base - 16, TAG_INT)
    end
    return 1
  elseif tag == TAG_INT then
    return inline.return_value(base, TAG_INT, payload)
  elseif tag == TAG_FLOAT and float_is_integer(payload) ~= 0 then
    return inline.return_value(base, TAG_INT, float_to_integer(payload))
  end
  return inline.return_value(base, TAG_NIL, 0)
end

function math_type(L, base, n)
  if n == 0 then
    return arg_error(L, 1, "value expected")
  end
  local tag = u64(base)
  if tag == TAG_INT then
    return inline.return_value(base, TAG_STRING, "integer")
  elseif tag == TAG_FLOAT then
    return inline.return_value(base, TAG_STRING, "float")
  end
  return inline.return_value(base, TAG_NIL, 0)
end

function math_ult(L, base, n)
  local first, first_ok = inline.int_arg(L, base, n, 1)
  if first_ok == 0 then
    return FAIL
  end
  local second, second_ok = inline.int_arg(L, base, n, 2)
  if second_ok == 0 then
    return FAIL
  end
  if ult(first, second) then
    return inline.return_value(base, TAG_TRUE, 0)
  end
  return inline.return_value(base, TAG_FALSE, 0)
end
