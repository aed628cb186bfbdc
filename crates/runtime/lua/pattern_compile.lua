-- Patterns become programs: rows of items, which pattern_run in pattern.lua executes.
--
-- Lua patterns have neither alternatives nor repeated groups, so the items stand one after another, and at each of them it
-- is known which captures are open. An error of the pattern is an item that raises it: as in Lua, what is wrong with a
-- pattern shows only when the matching gets there.
--
-- A program is ITEM_SIZE bytes of head, then the items; the last is PATTERN_END or one that raises an error. Items:
--   ITEM_KIND, u8        which item
--   ITEM_CHAR, u8        the character; or the number of the capture, from 0
--   ITEM_NEXT, u8        what the rest of the pattern begins with, for a look ahead: NEXT_NOTHING if that is not known
--   ITEM_NEXT_CHAR, u8   the character, for NEXT_CHAR
--   ITEM_SET, u32        which characters a single character item takes: 0 that character, 1 any, else the set at this address;
--                        address of the text, for PATTERN_TEXT; the closing character, for PATTERN_BALANCE
--   ITEM_NEXT_SET, u32   address of the set, for NEXT_SET
--   ITEM_LENGTH, u32     length of the text, for PATTERN_TEXT
--   ITEM_MESSAGE, u64    (instead of the last two) the error of PATTERN_ERROR
-- The head is an item: ITEM_NEXT… are what the pattern begins with, ITEM_LENGTH the number of captures, and ITEM_CHAR is 1
-- if the pattern has no special characters.

local CARET <const> = 94
local DASH <const> = 45
local DOLLAR <const> = 36
local DOT <const> = 46
local ESCAPE <const> = 37
local GROUP <const> = 40
local GROUP_END <const> = 41
local PLUS <const> = 43
local QUESTION <const> = 63
local SET <const> = 91
local STAR <const> = 42

-- Whether c is a special character for string.find (SPECIALS in lstrlib.c).
local function is_special(c)
  -- $ % ( * + - . ?
  return c < 64 and shr(0x80006d3000000000, c) & 1 ~= 0 or c == SET or c == CARET
end

-- 1 if the pattern has no special characters, so that string.find need not match.
function pattern_is_plain(pattern)
  local at = pattern & 0xffffffff
  local stop = at + (pattern >> 32)
  while at < stop do
    if is_special(u8(at)) then
      return 0
    end
    at = at + 1
  end
  return 1
end

local function emit(item, kind, char, set)
  set64(item, kind | char << 8 | set << 32)
  set64(item + ITEM_NEXT_SET, 0)
  return item + ITEM_SIZE
end

-- Ends the program with an error.
local function emit_error(item, message)
  set64(item, PATTERN_ERROR)
  set64(item + ITEM_MESSAGE, message)
  return item + ITEM_SIZE
end

-- The character at p, or 0 at the end of the pattern, as if it were terminated.
local function char_at(p, stop)
  if p < stop then
    return u8(p)
  end
  return 0
end

-- Puts the single character at p - 1 into the text that the last item is, if `text_end` says that this ends there.
local function emit_char(item, p, char, text_end)
  local last = item - ITEM_SIZE
  if text_end ~= p - 1 then
    return emit(item, PATTERN_CHAR, char, 0)
  elseif u8(last) == PATTERN_CHAR then
    set8(last, PATTERN_TEXT)
    set32(last + ITEM_SET, p - 2)
    set32(last + ITEM_LENGTH, 2)
  else
    set32(last + ITEM_LENGTH, u32(last + ITEM_LENGTH) + 1)
  end
  return item
end

-- The kind of item that a suffix makes of a single character, or 0 for no suffix.
local function suffix_kind(c)
  if c == STAR then
    return PATTERN_STAR
  elseif c == PLUS then
    return PATTERN_PLUS
  elseif c == DASH then
    return PATTERN_LAZY
  elseif c == QUESTION then
    return PATTERN_OPTION
  end
  return 0
end

-- Stores the item for the single character, class or set at p, with its suffix. Its set, if there is one, goes below `pool`.
-- The item after it, what is left of the pool, the next address in the pattern (stop after an error), and where the text of
-- the last item ends, or 0.
local function emit_single(item, pool, p, stop, text_end)
  local c = u8(p)
  local after = p + 1
  local char = c
  local set = 0
  if c == DOT then
    set = 1
  elseif c == SET then
    set = pool - 32
    after = pattern_set(p, stop, set)
    if after == 0 then
      return emit_error(item, "malformed pattern (missing ']')"), pool, stop, 0
    end
  elseif c == ESCAPE then
    if after == stop then
      return emit_error(item, "malformed pattern (ends with '%')"), pool, stop, 0
    end
    char = u8(after)
    after = p + 2
    set = pool - 32
    inline.clear_set(set)
    if inline.add_class(set, char) == 0 then
      set = 0
    end
  end
  if set > 1 then
    pool = set
  end
  local kind = suffix_kind(char_at(after, stop))
  if kind ~= 0 then
    return emit(item, kind, char, set), pool, after + 1, 0
  elseif set == 0 then
    return emit_char(item, after, char, text_end), pool, after, after
  elseif set == 1 then
    return emit(item, PATTERN_ANY, 0, 1), pool, after, 0
  end
  return emit(item, PATTERN_SET, 0, set), pool, after, 0
end

-- Stores the item for "%b", "%f" or a back reference at p, c being its letter or digit; `taken` are the captures that a back
-- reference can be to, `positions` those of them that are position captures. The item after it, what is left of the pool,
-- and the next address in the pattern (stop after an error).
local function emit_escape(item, pool, p, stop, c, taken, positions)
  if c == 98 then -- b
    if stop - p < 4 then
      return emit_error(item, "malformed pattern (missing arguments to '%b')"), pool, stop
    end
    return emit(item, PATTERN_BALANCE, u8(p + 2), u8(p + 3)), pool, p + 4
  elseif c == 102 then -- f
    if char_at(p + 2, stop) ~= SET then
      return emit_error(item, "missing '[' after '%f' in pattern"), pool, stop
    end
    local after = pattern_set(p + 2, stop, pool - 32)
    if after == 0 then
      return emit_error(item, "malformed pattern (missing ']')"), pool, stop
    end
    return emit(item, PATTERN_FRONTIER, 0, pool - 32), pool - 32, after
  end
  local index = c - 49
  if index < 0 or shr(taken, index) & 1 == 0 then
    return emit(item, PATTERN_BAD_INDEX, index + 1, 0), pool, stop
  elseif shr(positions, index) & 1 ~= 0 then
    -- The length of a position capture is taken for one that no text has (match_capture).
    return emit(item, PATTERN_NEVER, 0, 0), pool, p + 2
  end
  return emit(item, PATTERN_REFERENCE, index, 0), pool, p + 2
end

-- Where matching is nested so deep that it can reach the limit, each capture counts for a level of it.
local function emit_depth(item, deep)
  if deep ~= 0 then
    return emit(item, PATTERN_DEPTH, 0, 0)
  end
  return item
end

-- The number of the highest capture among `open`, which is not 0.
local function last_open(open)
  local index = 31
  while shr(open, index) & 1 == 0 do
    index = index - 1
  end
  return index
end

-- Stores the program of a pattern between the addresses at and limit, multiples of 8: items upwards from the one, sets
-- downwards from the other. 1, or 0 if there is no room. What the pattern itself holds must stay where it is.
function pattern_compile(pattern, at, limit)
  local p = pattern & 0xffffffff
  local stop = p + (pattern >> 32)
  local deep = 0
  if pattern >> 32 > MATCH_MAX_DEPTH then
    deep = 1
  end
  local item = at + ITEM_SIZE
  local pool = limit
  local level = 0
  local open = 0
  local positions = 0
  local text_end = 0
  while p < stop do
    -- A turn stores two items and a set at most; the end is one more item.
    if pool - item < 3 * ITEM_SIZE + 32 then
      return 0
    end
    local c = u8(p)
    local following = char_at(p + 1, stop)
    if c == GROUP or c == GROUP_END then
      text_end = 0
      p = p + 1
      if c == GROUP_END and open ~= 0 then
        local index = last_open(open)
        open = open & ~shl(1, index)
        item = emit_depth(emit(item, PATTERN_CLOSE, index, 0), deep)
      elseif c == GROUP_END then
        item = emit_error(item, "invalid pattern capture")
        p = stop
      elseif level == MATCH_MAX_CAPTURES then
        item = emit_error(item, "too many captures")
        p = stop
      elseif following == GROUP_END then
        positions = positions | shl(1, level)
        item = emit_depth(emit(item, PATTERN_POSITION, level, 0), deep)
        level = level + 1
        p = p + 1
      else
        open = open | shl(1, level)
        item = emit_depth(emit(item, PATTERN_OPEN, level, 0), deep)
        level = level + 1
      end
    elseif c == DOLLAR and p + 1 == stop then
      item = emit(item, PATTERN_SUBJECT_END, 0, 0)
      p = stop
    elseif c == ESCAPE and (following == 98 or following == 102 or following >= 48 and following <= 57) then
      text_end = 0
      local taken = (shl(1, level) - 1) & ~open
      item, pool, p = emit_escape(item, pool, p, stop, following, taken, positions)
    else
      item, pool, p, text_end = emit_single(item, pool, p, stop, text_end)
    end
  end
  emit(item, PATTERN_END, 0, 0)
  emit(at, PATTERN_HEAD, pattern_is_plain(pattern), 0)
  set32(at + ITEM_LENGTH, level)
  if deep == 0 then
    pattern_link(at, item)
  end
  return 1
end

-- Whether no character that a single character item takes can begin what follows it: after a shorter run of such characters
-- the rest of the pattern cannot match.
local function is_disjoint(item, next, char, set)
  local own = u32(item + ITEM_SET)
  if next == NEXT_ANYTHING or next == NEXT_END then
    return true
  elseif next == NEXT_NOTHING or own == 1 then
    return false
  elseif own == 0 and next == NEXT_CHAR then
    return u8(item + ITEM_CHAR) ~= char
  elseif own == 0 then
    return not inline.in_set(set, u8(item + ITEM_CHAR))
  elseif next == NEXT_CHAR then
    return not inline.in_set(own, char)
  end
  local both = u64(own) & u64(set) | u64(own + 8) & u64(set + 8)
  return both | u64(own + 16) & u64(set + 16) | u64(own + 24) & u64(set + 24) == 0
end

-- What the pattern from a single character item that has to match on begins with: NEXT_…, and its set.
local function first_of_single(item)
  local set = u32(item + ITEM_SET)
  if set == 0 then
    return NEXT_CHAR, 0
  elseif set == 1 then
    return NEXT_NOTHING, 0
  end
  return NEXT_SET, set
end

-- Goes through the items from the one at `last` back to the head at `first`: notes in each what the rest of the pattern
-- begins with, and makes repetitions that need never give back what they took into their PATTERN_…_ALL.
function pattern_link(first, last)
  local next = NEXT_NOTHING
  local char = 0
  local set = 0
  local item = last
  while item >= first do
    local kind = u8(item)
    set8(item + ITEM_NEXT, next)
    set8(item + ITEM_NEXT_CHAR, char)
    if kind ~= PATTERN_ERROR then
      set32(item + ITEM_NEXT_SET, set)
    end
    if kind >= PATTERN_STAR and kind <= PATTERN_OPTION and is_disjoint(item, next, char, set) then
      kind = kind - (PATTERN_STAR - PATTERN_STAR_ALL)
      set8(item, kind)
    end
    if kind <= PATTERN_TEXT or kind == PATTERN_PLUS or kind == PATTERN_PLUS_ALL then
      char = u8(item + ITEM_CHAR)
      next, set = first_of_single(item)
      if kind == PATTERN_TEXT then
        next = NEXT_CHAR
      end
    elseif kind == PATTERN_END then
      next = NEXT_ANYTHING
    elseif kind == PATTERN_SUBJECT_END then
      next = NEXT_END
    elseif kind == PATTERN_BALANCE then
      next = NEXT_CHAR
      char = u8(item + ITEM_CHAR)
    elseif kind == PATTERN_FRONTIER and u64(u32(item + ITEM_SET)) & 1 == 0 then
      next = NEXT_SET
      set = u32(item + ITEM_SET)
    elseif kind < PATTERN_OPEN or kind > PATTERN_POSITION then
      next = NEXT_NOTHING
    end
    item = item - ITEM_SIZE
  end
end
