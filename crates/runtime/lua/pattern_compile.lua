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
--
-- While a pattern is compiled, these are in the place of the captures of M, the state of the match it is for (u64 each). They
-- are not in variables, whose constants would be states of their own for the verifier: it would follow each through the loop.
--   COMPILE_ITEM         address of the next item
--   COMPILE_POOL         address below which the next set goes
--   COMPILE_POSITION     address in the pattern of what is next
--   COMPILE_STOP         address of the pattern's end
--   COMPILE_TEXT_END     address in the pattern where the text of the last item ends, or 0
--   COMPILE_LEVEL        how many captures there are
--   COMPILE_OPEN         which of them are open, as bits
--   COMPILE_POSITIONS    which of them are position captures, as bits
--   COMPILE_DEEP         1 if matching can be nested so deep that it reaches the limit
--   COMPILE_HEAD         address of the program

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

local function store(item, kind, char, set)
  set64(item, kind | char << 8 | set << 32)
  set64(item + ITEM_NEXT_SET, 0)
end

-- Stores the next item.
local function emit(M, kind, char, set)
  local item = u64(M + COMPILE_ITEM)
  store(item, kind, char, set)
  set64(M + COMPILE_ITEM, item + ITEM_SIZE)
end

-- Ends the program with an error.
local function emit_error(M, message)
  local item = u64(M + COMPILE_ITEM)
  set64(item, PATTERN_ERROR)
  set64(item + ITEM_MESSAGE, message)
  set64(M + COMPILE_ITEM, item + ITEM_SIZE)
  set64(M + COMPILE_POSITION, u64(M + COMPILE_STOP))
end

-- The character at p, or 0 at the end of the pattern, as if it were terminated.
local function char_at(M, p)
  if p < u64(M + COMPILE_STOP) then
    return u8(p)
  end
  return 0
end

-- Stores the item for the single character at p - 1, or puts it into the text that the last item is if this ends there.
local function emit_char(M, p, char)
  local last = u64(M + COMPILE_ITEM) - ITEM_SIZE
  if u64(M + COMPILE_TEXT_END) ~= p - 1 then
    emit(M, PATTERN_CHAR, char, 0)
  elseif u8(last) == PATTERN_CHAR then
    set8(last, PATTERN_TEXT)
    set32(last + ITEM_SET, p - 2)
    set32(last + ITEM_LENGTH, 2)
  else
    set32(last + ITEM_LENGTH, u32(last + ITEM_LENGTH) + 1)
  end
  set64(M + COMPILE_TEXT_END, p)
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

-- Stores the item for a single character, or for what takes one (char and set as in ITEM_CHAR and ITEM_SET), whose suffix
-- would be at p.
function pattern_single(M, p, char, set)
  if set > 1 then
    set64(M + COMPILE_POOL, set)
  end
  local kind = suffix_kind(char_at(M, p))
  if kind == 0 and set == 0 then
    emit_char(M, p, char)
  else
    set64(M + COMPILE_TEXT_END, 0)
    if kind ~= 0 then
      p = p + 1
    elseif set == 1 then
      kind = PATTERN_ANY
    else
      kind = PATTERN_SET
    end
    emit(M, kind, char, set)
  end
  set64(M + COMPILE_POSITION, p)
end

-- Stores the item for the set at p, with its suffix.
local function emit_set(M, p)
  local set = u64(M + COMPILE_POOL) - 32
  local after = pattern_set(p, u64(M + COMPILE_STOP), set)
  if after == 0 then
    emit_error(M, "malformed pattern (missing ']')")
  else
    pattern_single(M, after, 0, set)
  end
end

-- Stores the item for "%" and c, a character or class, at p, with its suffix.
local function emit_class(M, p, c)
  local set = u64(M + COMPILE_POOL) - 32
  inline.clear_set(set)
  if pattern_class(set, c) == 0 then
    set = 0
  end
  pattern_single(M, p + 2, c, set)
end

-- Stores the item for "%b" at p.
local function emit_balance(M, p)
  if u64(M + COMPILE_STOP) - p < 4 then
    emit_error(M, "malformed pattern (missing arguments to '%b')")
  else
    emit(M, PATTERN_BALANCE, u8(p + 2), u8(p + 3))
    set64(M + COMPILE_POSITION, p + 4)
  end
end

-- Stores the item for "%f" at p.
local function emit_frontier(M, p)
  if char_at(M, p + 2) ~= SET then
    return emit_error(M, "missing '[' after '%f' in pattern")
  end
  local set = u64(M + COMPILE_POOL) - 32
  local after = pattern_set(p + 2, u64(M + COMPILE_STOP), set)
  if after == 0 then
    return emit_error(M, "malformed pattern (missing ']')")
  end
  set64(M + COMPILE_POOL, set)
  emit(M, PATTERN_FRONTIER, 0, set)
  set64(M + COMPILE_POSITION, after)
end

-- Stores the item for the back reference at p, whose digit is c.
local function emit_reference(M, p, c)
  local index = c - 49
  local closed = (shl(1, u64(M + COMPILE_LEVEL)) - 1) & ~u64(M + COMPILE_OPEN)
  set64(M + COMPILE_POSITION, p + 2)
  if index < 0 or shr(closed, index) & 1 == 0 then
    emit(M, PATTERN_BAD_INDEX, index + 1, 0)
    set64(M + COMPILE_POSITION, u64(M + COMPILE_STOP))
  elseif shr(u64(M + COMPILE_POSITIONS), index) & 1 ~= 0 then
    -- The length of a position capture is taken for one that no text has (match_capture).
    emit(M, PATTERN_NEVER, 0, 0)
  else
    emit(M, PATTERN_REFERENCE, index, 0)
  end
end

-- Stores the item for "%" at p, or two for it and the suffix.
local function emit_escape(M, p)
  if p + 1 == u64(M + COMPILE_STOP) then
    return emit_error(M, "malformed pattern (ends with '%')")
  end
  local c = u8(p + 1)
  if c == 98 then -- b
    set64(M + COMPILE_TEXT_END, 0)
    emit_balance(M, p)
  elseif c == 102 then -- f
    set64(M + COMPILE_TEXT_END, 0)
    emit_frontier(M, p)
  elseif c >= 48 and c <= 57 then
    set64(M + COMPILE_TEXT_END, 0)
    emit_reference(M, p, c)
  else
    emit_class(M, p, c)
  end
end

-- The number of the highest capture among `open`, which is not 0.
local function last_open(open)
  local index = 31
  while shr(open, index) & 1 == 0 do
    index = index - 1
  end
  return index
end

-- Stores the item for a capture's beginning or end. Where matching is nested so deep that it can reach the limit, each counts
-- for a level of it.
local function emit_capture(M, kind, index)
  emit(M, kind, index, 0)
  if u64(M + COMPILE_DEEP) ~= 0 then
    emit(M, PATTERN_DEPTH, 0, 0)
  end
end

-- Stores the item for ")" at p.
function pattern_close(M, p)
  set64(M + COMPILE_TEXT_END, 0)
  local open = u64(M + COMPILE_OPEN)
  if open == 0 then
    return emit_error(M, "invalid pattern capture")
  end
  local index = last_open(open)
  set64(M + COMPILE_OPEN, open & ~shl(1, index))
  emit_capture(M, PATTERN_CLOSE, index)
  set64(M + COMPILE_POSITION, p + 1)
end

-- Stores the item for "(" or "()" at p.
function pattern_open(M, p)
  set64(M + COMPILE_TEXT_END, 0)
  local level = u64(M + COMPILE_LEVEL)
  if level == MATCH_MAX_CAPTURES then
    return emit_error(M, "too many captures")
  end
  set64(M + COMPILE_LEVEL, level + 1)
  if char_at(M, p + 1) == GROUP_END then
    set64(M + COMPILE_POSITIONS, u64(M + COMPILE_POSITIONS) | shl(1, level))
    emit_capture(M, PATTERN_POSITION, level)
    p = p + 1
  else
    set64(M + COMPILE_OPEN, u64(M + COMPILE_OPEN) | shl(1, level))
    emit_capture(M, PATTERN_OPEN, level)
  end
  set64(M + COMPILE_POSITION, p + 1)
end

-- Stores the item for what is next in the pattern, or two of them.
local function next_item(M)
  local p = u64(M + COMPILE_POSITION)
  local c = u8(p)
  if c == GROUP then
    pattern_open(M, p)
  elseif c == GROUP_END then
    pattern_close(M, p)
  elseif c == ESCAPE then
    emit_escape(M, p)
  elseif c == SET then
    emit_set(M, p)
  elseif c == DOT then
    pattern_single(M, p + 1, c, 1)
  elseif c == DOLLAR and p + 1 == u64(M + COMPILE_STOP) then
    emit(M, PATTERN_SUBJECT_END, 0, 0)
    set64(M + COMPILE_POSITION, p + 1)
  else
    pattern_single(M, p + 1, c, 0)
  end
end

-- Stores the program of a pattern between the addresses at and limit, multiples of 8: items upwards from the one, sets
-- downwards from the other. 1, or 0 if there is no room. What the pattern itself holds must stay where it is. M is the state
-- of a match that has not begun.
function pattern_compile(M, pattern, at, limit)
  local start = pattern & 0xffffffff
  set64(M + COMPILE_ITEM, at + ITEM_SIZE)
  set64(M + COMPILE_POOL, limit)
  set64(M + COMPILE_POSITION, start)
  set64(M + COMPILE_STOP, start + (pattern >> 32))
  set64(M + COMPILE_TEXT_END, 0)
  set64(M + COMPILE_LEVEL, 0)
  set64(M + COMPILE_OPEN, 0)
  set64(M + COMPILE_POSITIONS, 0)
  set64(M + COMPILE_DEEP, shr(MATCH_MAX_DEPTH - (pattern >> 32), 63))
  set64(M + COMPILE_HEAD, at)
  store(at, PATTERN_HEAD, pattern_is_plain(pattern), 0)
  while u64(M + COMPILE_POSITION) < u64(M + COMPILE_STOP) do
    -- A turn stores two items and a set at most; the end is one more item.
    if u64(M + COMPILE_POOL) - u64(M + COMPILE_ITEM) < 3 * ITEM_SIZE + 32 then
      return 0
    end
    next_item(M)
  end
  local last = u64(M + COMPILE_ITEM)
  local head = u64(M + COMPILE_HEAD)
  store(last, PATTERN_END, 0, 0)
  set32(head + ITEM_LENGTH, u64(M + COMPILE_LEVEL))
  if u64(M + COMPILE_DEEP) == 0 then
    while last > head do
      pattern_link(last)
      last = last - ITEM_SIZE
    end
  end
  return 1
end
