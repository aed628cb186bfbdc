-- The UTF-8 library (manual § 6.6, lutf8lib.c).

local MAX_UNICODE <const> = 0x10ffff
local MAX_UTF <const> = 0x7fffffff

-- A position, where a negative one counts from the end; 0 for one before the beginning.
local function position_in(position, size)
  if position >= 0 then
    return position
  elseif position < -size then
    return 0
  end
  return size + position + 1
end

-- Whether the byte at `at` is a continuation byte; the end of the text is none.
local function is_continuation(at, stop)
  return at < stop and u8(at) & 0xc0 == 0x80
end

-- The smallest code that needs `count` continuation bytes.
local function smallest(count)
  if count == 1 then
    return 0x80
  end
  return shl(1, 5 * count + 1)
end

-- The code of the sequence at `at`, which is before stop, and its length << 32; -1 if it is none. `strict` is not 0 if
-- surrogates and codes above MAX_UNICODE are none either.
function utf8_decode(at, stop, strict)
  local c = u8(at)
  if c < 0x80 then
    return c | 1 << 32
  elseif c < 0xc0 or c >= 0xfe then
    return -1
  end
  local code = 0
  local count = 0
  while c & 0x40 ~= 0 do
    count = count + 1
    if not is_continuation(at + count, stop) then
      return -1
    end
    code = code << 6 | u8(at + count) & 0x3f
    c = c << 1
  end
  code = code | shl(c & 0x7f, 5 * count)
  if code > MAX_UTF or code < smallest(count) then
    return -1
  elseif strict ~= 0 and (code > MAX_UNICODE or code >= 0xd800 and code <= 0xdfff) then
    return -1
  end
  return code | count + 1 << 32
end

-- Stores the sequence of a code, up to MAX_UTF, at `at`. The address behind it.
local function encode(at, code)
  if code < 0x80 then
    set8(at, code)
    return at + 1
  end
  local count = 1
  while count < 5 and code >= smallest(count + 1) do
    count = count + 1
  end
  local last = at + count
  while last > at do
    set8(last, code & 0x3f | 0x80)
    code = code >> 6
    last = last - 1
  end
  set8(at, shr(0xff00, count + 1) & 0xff | code)
  return at + count + 1
end

function utf8_char(L, base, n)
  local first = alloc(L, 6 * n)
  if first == 0 then
    return FAIL
  end
  local at = first
  local i = 1
  while i <= n do
    local code, ok = inline.int_arg(L, base, n, i)
    if ok == 0 then
      return FAIL
    elseif ult(MAX_UTF, code) then
      return arg_error(L, i, "value out of range")
    end
    at = encode(at, code)
    i = i + 1
  end
  return inline.return_value(base, TAG_STRING, first | at - first << 32)
end

-- 1 if argument i is absent, nil or false: invalid codes are errors.
local function is_strict(base, n, i)
  if i > n or u64(base + 16 * i - 16) <= TAG_FALSE then
    return 1
  end
  return 0
end

function utf8_len(L, base, n)
  local text, text_ok = inline.str_arg(L, base, n, 1)
  if text_ok == 0 then
    return FAIL
  end
  local from, from_ok = inline.opt_int(L, base, n, 2, 1)
  if from_ok == 0 then
    return FAIL
  end
  local to, to_ok = inline.opt_int(L, base, n, 3, -1)
  if to_ok == 0 then
    return FAIL
  end
  local strict = is_strict(base, n, 4)
  local size = text >> 32
  from = position_in(from, size) - 1
  to = position_in(to, size) - 1
  if from < 0 or from > size then
    return arg_error(L, 2, "initial position out of bounds")
  elseif to >= size then
    return arg_error(L, 3, "final position out of bounds")
  end
  local start = text & 0xffffffff
  local stop = start + size
  local at = start + from
  local last = start + to
  local count = 0
  while at <= last do
    local code = utf8_decode(at, stop, strict)
    if code < 0 then
      set64(base - 16, TAG_NIL)
      set64(base, TAG_INT)
      set64(base + 8, at - start + 1)
      return 2
    end
    at = at + (code >> 32)
    count = count + 1
  end
  return inline.return_value(base, TAG_INT, count)
end

function utf8_codepoint(L, base, n)
  local text, text_ok = inline.str_arg(L, base, n, 1)
  if text_ok == 0 then
    return FAIL
  end
  local size = text >> 32
  local from, from_ok = inline.opt_int(L, base, n, 2, 1)
  if from_ok == 0 then
    return FAIL
  end
  from = position_in(from, size)
  local to, to_ok = inline.opt_int(L, base, n, 3, from)
  if to_ok == 0 then
    return FAIL
  end
  to = position_in(to, size)
  if from < 1 then
    return arg_error(L, 2, "out of bounds")
  elseif to > size then
    return arg_error(L, 3, "out of bounds")
  elseif from > to then
    return 0
  end
  -- As many as if each byte was a character.
  if inline.result_room(L, base, to - from + 1) == 0 then
    return raise(L, "stack overflow (string slice too long)")
  end
  local strict = is_strict(base, n, 4)
  local start = (text & 0xffffffff) - 1
  local stop = start + 1 + size
  local at = start + from
  local last = start + to
  local result = base - 16
  while at <= last do
    local code = utf8_decode(at, stop, strict)
    if code < 0 then
      return raise(L, "invalid UTF-8 code")
    end
    set64(result, TAG_INT)
    set64(result + 8, code & 0xffffffff)
    result = result + 16
    at = at + (code >> 32)
  end
  return result - (base - 16) >> 4
end

-- The n-th character from `at` on (0: the one that `at` is in; negative: backwards), in a text from start to stop: its
-- address, or 0 if there is none.
local function find_character(start, at, stop, n)
  if n == 0 then
    while at > start and is_continuation(at, stop) do
      at = at - 1
    end
    return at
  end
  while n < 0 and at > start do
    repeat
      at = at - 1
    until at == start or not is_continuation(at, stop)
    n = n + 1
  end
  while n > 1 and at < stop do
    repeat
      at = at + 1
    until not is_continuation(at, stop)
    n = n - 1
  end
  if n < 0 or n > 1 then
    return 0
  end
  return at
end

function utf8_offset(L, base, n)
  local text, text_ok = inline.str_arg(L, base, n, 1)
  if text_ok == 0 then
    return FAIL
  end
  local count, count_ok = inline.int_arg(L, base, n, 2)
  if count_ok == 0 then
    return FAIL
  end
  local size = text >> 32
  local default = 1
  if count < 0 then
    default = size + 1
  end
  local from, from_ok = inline.opt_int(L, base, n, 3, default)
  if from_ok == 0 then
    return FAIL
  end
  from = position_in(from, size) - 1
  if from < 0 or from > size then
    return arg_error(L, 3, "position out of bounds")
  end
  local start = text & 0xffffffff
  local stop = start + size
  if count ~= 0 and is_continuation(start + from, stop) then
    return raise(L, "initial position is a continuation byte")
  end
  local at = find_character(start, start + from, stop, count)
  if at == 0 then
    return inline.return_value(base, TAG_NIL, 0)
  elseif is_continuation(at, stop) then
    return raise(L, "initial position is a continuation byte")
  end
  local last = at
  if at < stop and u8(at) >= 0x80 then
    while is_continuation(last + 1, stop) do
      last = last + 1
    end
  end
  set64(base - 16, TAG_INT)
  set64(base - 8, at - start + 1)
  set64(base, TAG_INT)
  set64(base + 8, last - start + 1)
  return 2
end

-- The checks of utf8.codes(s [, lax]). No result.
function utf8_codes_check(L, base, n)
  local text, ok = inline.str_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local start = text & 0xffffffff
  if is_continuation(start, start + (text >> 32)) then
    return arg_error(L, 1, "invalid UTF-8 code")
  end
  return 0
end

-- A step of the iterator of utf8.codes: (s, position [, lax]) → position and code of the next character, or nothing.
function utf8_codes_next(L, base, n)
  local text, ok = inline.str_arg(L, base, n, 1)
  if ok == 0 then
    return FAIL
  end
  local start = text & 0xffffffff
  local stop = start + (text >> 32)
  local position = 0
  if n >= 2 and u64(base + 16) == TAG_INT then
    position = u64(base + 24)
  end
  if not ult(position, text >> 32) then
    return 0
  end
  -- The byte at this offset is the second of the character before, or the one behind it.
  local at = start + position
  while is_continuation(at, stop) do
    at = at + 1
  end
  if at == stop then
    return 0
  end
  local code = utf8_decode(at, stop, is_strict(base, n, 3))
  if code < 0 or is_continuation(at + (code >> 32), stop) then
    return raise(L, "invalid UTF-8 code")
  end
  set64(base - 16, TAG_INT)
  set64(base - 8, at - start + 1)
  set64(base, TAG_INT)
  set64(base + 8, code & 0xffffffff)
  return 2
end
