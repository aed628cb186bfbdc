-- The parts of string.gsub with a table or a function for the replacement (lstrlib.c), which prelude/gsub.lua puts together.
--
-- The state is in packet memory: MATCH_SIZE bytes for the match (pattern.lua), then
--   GSUB_COUNT, GSUB_MOST    how many matches were replaced, and how many may be
--   GSUB_COPIED              the subject up to this address is in the result
--   GSUB_CHANGED             1 if a replacement was something else than nil or false
--   GSUB_LENGTH              bytes of the result so far
--   GSUB_FIRST, GSUB_LAST    first and last block of the result's pieces
--   GSUB_ROOM                pieces that the last block still has room for
-- The pieces are payloads of strings: of replacements, and of the subject in between. They are copied once, at the end. A
-- block is the address of the next one, u64, and PIECES_PER_BLOCK pieces.

local PIECES_PER_BLOCK <const> = 15
local BLOCK_SIZE <const> = 128

-- Makes `length` bytes from start on part of the result. 1, or 0 after an error.
function gsub_add_piece(L, state, start, length)
  if length == 0 then
    return 1
  end
  local room = u64(state + GSUB_ROOM)
  local block = u64(state + GSUB_LAST)
  if room == 0 then
    local next = alloc(L, BLOCK_SIZE)
    if next == 0 then
      return 0
    end
    set64(next, 0)
    set64(block, next)
    set64(state + GSUB_LAST, next)
    block = next
    room = PIECES_PER_BLOCK
  end
  set64(block + BLOCK_SIZE - (room << 3), start | length << 32)
  set64(state + GSUB_ROOM, room - 1)
  set64(state + GSUB_LENGTH, u64(state + GSUB_LENGTH) + length)
  return 1
end

-- string_gsub_start(s, pattern, replacement [, n]): the state, as an integer, and whether the replacement is a table;
-- nothing if it is neither table nor function.
function string_gsub_start(L, base, n)
  local kind = u64(base + 32)
  if n < 3 or kind ~= TAG_TABLE and kind ~= TAG_CLOSURE and kind ~= TAG_BUILTIN then
    return 0
  end
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
  local state = alloc(L, GSUB_SIZE)
  if state == 0 or inline.prepare_anchored(L, state, subject, pattern, 1) == 0 then
    return FAIL
  end
  set64(state + GSUB_COUNT, 0)
  set64(state + GSUB_MOST, most)
  set64(state + GSUB_COPIED, subject & 0xffffffff)
  set64(state + GSUB_CHANGED, 0)
  set64(state + GSUB_LENGTH, 0)
  set64(state + GSUB_FIRST, 0)
  -- The address of the first block is where that of the next one is in a block.
  set64(state + GSUB_LAST, state + GSUB_FIRST)
  set64(state + GSUB_ROOM, 0)
  local is_table = TAG_FALSE
  if kind == TAG_TABLE then
    is_table = TAG_TRUE
  end
  set64(base - 16, TAG_INT)
  set64(base - 8, state)
  set64(base, is_table)
  set64(base + 8, 0)
  return 2
end

-- string_gsub_next(state): whether there is one more match to replace.
function string_gsub_next(L, base, n)
  local state = u64(base + 8)
  local count = u64(state + GSUB_COUNT)
  local start = 0
  if count < u64(state + GSUB_MOST) and (count == 0 or u64(state + MATCH_ANCHOR) == 0) then
    start = inline.next_match(L, state)
    if start < 0 then
      return inline.match_failed(L, state)
    end
  end
  set64(base - 8, 0)
  if start == 0 then
    set64(base - 16, TAG_FALSE)
  else
    set64(base - 16, TAG_TRUE)
    set64(state + GSUB_COUNT, count + 1)
  end
  return 1
end

-- string_gsub_captures(state): the captures of the match, or the match: the arguments of a replacement function.
function string_gsub_captures(L, base, n)
  local state = u64(base + 8)
  local count = pattern_captures(L, state, base - 16, 1)
  if count < 0 then
    return inline.match_failed(L, state)
  end
  return count
end

-- string_gsub_key(state): the first of them: the key for a replacement table.
function string_gsub_key(L, base, n)
  local state = u64(base + 8)
  if pattern_capture(L, state, 0, base - 16) ~= 0 then
    return inline.match_failed(L, state)
  end
  return 1
end

-- Raises that a value of this tag cannot replace a match. FAIL.
local function raise_invalid(L, tag)
  if tag == TAG_TRUE then
    return raise(L, "invalid replacement value (a boolean)")
  elseif tag == TAG_TABLE then
    return raise(L, "invalid replacement value (a table)")
  elseif tag == TAG_CLOSURE or tag == TAG_BUILTIN then
    return raise(L, "invalid replacement value (a function)")
  end
  return raise(L, "invalid replacement value (a userdata)")
end

-- string_gsub_replace(state, value): replaces the match by a string or number; by itself, if the value is false or nil.
function string_gsub_replace(L, base, n)
  local state = u64(base + 8)
  local tag = TAG_NIL
  if n >= 2 then
    tag = u64(base + 16)
  end
  if tag <= TAG_FALSE then
    -- The match becomes part of what is copied from the subject with the next piece.
    return 0
  elseif tag ~= TAG_STRING and tag ~= TAG_INT and tag ~= TAG_FLOAT then
    return raise_invalid(L, tag)
  end
  local value, value_ok = inline.str_arg(L, base, n, 2)
  if value_ok == 0 then
    return FAIL
  end
  local copied = u64(state + GSUB_COPIED)
  if gsub_add_piece(L, state, copied, u64(state + MATCH_START) - copied) == 0 then
    return FAIL
  elseif gsub_add_piece(L, state, value & 0xffffffff, value >> 32) == 0 then
    return FAIL
  end
  set64(state + GSUB_COPIED, u64(state + MATCH_END))
  set64(state + GSUB_CHANGED, 1)
  return 0
end

-- The pieces one after another, as a string's payload; 0 after an error.
local function join_pieces(L, state)
  local length = u64(state + GSUB_LENGTH)
  -- Copying may write up to 7 bytes more.
  local result = alloc(L, length + 8)
  if result == 0 then
    return 0
  end
  local out = result
  local block = u64(state + GSUB_FIRST)
  local room = u64(state + GSUB_ROOM)
  while block ~= 0 do
    local next = u64(block)
    local stop = block + BLOCK_SIZE
    if next == 0 then
      stop = stop - (room << 3)
    end
    for piece = block + 8, stop - 8, 8 do
      copy_bytes(out, u32(piece), u32(piece + 4))
      out = out + u32(piece + 4)
    end
    block = next
  end
  return result | length << 32
end

-- string_gsub_finish(state): the results of string.gsub.
function string_gsub_finish(L, base, n)
  local state = u64(base + 8)
  local start = u64(state + MATCH_SUBJECT)
  local stop = u64(state + MATCH_STOP)
  local result = start | stop - start << 32
  if u64(state + GSUB_CHANGED) ~= 0 then
    local copied = u64(state + GSUB_COPIED)
    if gsub_add_piece(L, state, copied, stop - copied) == 0 then
      return FAIL
    end
    result = join_pieces(L, state)
    if result == 0 then
      return FAIL
    end
  end
  set64(base - 16, TAG_STRING)
  set64(base - 8, result)
  set64(base, TAG_INT)
  set64(base + 8, u64(state + GSUB_COUNT))
  return 2
end
