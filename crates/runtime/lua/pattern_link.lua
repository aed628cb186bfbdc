-- What is known of the rest of a pattern at each item of its program (pattern_compile.lua), for looks ahead.

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

-- Notes in an item what the rest of the pattern begins with.
local function note_next(item, next, char, set)
  set8(item + ITEM_NEXT, next)
  set8(item + ITEM_NEXT_CHAR, char)
  if u8(item) ~= PATTERN_ERROR then
    set32(item + ITEM_NEXT_SET, set)
  end
end

-- Notes in the item before a single character item, which has to match, what the pattern begins with from there on.
local function note_single(item, kind)
  local set = u32(item + ITEM_SET)
  if set == 0 or kind == PATTERN_TEXT then
    note_next(item - ITEM_SIZE, NEXT_CHAR, u8(item + ITEM_CHAR), 0)
  elseif set == 1 then
    note_next(item - ITEM_SIZE, NEXT_NOTHING, 0, 0)
  else
    note_next(item - ITEM_SIZE, NEXT_SET, 0, set)
  end
end

-- Notes in the item before this one what the pattern begins with from here on, as this one has it for what follows it; and
-- makes a repetition that need never give back what it took into its PATTERN_…_ALL.
function pattern_link(item)
  local kind = u8(item)
  local before = item - ITEM_SIZE
  local next = u8(item + ITEM_NEXT)
  local char = u8(item + ITEM_NEXT_CHAR)
  local set = u32(item + ITEM_NEXT_SET)
  if kind >= PATTERN_STAR and kind <= PATTERN_OPTION and is_disjoint(item, next, char, set) then
    kind = kind - (PATTERN_STAR - PATTERN_STAR_ALL)
    set8(item, kind)
  end
  if kind <= PATTERN_TEXT or kind == PATTERN_PLUS or kind == PATTERN_PLUS_ALL then
    note_single(item, kind)
  elseif kind == PATTERN_END then
    note_next(before, NEXT_ANYTHING, 0, 0)
  elseif kind == PATTERN_SUBJECT_END then
    note_next(before, NEXT_END, 0, 0)
  elseif kind == PATTERN_BALANCE then
    note_next(before, NEXT_CHAR, u8(item + ITEM_CHAR), 0)
  elseif kind == PATTERN_FRONTIER and u64(u32(item + ITEM_SET)) & 1 == 0 then
    note_next(before, NEXT_SET, 0, u32(item + ITEM_SET))
  elseif kind < PATTERN_OPEN or kind > PATTERN_POSITION then
    note_next(before, NEXT_NOTHING, 0, 0)
  else
    note_next(before, next, char, set)
  end
end
