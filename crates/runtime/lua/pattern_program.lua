-- Where the programs of patterns are kept.
--
-- Patterns that are strings of load time never change, so their programs are kept from packet to packet, in PATTERNS_SIZE
-- bytes at L_PATTERNS (0 if there are none): how many bytes of them are in use, u64, 8 bytes unused, PATTERN_SLOTS slots of
-- the payload of a pattern and the address of its program (or PATTERN_PLAIN), then the programs. Nothing is ever removed
-- from there; the patterns that find no room are compiled each time, and so are those that a script makes at packet time.

local CARET <const> = 94
local SLOTS_AT <const> = 16
local SLOT_SIZE <const> = 16

-- What the program of a pattern of this payload takes at most. A character makes two items at most, and a set at most for
-- two.
local function program_size(pattern)
  return (pattern >> 32) * (2 * ITEM_SIZE) + 4 * ITEM_SIZE
end

-- The slot of a pattern (its key is the pattern's payload), or a free slot (its key is 0); 0 if there is none, or the
-- pattern is not of load time.
function pattern_slot(L, pattern)
  local store = u64(L + L_PATTERNS)
  if store == 0 or pattern >> 32 == 0 or (pattern & 0xffffffff) >= u64(L + L_IMAGE_END) then
    return 0
  end
  local index = pattern * 0x9e3779b97f4a7c15 >> 32
  for _ = 1, 4 do
    index = index & PATTERN_SLOTS - 1
    local slot = store + SLOTS_AT + index * SLOT_SIZE
    local key = u64(slot)
    if key == pattern or key == 0 then
      return slot
    end
    index = index + 1
  end
  return 0
end

-- Compiles a pattern into the room for those of load time and notes it in the slot. Its program, or 0 if there is no room.
local function keep(L, M, slot, pattern)
  local store = u64(L + L_PATTERNS)
  local used = u64(store)
  if used == 0 then
    used = SLOTS_AT + PATTERN_SLOTS * SLOT_SIZE
  end
  local size = program_size(pattern)
  if size > PATTERNS_SIZE - used or pattern_compile(M, pattern, store + used, store + used + size) == 0 then
    return 0
  end
  set64(store, used + size)
  set64(slot, pattern)
  set64(slot + 8, store + used)
  return store + used
end

-- The program of a pattern that is kept, or can be; else 0.
local function kept_program(L, M, pattern)
  local slot = pattern_slot(L, pattern)
  if slot == 0 then
    return 0
  elseif u64(slot) == pattern and u64(slot + 8) ~= PATTERN_PLAIN then
    return u64(slot + 8)
  end
  return keep(L, M, slot, pattern)
end

-- Sets up M, a new state for matches in `subject`, with the program of a pattern; lasting = 1 if it is for after the
-- primitive's return. A program that is not kept is in the scratch buffer or at the end of packet memory then, from
-- MATCH_LIMIT on. 1, or 0 after an error.
function pattern_prepare(L, M, subject, pattern, lasting)
  local start = subject & 0xffffffff
  set64(M + MATCH_SUBJECT, start)
  set64(M + MATCH_STOP, start + (subject >> 32))
  set64(M + MATCH_POSITION, start)
  set64(M + MATCH_LAST, 0)
  set64(M + MATCH_ERROR, 0)
  set64(M + MATCH_ANCHOR, 0)
  set64(M + MATCH_LIMIT, u64(L + L_HEAP_END) & -8)
  local program = kept_program(L, M, pattern)
  if program == 0 then
    local size = program_size(pattern)
    if lasting ~= 0 then
      program = alloc(L, size)
    elseif size <= SCRATCH_SIZE - MATCH_SIZE - MATCH_MAX_DEPTH * CHOICE_SIZE then
      program = u64(L + L_SCRATCH) + MATCH_SIZE + MATCH_MAX_DEPTH * CHOICE_SIZE
    else
      program = u64(M + MATCH_LIMIT) - size
      set64(M + MATCH_LIMIT, program)
      if program < u64(L + L_HEAP) then
        raise_plain(L, "not enough memory")
        program = 0
      end
    end
    if program == 0 or pattern_compile(M, pattern, program, program + size) == 0 then
      return 0
    end
  end
  set64(M + MATCH_PROGRAM, program)
  return 1
end

-- The same for functions in which "^" at the start of a pattern is its anchor.
function inline.prepare_anchored(L, M, subject, pattern, lasting)
  local anchor = 0
  if pattern >> 32 ~= 0 and u8(pattern & 0xffffffff) == CARET then
    anchor = 1
    -- One byte further, one byte shorter.
    pattern = pattern + 1 - (1 << 32)
  end
  local ok = pattern_prepare(L, M, subject, pattern, lasting)
  set64(M + MATCH_ANCHOR, anchor)
  return ok
end

-- Argument 1, the subject, as the payload of a string, and 1; or 0, 0 after an error. The subject's address is never 0,
-- which that of an empty string can be: positions in the subject are addresses, and 0 is none.
function inline.subject_arg(L, base, n)
  local subject, ok = inline.str_arg(L, base, n, 1)
  if ok ~= 0 and subject == 0 then
    subject = L
  end
  return subject, ok
end
