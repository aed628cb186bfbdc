-- string.gsub with a string for the replacement (lstrlib.c). The result is put together at the end of what packet memory is
-- in use, and becomes part of it when it is complete.

local ESCAPE <const> = 37
local ZERO <const> = 48

-- Appends n bytes to the result that ends at `out`, in the memory before `limit`: its new end, or 0 after an error.
function pattern_append(L, out, limit, from, n)
  if n > limit - 8 - out then
    raise_plain(L, "not enough memory")
    return 0
  end
  copy_bytes(out, from, n)
  return out + n
end

-- Stores the decimal digits of a value from 0 on at `out`: address after them.
local function put_decimal(out, value)
  local after = out + 1
  local rest = udiv(value, 10)
  while rest ~= 0 do
    after = after + 1
    rest = udiv(rest, 10)
  end
  local at = after - 1
  repeat
    set8(at, ZERO + umod(value, 10))
    value = udiv(value, 10)
    at = at - 1
  until value == 0
  return after
end

-- Appends what "%" and the digit c stand for: the match, or a capture. The new end, or 0 after an error.
function pattern_append_capture(L, M, out, limit, c)
  local start = u64(M + MATCH_START)
  local after = u64(M + MATCH_END)
  if c ~= ZERO then
    -- The value goes where it cannot be in the way: above the result, which is checked to have room for it.
    local index = c - ZERO - 1
    local value = out + 7 & -8
    if value > limit - 32 then
      raise_plain(L, "not enough memory")
      return 0
    elseif pattern_capture(L, M, index, value) ~= 0 then
      return 0
    elseif u64(value) == TAG_INT then
      return put_decimal(out, u64(value + 8))
    end
    start = u32(value + 8)
    after = start + u32(value + 12)
  end
  return pattern_append(L, out, limit, start, after - start)
end

-- Appends the replacement of a match, which is `text` with its escapes. The new end, or 0 after an error.
function pattern_append_replacement(L, M, out, limit, text)
  local at = text & 0xffffffff
  local stop = at + (text >> 32)
  while at < stop do
    local escape = inline.find_char(at, stop, ESCAPE)
    if escape == 0 then
      return pattern_append(L, out, limit, at, stop - at)
    end
    local c = 0
    if escape + 1 < stop then
      c = u8(escape + 1)
    end
    local taken = escape - at
    if c == ESCAPE then
      taken = taken + 1
    end
    out = pattern_append(L, out, limit, at, taken)
    if out ~= 0 and c >= ZERO and c <= ZERO + 9 then
      out = pattern_append_capture(L, M, out, limit, c)
    elseif out ~= 0 and c ~= ESCAPE then
      inline.match_error(M, "invalid use of '%' in replacement string")
      out = 0
    end
    if out == 0 then
      return 0
    end
    at = escape + 2
  end
  return out
end

-- Replaces up to `most` matches by `text`. The result, as a string's payload; and the number of matches, or FAIL.
local function replace(L, M, text, most)
  local heap = u64(L + L_HEAP)
  local limit = u64(M + MATCH_LIMIT)
  local out = heap
  local count = 0
  -- The subject up to here is in the result.
  local copied = u64(M + MATCH_SUBJECT)
  while count < most do
    local start = inline.next_match(L, M)
    if start < 0 then
      return 0, FAIL
    elseif start == 0 then
      break
    end
    count = count + 1
    out = pattern_append(L, out, limit, copied, start - copied)
    if out ~= 0 then
      out = pattern_append_replacement(L, M, out, limit, text)
    end
    if out == 0 then
      return 0, FAIL
    end
    copied = u64(M + MATCH_END)
    if u64(M + MATCH_ANCHOR) ~= 0 then
      break
    end
  end
  local stop = u64(M + MATCH_STOP)
  if count == 0 then
    return u64(M + MATCH_SUBJECT) | stop - u64(M + MATCH_SUBJECT) << 32, 0
  end
  out = pattern_append(L, out, limit, copied, stop - copied)
  if out == 0 then
    return 0, FAIL
  end
  set64(L + L_HEAP, out + 7 & -8)
  return heap | out - heap << 32, count
end

-- string.gsub(s, pattern, replacement [, n]) with a string or number for the replacement; also raises the errors of other
-- arguments than string, number, table and function.
function string_gsub(L, base, n)
  local subject, subject_ok = inline.subject_arg(L, base, n)
  if subject_ok == 0 then
    return FAIL
  end
  local pattern, pattern_ok = inline.str_arg(L, base, n, 2)
  if pattern_ok == 0 then
    return FAIL
  end
  local most, most_ok = inline.opt_int(L, base, n, 4, (subject >> 32) + 1)
  if most_ok == 0 then
    return FAIL
  end
  local tag = u64(base + 32)
  if n < 3 or tag ~= TAG_STRING and tag ~= TAG_INT and tag ~= TAG_FLOAT then
    return type_error(L, base, n, 3, "string/function/table")
  end
  local text, text_ok = inline.str_arg(L, base, n, 3)
  if text_ok == 0 then
    return FAIL
  end
  local M = u64(L + L_SCRATCH)
  if inline.prepare_anchored(L, M, subject, pattern, 0) == 0 then
    return FAIL
  end
  local result, count = replace(L, M, text, most)
  if count < 0 then
    return inline.match_failed(L, M)
  end
  set64(base - 16, TAG_STRING)
  set64(base - 8, result)
  set64(base, TAG_INT)
  set64(base + 8, count)
  return 2
end
