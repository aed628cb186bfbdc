-- The part of the mathematical library that works on integers (manual § 6.8, lmathlib.c).

-- Ceil (step -1) and floor (1) of what is no integer: of constants that are floats. What is beyond the integers is a float still.
function math_of_float(L, base, n, step)
  if n == 0 or u64(base) ~= TAG_FLOAT then
    return float_error(L, base, n, 1)
  end
  local bits = u64(base + 8)
  local low = order_integer_float(1 << 63, bits)
  if low > 0 or order_integer_float(0x7fffffffffffffff, bits) ~= 1 then
    return inline.return_value(base, TAG_FLOAT, bits)
  end
  for_float_limit(bits, step, base + 8)
  return inline.return_value(base, TAG_INT, u64(base + 8))
end

function math_abs(L, base, n)
  if n ~= 0 and u64(base) == TAG_FLOAT then
    return inline.return_value(base, TAG_FLOAT, u64(base + 8) & 0x7fffffffffffffff)
  end
  if n == 0 or u64(base) ~= TAG_INT then
    return float_error(L, base, n, 1)
  end
  local value = u64(base + 8)
  if value < 0 then
    value = -value
  end
  return inline.return_value(base, TAG_INT, value)
end

function math_ceil(L, base, n)
  if n == 0 or u64(base) ~= TAG_INT then
    return math_of_float(L, base, n, -1)
  end
  return inline.return_value(base, TAG_INT, u64(base + 8))
end

function math_floor(L, base, n)
  if n == 0 or u64(base) ~= TAG_INT then
    return math_of_float(L, base, n, 1)
  end
  return inline.return_value(base, TAG_INT, u64(base + 8))
end

function math_fmod(L, base, n)
  if n < 2 or u64(base) ~= TAG_INT or u64(base + 16) ~= TAG_INT then
    return fmod_error(L, base, n)
  end
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

-- The error of fmod, whose arguments have to be numbers. PUC-Rio's Lua, as C compilers order it, looks at the second one first.
function fmod_error(L, base, n)
  if n >= 2 then
    local tag = u64(base + 16)
    if tag == TAG_INT or tag == TAG_FLOAT or tag == TAG_STRING and text_to_number(u64(base + 24), base + 24) ~= 0 then
      return float_error(L, base, n, 1)
    end
  end
  return float_error(L, base, n, 2)
end

-- The largest of n >= 1 integers, or the smallest if `sign` is -1, as the only result; no result if not all are integers.
local function best(base, n, sign)
  local stop = base + 16 * n
  local at = base + 16
  local best_value = u64(base + 8)
  if u64(base) ~= TAG_INT then
    return 0
  end
  while at < stop do
    local value = u64(at + 8)
    if u64(at) ~= TAG_INT then
      return 0
    end
    if sign > 0 and value > best_value or sign < 0 and value < best_value then
      best_value = value
    end
    at = at + 16
  end
  return inline.return_value(base, TAG_INT, best_value)
end

-- math.max of integers; no result if some value is none, which is for Lua code to compare.
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
    if text_to_integer(payload, base - 8) == 1 then
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
