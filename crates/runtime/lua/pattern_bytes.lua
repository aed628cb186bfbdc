-- Comparing and finding bytes, eight a turn. What is read beyond an end does not count.

-- Whether n bytes are the same.
function inline.same_bytes(a, b, n)
  while n >= 8 and u64(a) == u64(b) do
    a = a + 8
    b = b + 8
    n = n - 8
  end
  return n <= 0 or n < 8 and shl(u64(a) ~ u64(b), 64 - (n << 3)) == 0
end

-- Address of the first character c from s on, or 0 if there is none before stop. Eight characters a turn.
function inline.find_char(s, stop, c)
  local all = c * 0x0101010101010101
  while s < stop do
    local word = u64(s) ~ all
    -- The lowest bit is in the first byte that is 0 (further ones can be false).
    local found = word - 0x0101010101010101 & ~word & 0x8080808080808080
    if found ~= 0 then
      local below = ((found & -found) >> 7) - 1
      s = s + ((below & 0x0101010101010101) * 0x0101010101010101 >> 56)
      -- What is after the subject was searched as well.
      if s < stop then
        return s
      end
      return 0
    end
    s = s + 8
  end
  return 0
end

-- Address of the first occurrence of n bytes at `text` from s on, or 0 if there is none that ends by stop. Looks for the
-- first two bytes, at eight places a turn.
function find_text(L, s, stop, text, n)
  if n == 0 then
    return s
  elseif n == 1 then
    return inline.find_char(s, stop, u8(text))
  end
  local first = u8(text) * 0x0101010101010101
  local second = u8(text + 1) * 0x0101010101010101
  local last = stop - n
  while s <= last do
    local word = u64(s) ~ first | u64(s + 1) ~ second
    local found = word - 0x0101010101010101 & ~word & 0x8080808080808080
    if found == 0 then
      s = s + 8
    else
      local below = ((found & -found) >> 7) - 1
      s = s + ((below & 0x0101010101010101) * 0x0101010101010101 >> 56)
      if s > last then
        return 0
      elseif inline.same_bytes(s, text, n) then
        return s
      elseif inline.spend(L) ~= 0 then
        return FAIL
      end
      s = s + 1
    end
  end
  return 0
end
