-- The string library, except for patterns, string.format and string.pack (manual § 6.5, lstrlib.c).

local ONES <const> = 0x0101010101010101

-- A position from 1 on, where a negative one counts from the end (posrelatI in lstrlib.c).
function inline.start_position(position, size)
  if position > 0 then
    return position
  elseif position == 0 or position < -size then
    return 1
  end
  return size + position + 1
end

-- A last position, at most size, where a negative one counts from the end (getendpos in lstrlib.c).
function inline.end_position(position, size)
  if position > size then
    return size
  elseif position >= 0 then
    return position
  elseif position < -size then
    return 0
  end
  return size + position + 1
end

-- Stores a result that is a string or an integer, as the only one, and returns the number of results.
function inline.return_value(base, tag, payload)
  set64(base - 16, tag)
  set64(base - 8, payload)
  return 1
end

-- 1 if the stack has room for `count` results; 0 if not.
function inline.result_room(L, base, count)
  if count <= 32 or count <= (u64(L + L_STACK_END) - base >> 4) then
    return 1
  end
  return 0
end

function string_len(L, base, n)
  local text, ok = inline.str_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  return inline.return_value(base, TAG_INT, text >> 32)
end

function string_sub(L, base, n)
  local text, text_ok = inline.str_arg(L, base, n, 1)
  if text_ok == 0 then
    return FAIL
  end
  local from, from_ok = inline.int_arg(L, base, n, 2)
  if from_ok == 0 then
    return FAIL
  end
  local to, to_ok = inline.opt_int(L, base, n, 3, -1)
  if to_ok == 0 then
    return FAIL
  end
  local size = text >> 32
  local first = inline.start_position(from, size)
  local last = inline.end_position(to, size)
  if first > last then
    return inline.return_value(base, TAG_STRING, "")
  end
  return inline.return_value(base, TAG_STRING, (text & 0xffffffff) + first - 1 | last - first + 1 << 32)
end

function string_byte(L, base, n)
  local text, text_ok = inline.str_arg(L, base, n, 1)
  if text_ok == 0 then
    return FAIL
  end
  local from, from_ok = inline.opt_int(L, base, n, 2, 1)
  if from_ok == 0 then
    return FAIL
  end
  local to, to_ok = inline.opt_int(L, base, n, 3, from)
  if to_ok == 0 then
    return FAIL
  end
  local size = text >> 32
  local first = inline.start_position(from, size)
  local last = inline.end_position(to, size)
  if first > last then
    return 0
  end
  local count = last - first + 1
  if inline.result_room(L, base, count) == 0 then
    return raise(L, "stack overflow (string slice too long)")
  end
  local at = (text & 0xffffffff) + first - 1
  local result = base - 16
  local stop = at + count
  while at < stop do
    set64(result, TAG_INT)
    set64(result + 8, u8(at))
    result = result + 16
    at = at + 1
  end
  return count
end

function string_char(L, base, n)
  local start = alloc(L, n)
  if start == 0 then
    return FAIL
  end
  local i = 1
  while i <= n do
    local byte, ok = inline.int_arg(L, base, n, i)
    if ok == 0 then
      return FAIL
    end
    if ult(255, byte) then
      return arg_error(L, i, "value out of range")
    end
    set8(start + i - 1, byte)
    i = i + 1
  end
  return inline.return_value(base, TAG_STRING, start | n << 32)
end

-- 0x80 for every byte of the word that is from `first` on, with first <= 0x80, and in ASCII; 0 for the others.
local function from_letter(word, first)
  return (word & 0x7f * ONES) + (0x80 - first) * ONES & ~word & 0x80 * ONES
end

-- A copy of argument 1 in which the letters from `first` to first + 25 are exchanged for those of the other case, in the C
-- locale.

function exchange_case(L, base, n, first)
  local text, ok = inline.str_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local size = text >> 32
  local start = alloc(L, size)
  if start == 0 then
    return FAIL
  end
  local at = text & 0xffffffff
  local to = start
  local stop = start + size
  while to < stop do
    local word = u64(at)
    set64(to, word ~ (from_letter(word, first) & ~from_letter(word, first + 26)) >> 2)
    at = at + 8
    to = to + 8
  end
  return inline.return_value(base, TAG_STRING, start | size << 32)
end

function string_lower(L, base, n)
  return exchange_case(L, base, n, 65)
end

function string_upper(L, base, n)
  return exchange_case(L, base, n, 97)
end

function string_reverse(L, base, n)
  local text, ok = inline.str_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local size = text >> 32
  local start = alloc(L, size)
  if start == 0 then
    return FAIL
  end
  local at = (text & 0xffffffff) + size
  local to = start
  local stop = start + size
  while to < stop do
    at = at - 8
    set64(to, swap64(u64(at)))
    to = to + 8
  end
  return inline.return_value(base, TAG_STRING, start | size << 32)
end

-- Repeats the `period` bytes before `at` up to stop, and up to 7 bytes more.
local function repeat_bytes(at, stop, period)
  local distance = period
  -- Eight bytes at a time need a distance of eight.
  while distance < 8 and at < stop do
    set64(at, u64(at - distance) & shl(1, 8 * period) - 1)
    at = at + period
    distance = distance + period
  end
  -- A multiple of the period, and all of it has been written.
  while at < stop do
    set64(at, u64(at - distance))
    at = at + 8
  end
end

function string_rep(L, base, n)
  local text, text_ok = inline.str_arg(L, base, n, 1)
  if text_ok == 0 then
    return FAIL
  end
  local times, times_ok = inline.int_arg(L, base, n, 2)
  if times_ok == 0 then
    return FAIL
  end
  local separator = ""
  if n >= 3 and u64(base + 32) ~= TAG_NIL then
    local given, ok = inline.str_arg(L, base, n, 3)
    if ok == 0 then
      return FAIL
    end
    separator = given
  end
  local period = (text >> 32) + (separator >> 32)
  if times <= 0 or period == 0 then
    return inline.return_value(base, TAG_STRING, "")
  elseif period > udiv(0x7fffffffffffffff, times) or period * times - (separator >> 32) == 0x7fffffffffffffff then
    return raise(L, "resulting string too large")
  end
  local total = times * period - (separator >> 32)
  local start = alloc(L, total + 16)
  if start == 0 then
    return FAIL
  end
  local at = inline.append(start, text)
  if times > 1 then
    at = inline.append(at, separator)
    repeat_bytes(at, start + total, period)
  end
  return inline.return_value(base, TAG_STRING, start | total << 32)
end
