-- Where in the subject a pattern matches, and what it captured. M is the state of a match (pattern.lua).

-- The first position from s on where the program with this head can match, or 0 if there is none. (It may still fail to
-- match there.)
local function skip(L, head, s, stop)
  local next = u8(head + ITEM_NEXT)
  local at = s
  if next == NEXT_CHAR then
    at = inline.find_char(s, stop, u8(head + ITEM_NEXT_CHAR))
    if at == 0 then
      at = stop
    end
  elseif next == NEXT_SET then
    local set = u32(head + ITEM_NEXT_SET)
    while at < stop and not inline.in_set(set, u8(at)) do
      at = at + 1
    end
  elseif next == NEXT_END then
    return stop
  else
    return s
  end
  inline.charge(L, at - s)
  if at >= stop then
    return 0
  end
  return at
end

-- The first match of the program of M at s or after it: its start, having set MATCH_START and MATCH_END; 0 if there is none;
-- FAIL after an error. With MATCH_ANCHOR only at s itself.
function pattern_search(L, M, s)
  local stop = u64(M + MATCH_STOP)
  local anchor = u64(M + MATCH_ANCHOR)
  while s <= stop do
    if anchor == 0 then
      s = skip(L, u64(M + MATCH_PROGRAM), s, stop)
      if s == 0 then
        return 0
      end
    end
    if inline.spend(L) ~= 0 then
      return FAIL
    end
    local after = pattern_run(L, M, s)
    if after < 0 then
      return FAIL
    elseif after ~= 0 then
      set64(M + MATCH_START, s)
      set64(M + MATCH_END, after)
      return s
    elseif anchor ~= 0 then
      return 0
    end
    s = s + 1
  end
  return 0
end

-- The next match for gmatch and gsub, which do not take an empty match where the last one ended: its start, having set
-- MATCH_START and MATCH_END; 0 if there is none; FAIL after an error.
function inline.next_match(L, M)
  local start = pattern_search(L, M, u64(M + MATCH_POSITION))
  if start > 0 and u64(M + MATCH_END) == u64(M + MATCH_LAST) then
    start = pattern_search(L, M, start + 1)
  end
  if start > 0 then
    local after = u64(M + MATCH_END)
    set64(M + MATCH_POSITION, after)
    set64(M + MATCH_LAST, after)
  end
  return start
end

-- Stores capture `index` (from 0) of the match from start to after as a value at `out`; without captures, capture 0 is the
-- match. 0, or FAIL after an error.
function pattern_capture(L, M, index, out)
  local start = u64(M + MATCH_START)
  local after = u64(M + MATCH_END)
  if index < u32(u64(M + MATCH_PROGRAM) + ITEM_LENGTH) then
    local capture = M + MATCH_CAPTURES + (index << 3)
    start = u32(capture)
    after = u32(capture + 4)
    if after == CAPTURE_OPEN then
      return inline.match_error(M, "unfinished capture")
    elseif after == CAPTURE_POSITION then
      set64(out, TAG_INT)
      set64(out + 8, start - u64(M + MATCH_SUBJECT) + 1)
      return 0
    end
  elseif index ~= 0 then
    return inline.bad_index(L, M, index + 1)
  end
  set64(out, TAG_STRING)
  set64(out + 8, start | after - start << 32)
  return 0
end

-- Stores all captures of the match as values from `out` on; the match itself if there are none and `whole` is not 0. How
-- many, or FAIL after an error.
function pattern_captures(L, M, out, whole)
  local count = u32(u64(M + MATCH_PROGRAM) + ITEM_LENGTH)
  if count == 0 and whole ~= 0 then
    count = 1
  end
  for index = 0, count - 1 do
    if pattern_capture(L, M, index, out + (index << 4)) ~= 0 then
      return FAIL
    end
  end
  return count
end
