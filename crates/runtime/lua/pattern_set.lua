-- Sets of characters of patterns: "[...]", "%a" (manual § 6.5.1; match_class and matchbracketclass in lstrlib.c).
-- A set is 256 bits in four words of 64 at an address that is a multiple of 8; the character c is bit c % 64 of word c / 64.

local CARET <const> = 94
local DASH <const> = 45
local ESCAPE <const> = 37
local SET_END <const> = 93

-- The characters 0 to 63 and 64 to 127 of the class that a lower-case letter names, in the C locale; 0, 0 where the letter
-- names none. Characters from 128 on are in no class.
local function class_words(letter)
  if letter == 97 then -- a: letters
    return 0, 0x07fffffe07fffffe
  elseif letter == 100 then -- d: digits
    return 0x03ff000000000000, 0
  elseif letter == 119 then -- w: letters and digits
    return 0x03ff000000000000, 0x07fffffe07fffffe
  elseif letter == 115 then -- s: white space
    return 0x0000000100003e00, 0
  elseif letter == 120 then -- x: hexadecimal digits
    return 0x03ff000000000000, 0x0000007e0000007e
  elseif letter == 108 then -- l: lower-case letters
    return 0, 0x07fffffe00000000
  elseif letter == 117 then -- u: upper-case letters
    return 0, 0x0000000007fffffe
  elseif letter == 112 then -- p: punctuation
    return 0xfc00fffe00000000, 0x78000001f8000001
  elseif letter == 99 then -- c: control characters
    return 0x00000000ffffffff, 0x8000000000000000
  elseif letter == 103 then -- g: printable characters except the space
    return 0xfffffffe00000000, 0x7fffffffffffffff
  elseif letter == 122 then -- z: the character 0 (no longer in the manual)
    return 1, 0
  end
  return 0, 0
end

-- Whether c, a character, is in the set.
function inline.in_set(set, c)
  return shr(u64(set + (c >> 3 & 24)), c) & 1 ~= 0
end

local function add_char(set, c)
  local word = set + (c >> 3 & 24)
  set64(word, u64(word) | shl(1, c))
end

-- Adds the characters from first to last; none if first > last.
local function add_range(set, first, last)
  if first <= last then
    for low = 0, 192, 64 do
      if first < low + 64 and last >= low then
        local bits = -1
        if first > low then
          bits = shl(bits, first - low)
        end
        if last < low + 63 then
          bits = bits & shr(-1, low + 63 - last)
        end
        local word = set + (low >> 3)
        set64(word, u64(word) | bits)
      end
    end
  end
end

-- Adds what "%" and c stand for: a class, the complement of one (upper-case letter), or c itself. 1 if it is a class.
function pattern_class(set, c)
  local low, high = class_words(c | 32)
  if low | high == 0 then
    add_char(set, c)
    return 0
  end
  if c & 32 == 0 then
    low = ~low
    high = ~high
    set64(set + 16, -1)
    set64(set + 24, -1)
  end
  set64(set, u64(set) | low)
  set64(set + 8, u64(set + 8) | high)
  return 1
end

function inline.clear_set(set)
  set64(set, 0)
  set64(set + 8, 0)
  set64(set + 16, 0)
  set64(set + 24, 0)
end

-- Address of the "]" that ends the set whose "[" is at p, or 0 if the pattern, which ends at stop, has none (classend).
local function set_end(p, stop)
  local at = p + 1
  if at < stop and u8(at) == CARET then
    at = at + 1
  end
  -- The first character is never the end: "[]]" is the set of "]".
  repeat
    if at >= stop then
      return 0
    end
    local c = u8(at)
    at = at + 1
    if c == ESCAPE and at < stop then
      at = at + 1
    end
  until at < stop and u8(at) == SET_END
  return at
end

-- Stores the set whose "[" is at p at `set`. The address after its "]", or 0 if the pattern, which ends at stop, ends
-- before.
function pattern_set(p, stop, set)
  local last = set_end(p, stop)
  if last == 0 then
    return 0
  end
  inline.clear_set(set)
  local at = p + 1
  local complement = 0
  if u8(at) == CARET then
    complement = 1
    at = at + 1
  end
  while at < last do
    local c = u8(at)
    if c == ESCAPE then
      at = at + 1
      pattern_class(set, u8(at))
    elseif at + 2 < last and u8(at + 1) == DASH then
      at = at + 2
      add_range(set, c, u8(at))
    else
      add_char(set, c)
    end
    at = at + 1
  end
  if complement ~= 0 then
    for word = 0, 24, 8 do
      set64(set + word, ~u64(set + word))
    end
  end
  return last + 1
end
