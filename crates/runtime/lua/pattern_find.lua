-- string.find, string.match and string.gmatch (lstrlib.c).

-- The first position, from 0, that `init` means in a subject of this length (posrelatI). Can be greater than the length.
local function first_position(init, length)
  if init > 0 then
    return init - 1
  elseif init == 0 or init < -length then
    return 0
  end
  return length + init
end

-- Whether argument 4 of string.find, or the pattern itself, asks for a search without patterns.
local function is_plain(L, base, n, pattern)
  if n >= 4 and u64(base + 48) > TAG_FALSE then
    return true
  end
  local slot = pattern_slot(L, pattern)
  if slot ~= 0 and u64(slot) == pattern then
    local program = u64(slot + 8)
    return program == PATTERN_PLAIN or u8(program + ITEM_CHAR) ~= 0
  elseif pattern_is_plain(pattern) == 0 then
    return false
  elseif slot ~= 0 then
    set64(slot, pattern)
    set64(slot + 8, PATTERN_PLAIN)
  end
  return true
end

local function set_nil(at)
  set64(at, TAG_NIL)
  set64(at + 8, 0)
end

local function set_int(at, value)
  set64(at, TAG_INT)
  set64(at + 8, value)
end

-- The arguments `s, pattern [, init]`: two payloads of strings, how far behind the subject's start the search begins, and 1; or 0 in the
-- end after an error.
function inline.search_args(L, base, n)
  local subject, subject_ok = inline.subject_arg(L, base, n)
  if subject_ok == 0 then
    return 0, 0, 0, 0
  end
  local pattern, pattern_ok = inline.str_arg(L, base, n, 2)
  if pattern_ok == 0 then
    return 0, 0, 0, 0
  end
  local init, init_ok = inline.opt_int(L, base, n, 3, 1)
  if init_ok == 0 then
    return 0, 0, 0, 0
  end
  return subject, pattern, first_position(init, subject >> 32), 1
end

-- string.find without patterns, from the address s on: stores the results, and is their number or FAIL.
local function find_plain(L, base, subject, s, text)
  local start = subject & 0xffffffff
  local length = text >> 32
  local stop = start + (subject >> 32)
  local found = find_text(L, s, stop, text & 0xffffffff, length)
  if found < 0 then
    return FAIL
  elseif found == 0 then
    inline.charge(L, stop - s)
    set_nil(base - 16)
    return 1
  end
  inline.charge(L, found - s)
  set_int(base - 16, found - start + 1)
  set_int(base, found - start + length)
  return 2
end

-- Searches `subject` from the address s on: the start of the match (see pattern_search). M is in the scratch buffer.
local function first_match(L, subject, pattern, s)
  local M = u64(L + L_SCRATCH)
  if inline.prepare_anchored(L, M, subject, pattern, 0) == 0 then
    return FAIL
  end
  return pattern_search(L, M, s)
end

-- string.find(s, pattern [, init [, plain]])
function string_find(L, base, n)
  local subject, pattern, from, ok = inline.search_args(L, base, n)
  if ok == 0 then
    return FAIL
  end
  if from > subject >> 32 then
    set_nil(base - 16)
    return 1
  end
  local s = (subject & 0xffffffff) + from
  if is_plain(L, base, n, pattern) then
    return find_plain(L, base, subject, s, pattern)
  end
  local found = first_match(L, subject, pattern, s)
  local M = u64(L + L_SCRATCH)
  if found < 0 then
    return inline.match_failed(L, M)
  elseif found == 0 then
    set_nil(base - 16)
    return 1
  end
  local start = subject & 0xffffffff
  set_int(base - 16, found - start + 1)
  set_int(base, u64(M + MATCH_END) - start)
  local captures = pattern_captures(L, M, base + 16, 0)
  if captures < 0 then
    return inline.match_failed(L, M)
  end
  return captures + 2
end

-- The captures, or the match, as results. Their number, or FAIL.
local function captures_result(L, M, base)
  local count = pattern_captures(L, M, base - 16, 1)
  if count < 0 then
    return inline.match_failed(L, M)
  end
  return count
end

-- string.match(s, pattern [, init])
function string_match(L, base, n)
  local subject, pattern, from, ok = inline.search_args(L, base, n)
  if ok == 0 then
    return FAIL
  end
  local found = 0
  if from <= subject >> 32 then
    found = first_match(L, subject, pattern, (subject & 0xffffffff) + from)
  end
  local M = u64(L + L_SCRATCH)
  if found < 0 then
    return inline.match_failed(L, M)
  elseif found == 0 then
    set_nil(base - 16)
    return 1
  end
  return captures_result(L, M, base)
end

-- string.gmatch(s, pattern [, init]): an integer instead of the function: what string_gmatch_next takes to go on.
function string_gmatch_start(L, base, n)
  local subject, pattern, from, ok = inline.search_args(L, base, n)
  if ok == 0 then
    return FAIL
  end
  if from > subject >> 32 then
    from = (subject >> 32) + 1
  end
  local M = alloc(L, MATCH_SIZE)
  if M == 0 or pattern_prepare(L, M, subject, pattern, 1) == 0 then
    return FAIL
  end
  set64(M + MATCH_POSITION, (subject & 0xffffffff) + from)
  set_int(base - 16, M)
  return 1
end

-- What the function that string.gmatch returns does: the captures of the next match, or nothing. Takes what
-- string_gmatch_start returned.
function string_gmatch_next(L, base, n)
  local M = u64(base + 8)
  local start = inline.next_match(L, M)
  if start < 0 then
    return inline.match_failed(L, M)
  elseif start == 0 then
    return 0
  end
  return captures_result(L, M, base)
end
