-- Matching of patterns (manual § 6.5.1; lstrlib.c): executes the programs of pattern_compile.lua.
--
-- The state of a match is MATCH_SIZE bytes, called M:
--   MATCH_SUBJECT, MATCH_STOP    the subject, and the address after it
--   MATCH_PROGRAM                the pattern's program
--   MATCH_ERROR                  text of an error of the pattern, which the primitive is to raise; 0 for none
--   MATCH_POSITION, MATCH_LAST   for inline.next_match: where to go on, and where the last match ended (0 before the first)
--   MATCH_ANCHOR                 1 if the pattern is to match at MATCH_POSITION only
--   MATCH_START, MATCH_END       the last match
--   MATCH_CAPTURES               for each capture u32 start and u32 end; the end is CAPTURE_POSITION or CAPTURE_OPEN instead
-- It is in the scratch buffer, or in packet memory for what goes on after the primitive has returned. What to try instead
-- when the rest of a pattern fails is in the scratch buffer after MATCH_SIZE bytes: up to MATCH_MAX_DEPTH choices of
-- CHOICE_SIZE bytes (item, position, lowest position). As captures are not undone by going back (each is set again on the
-- way forward), these are all there is to know. Lua nests a call of its C function where a choice is noted here, and so does
-- not get further than MATCH_MAX_DEPTH choices either (MAXCCALLS): "pattern too complex".
--
-- Every choice that is taken up again takes a step of the budget, and so do 16 characters of a run.
--
-- A chain of calls must not be longer than the kernel allows, and raising an error is long. So errors are noted in
-- MATCH_ERROR down here, and raised by inline.match_failed in the primitive.

-- Whether a single character item takes the character c.
local function takes(item, c)
  local set = u32(item + ITEM_SET)
  if set == 0 then
    return c == u8(item + ITEM_CHAR)
  end
  return set == 1 or inline.in_set(set, c)
end

-- Takes a step of the budget for each 16 characters. That there are none left shows at the next step.
function inline.charge(L, characters)
  set64(L + L_BUDGET, u64(L + L_BUDGET) - (characters >> 4))
end

-- Address after the longest run, from s on, of characters that the item takes.
function pattern_run_end(L, item, s, stop)
  local set = u32(item + ITEM_SET)
  if set == 1 then
    return stop
  end
  local after = s
  if set == 0 then
    local char = u8(item + ITEM_CHAR)
    while after < stop and u8(after) == char do
      after = after + 1
    end
  else
    while after < stop and inline.in_set(set, u8(after)) do
      after = after + 1
    end
  end
  inline.charge(L, after - s)
  return after
end

-- The highest position from s down to lowest, both included, where the rest of the pattern can begin; 0 if there is none.
-- (It may still fail to match there: this only skips what certainly fails.)
function pattern_retreat(item, s, lowest)
  local next = u8(item + ITEM_NEXT)
  if next == NEXT_CHAR then
    local char = u8(item + ITEM_NEXT_CHAR)
    while s >= lowest and u8(s) ~= char do
      s = s - 1
    end
  elseif next == NEXT_SET then
    local set = u32(item + ITEM_NEXT_SET)
    while s >= lowest and not inline.in_set(set, u8(s)) do
      s = s - 1
    end
  end
  if s >= lowest then
    return s
  end
  return 0
end

-- The lowest position from s on where the rest of the pattern can begin, all characters in between being ones that the item
-- takes; 0 if there is none. (It may still fail to match there.)
function pattern_advance(L, item, s, stop)
  local next = u8(item + ITEM_NEXT)
  local char = u8(item + ITEM_NEXT_CHAR)
  local own = u32(item + ITEM_SET)
  local at = s
  local found = 1
  if next == NEXT_CHAR and own == 1 then
    at = inline.find_char(s, stop, char)
    if at == 0 then
      at = stop
      found = 0
    end
  elseif next == NEXT_CHAR then
    while at < stop and u8(at) ~= char and takes(item, u8(at)) do
      at = at + 1
    end
  elseif next == NEXT_SET then
    local set = u32(item + ITEM_NEXT_SET)
    while at < stop and not inline.in_set(set, u8(at)) and takes(item, u8(at)) do
      at = at + 1
    end
  elseif next == NEXT_END and own == 1 then
    return stop
  end
  inline.charge(L, at - s)
  return at * found
end

-- "%b": address after the shortest text from s on in which open and close are balanced, or 0.
local function match_balance(s, stop, open, close)
  if s >= stop or u8(s) ~= open then
    return 0
  end
  local depth = 1
  s = s + 1
  while s < stop do
    local c = u8(s)
    s = s + 1
    if c == close then
      depth = depth - 1
      if depth == 0 then
        return s
      end
    elseif c == open then
      depth = depth + 1
    end
  end
  return 0
end

-- "%f": s if the character before it is not in the item's set, but the one at it is; else 0. What is before and after the
-- subject is the character 0.
local function match_frontier(M, item, s)
  local set = u32(item + ITEM_SET)
  local before = 0
  local here = 0
  if s > u64(M + MATCH_SUBJECT) then
    before = u8(s - 1)
  end
  if s < u64(M + MATCH_STOP) then
    here = u8(s)
  end
  if not inline.in_set(set, before) and inline.in_set(set, here) then
    return s
  end
  return 0
end

-- Address after the text of a capture, if that is at s; else 0.
local function match_reference(M, index, s)
  local capture = M + MATCH_CAPTURES + (index << 3)
  local start = u32(capture)
  local length = u32(capture + 4) - start
  if u64(M + MATCH_STOP) - s >= length and inline.same_bytes(start, s, length) then
    return s + length
  end
  return 0
end

-- Notes an error. FAIL.
function inline.match_error(M, text)
  set64(M + MATCH_ERROR, text)
  return FAIL
end

-- What a primitive returns when a function here has returned FAIL: raises the error, if that has not happened. FAIL.
function inline.match_failed(L, M)
  local text = u64(M + MATCH_ERROR)
  if text ~= 0 then
    raise(L, text)
  end
  return FAIL
end

-- Notes the error "invalid capture index %N". FAIL.
function inline.bad_index(L, M, index)
  local text = alloc(L, 24)
  if text ~= 0 then
    local model = "invalid capture index %0" & 0xffffffff
    set64(text, u64(model))
    set64(text + 8, u64(model + 8))
    set64(text + 16, u64(model + 16))
    set8(text + 23, 48 + index)
    set64(M + MATCH_ERROR, text | 24 << 32)
  end
  return FAIL
end

-- The less frequent items: the position after what matches at s, 0 if it does not match, or FAIL after an error.
function pattern_match_rare(L, M, item, s)
  local kind = u8(item)
  if kind == PATTERN_SUBJECT_END then
    if s == u64(M + MATCH_STOP) then
      return s
    end
    return 0
  elseif kind == PATTERN_FRONTIER then
    return match_frontier(M, item, s)
  elseif kind == PATTERN_BALANCE then
    local after = match_balance(s, u64(M + MATCH_STOP), u8(item + ITEM_CHAR), u32(item + ITEM_SET))
    inline.charge(L, u64(M + MATCH_STOP) - s)
    return after
  elseif kind == PATTERN_REFERENCE then
    return match_reference(M, u8(item + ITEM_CHAR), s)
  elseif kind == PATTERN_ERROR then
    return inline.match_error(M, u64(item + ITEM_MESSAGE))
  elseif kind == PATTERN_BAD_INDEX then
    return inline.bad_index(L, M, u8(item + ITEM_CHAR))
  end
  return 0
end

-- Items from PATTERN_CHAR to PATTERN_POSITION: the position after what matches at s, or 0.
local function match_simple(M, item, kind, s, stop)
  if kind <= PATTERN_ANY then
    if s < stop and takes(item, u8(s)) then
      return s + 1
    end
    return 0
  elseif kind == PATTERN_TEXT then
    local length = u32(item + ITEM_LENGTH)
    if stop - s >= length and inline.same_bytes(u32(item + ITEM_SET), s, length) then
      return s + length
    end
    return 0
  end
  local capture = M + MATCH_CAPTURES + (u8(item + ITEM_CHAR) << 3)
  if kind == PATTERN_CLOSE then
    set32(capture + 4, s)
  elseif kind == PATTERN_OPEN then
    set64(capture, s | CAPTURE_OPEN << 32)
  else
    set64(capture, s | CAPTURE_POSITION << 32)
  end
  return s
end

-- Repetitions that never give back: the position after what they take at s, or 0.
local function match_all(L, item, kind, s, stop)
  if kind == PATTERN_OPTION_ALL then
    if s < stop and takes(item, u8(s)) then
      return s + 1
    end
    return s
  end
  local after = pattern_run_end(L, item, s, stop)
  if kind == PATTERN_PLUS_ALL and after == s then
    return 0
  end
  return after
end

-- Other repetitions: the position to match the rest of the pattern at first, or 0; and if there is more to be tried when
-- that fails, the lowest position to give back to (not used by all items), else -1.
local function match_repetition(L, item, kind, s, stop)
  if kind <= PATTERN_PLUS then
    local after = pattern_run_end(L, item, s, stop)
    if after == s then
      if kind == PATTERN_PLUS then
        return 0, -1
      end
      return s, -1
    end
    local lowest = s
    if kind == PATTERN_PLUS then
      lowest = s + 1
    end
    return pattern_retreat(item, after, lowest), lowest
  elseif s >= stop or not takes(item, u8(s)) then
    return s, -1
  elseif kind == PATTERN_OPTION then
    return s + 1, s
  end
  return pattern_advance(L, item, s, stop), 0
end

-- What to try next for an item with a choice: the position, or 0 if that was all. PATTERN_DEPTH has nothing to try.
local function retry(L, item, kind, s, lowest, stop)
  if kind <= PATTERN_PLUS then
    return pattern_retreat(item, s - 1, lowest)
  elseif kind == PATTERN_OPTION then
    return lowest
  elseif kind == PATTERN_LAZY and s < stop and takes(item, u8(s)) then
    return pattern_advance(L, item, s + 1, stop)
  end
  return 0
end

-- Matches the program of M at s: the position after the match, 0 if it does not match, or FAIL after an error.
function pattern_run(L, M, s)
  local stop = u64(M + MATCH_STOP)
  local item = u64(M + MATCH_PROGRAM) + ITEM_SIZE
  local bottom = u64(L + L_SCRATCH) + MATCH_SIZE
  local top = bottom
  while true do
    local kind = u8(item)
    local lowest = -1
    if kind <= PATTERN_POSITION then
      s = match_simple(M, item, kind, s, stop)
    elseif kind == PATTERN_END then
      return s
    elseif kind <= PATTERN_OPTION_ALL then
      s = match_all(L, item, kind, s, stop)
    elseif kind <= PATTERN_LAZY then
      s, lowest = match_repetition(L, item, kind, s, stop)
    elseif kind == PATTERN_DEPTH then
      lowest = 0
    else
      s = pattern_match_rare(L, M, item, s)
      if s < 0 then
        return FAIL
      end
    end
    if s ~= 0 and lowest >= 0 then
      if top == bottom + MATCH_MAX_DEPTH * CHOICE_SIZE then
        return inline.match_error(M, "pattern too complex")
      end
      set64(top, item | s << 32)
      set64(top + 8, lowest)
      top = top + CHOICE_SIZE
    end
    while s == 0 do
      if top == bottom then
        return 0
      end
      if inline.spend(L) ~= 0 then
        return FAIL
      end
      item = u32(top - 16)
      kind = u8(item)
      s = retry(L, item, kind, u32(top - 12), u32(top - 8), stop)
      if s == 0 or kind == PATTERN_OPTION then
        top = top - CHOICE_SIZE
      else
        set32(top - 12, s)
      end
    end
    item = item + ITEM_SIZE
  end
end
