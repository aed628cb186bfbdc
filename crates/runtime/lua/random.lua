-- Pseudo-random numbers: xoshiro256**, as lmathlib.c has it, so that equal seeds give equal numbers. The state is in L_RANDOM0 to
-- L_RANDOM3.

-- The next random word.
function random_next(L)
  local s0 = u64(L + L_RANDOM0)
  local s1 = u64(L + L_RANDOM1)
  local s2 = u64(L + L_RANDOM2) ~ s0
  local s3 = u64(L + L_RANDOM3) ~ s1
  set64(L + L_RANDOM0, s0 ~ s3)
  set64(L + L_RANDOM1, s1 ~ s2)
  set64(L + L_RANDOM2, s2 ~ s1 << 17)
  set64(L + L_RANDOM3, s3 << 45 | s3 >> 19)
  local word = s1 * 5
  return (word << 7 | word >> 57) * 9
end

-- A random number from 0 to `limit` (unsigned), from `word` and further words, and 0; or 0, FAIL.
local function project(L, word, limit)
  -- The next number of the form 2^n - 1.
  local mask = limit | limit >> 1
  mask = mask | mask >> 2
  mask = mask | mask >> 4
  mask = mask | mask >> 8
  mask = mask | mask >> 16
  mask = mask | mask >> 32
  local number = word & mask
  while ult(limit, number) do
    if inline.spend(L) ~= 0 then
      return 0, FAIL
    end
    number = random_next(L) & mask
  end
  return number, 0
end

-- math.random([m [, n]]). Without arguments it is a float of 53 random bits, from 0 on and below 1.
function math_random(L, base, n)
  local word = random_next(L)
  local low = 1
  local high = 0
  if n == 0 then
    -- Times 2^-53.
    return inline.return_value(base, TAG_FLOAT, float_multiply(float_of_integer(word >> 11), 0x3ca0000000000000))
  elseif n > 2 then
    return raise(L, "wrong number of arguments")
  end
  local first, first_ok = inline.int_arg(L, base, n, 1)
  if first_ok == 0 then
    return FAIL
  end
  if n == 1 then
    if first == 0 then
      return inline.return_value(base, TAG_INT, word)
    end
    high = first
  else
    low = first
    local second, second_ok = inline.int_arg(L, base, n, 2)
    if second_ok == 0 then
      return FAIL
    end
    high = second
  end
  if low > high then
    return arg_error(L, 1, "interval is empty")
  end
  local number, failed = project(L, word, high - low)
  if failed ~= 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_INT, low + number)
end

-- math.randomseed([x [, y]]): the two parts of the seed. Without arguments they come from the numbers before.
function math_randomseed(L, base, n)
  local first = 0
  local second = 0
  if n == 0 then
    first = random_next(L)
    second = random_next(L)
  else
    local x, x_ok = inline.int_arg(L, base, n, 1)
    if x_ok == 0 then
      return FAIL
    end
    local y, y_ok = inline.opt_int(L, base, n, 2, 0)
    if y_ok == 0 then
      return FAIL
    end
    first = x
    second = y
  end
  set64(L + L_RANDOM0, first)
  set64(L + L_RANDOM1, 0xff)
  set64(L + L_RANDOM2, second)
  set64(L + L_RANDOM3, 0)
  for _ = 1, 16 do
    random_next(L)
  end
  set64(base - 16, TAG_INT)
  set64(base - 8, first)
  set64(base, TAG_INT)
  set64(base + 8, second)
  return 2
end
