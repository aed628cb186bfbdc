-- Addresses as keys and values of shared tables: the numbers that texts stand for.

-- The number below 256 whose digits, without leading zeros, stand at `at`, and where they end; FAIL if there is none.
local function small_number(at, stop)
  local number = 0
  local count = 0
  while at < stop and count < 4 and ult(u8(at) - 48, 10) do
    if count ~= 0 and number == 0 then return FAIL, at end
    number = number * 10 + u8(at) - 48
    at = at + 1
    count = count + 1
  end
  if count == 0 or number > 255 then return FAIL, at end
  return number, at
end

-- The address in host order that the text is, exactly as it is written; FAIL if it is none.
function parse_ipv4(text)
  local at = text & 0xffffffff
  local stop = at + (text >> 32)
  local address = 0
  local parts = 0
  while parts < 4 do
    if parts ~= 0 then
      if at >= stop or u8(at) ~= 46 then return FAIL end
      at = at + 1
    end
    local number, after = small_number(at, stop)
    if number < 0 then return FAIL end
    address = address << 8 | number
    at = after
    parts = parts + 1
  end
  if at ~= stop then return FAIL end
  return address
end

-- The value of a lower-case hexadecimal digit; FAIL if it is none.
local function hex_digit(byte)
  if ult(byte - 48, 10) then return byte - 48 end
  if ult(byte - 97, 6) then return byte - 87 end
  return FAIL
end

-- The 48 bits of six pairs of lower-case hexadecimal digits with colons; FAIL for another text.
function parse_mac(text)
  if text >> 32 ~= 17 then return FAIL end
  local at = text & 0xffffffff
  local address = 0
  local place = 0
  while place < 17 do
    local byte = u8(at + place)
    if place == 2 or place == 5 or place == 8 or place == 11 or place == 14 then
      if byte ~= 58 then return FAIL end
    else
      local digit = hex_digit(byte)
      if digit < 0 then return FAIL end
      address = address << 4 | digit
    end
    place = place + 1
  end
  return address
end

-- The half of an IPv6 address whose four groups are those from `first` on, with the groups behind `gap` at the end.
local function half(groups, count, gap, first)
  local word = 0
  local i = first
  while i < first + 4 do
    local group = 0
    if i < gap then
      group = u64(groups + (i << 3))
    elseif i >= gap + 8 - count then
      group = u64(groups + (i - 8 + count << 3))
    end
    word = word << 16 | group
    i = i + 1
  end
  return word
end

-- The value of a hexadecimal digit; FAIL if it is none.
local function any_hex_digit(byte)
  if ult(byte - 65, 6) then return byte - 55 end
  return hex_digit(byte)
end

-- Puts both halves, in host order, of the IPv6 address that a text may be to L_RESULT: 1; 0 if it is none. Takes every text of
-- RFC 4291 § 2.2.
function parse_ipv6(L, text)
  local at = text & 0xffffffff
  local stop = at + (text >> 32)
  local groups = u64(L + L_SCRATCH)
  local count = 0
  local gap = FAIL
  while at < stop do
    if u8(at) == 58 then
      if at + 1 < stop and u8(at + 1) == 58 then
        if gap >= 0 then return 0 end
        gap = count
        at = at + 1
      elseif count == 0 or at + 1 >= stop then
        return 0
      end
      at = at + 1
    end
    if at < stop then
      if count > 7 then return 0 end
      local tail = FAIL
      if count < 7 then tail = parse_ipv4(at | stop - at << 32) end
      if tail >= 0 then
        set64(groups + (count << 3), tail >> 16)
        set64(groups + (count + 1 << 3), tail & 0xffff)
        count = count + 2
        at = stop
      else
        local number = 0
        local digits = 0
        while at < stop and digits < 5 and any_hex_digit(u8(at)) >= 0 do
          number = number << 4 | any_hex_digit(u8(at))
          at = at + 1
          digits = digits + 1
        end
        if digits == 0 or digits > 4 then return 0 end
        if at < stop and u8(at) ~= 58 then return 0 end
        set64(groups + (count << 3), number)
        count = count + 1
      end
    end
  end
  if gap < 0 then
    if count ~= 8 then return 0 end
    gap = 8
  elseif count > 7 then
    -- `::` stands for one group at least.
    return 0
  end
  set64(L + L_RESULT, half(groups, count, gap, 0))
  set64(L + L_RESULT + 8, half(groups, count, gap, 4))
  return 1
end

-- Where the `/` of a prefix's text is; where the text ends without one.
local function slash_of(text)
  local at = text & 0xffffffff
  local stop = at + (text >> 32)
  while at < stop and u8(at) ~= 47 do
    at = at + 1
  end
  return at
end

-- The prefix length behind a `/` at `at`, at most `most`, which is also what there is without one; FAIL for another text.
function prefix_length(at, stop, most)
  if at == stop then return most end
  at = at + 1
  if at < stop and u8(at) == 43 then at = at + 1 end
  if at == stop then return FAIL end
  local length = 0
  while at < stop do
    local digit = u8(at) - 48
    if not ult(digit, 10) then return FAIL end
    length = length * 10 + digit
    if length > most then return FAIL end
    at = at + 1
  end
  return length
end

-- Puts the address, in host order and without the bits behind the prefix, of `10.0.0.0/8` or of an address alone to L_RESULT, and
-- gives the prefix's length; FAIL for another text.
function parse_prefix4(L, text)
  local start = text & 0xffffffff
  local slash = slash_of(text)
  local address = parse_ipv4(start | slash - start << 32)
  if address < 0 then return FAIL end
  local length = prefix_length(slash, start + (text >> 32), 32)
  if length < 0 then return FAIL end
  set64(L + L_RESULT, address & shl(0xffffffff, 32 - length))
  return length
end

-- The same of IPv6, with both halves of the address.
function parse_prefix6(L, text)
  local start = text & 0xffffffff
  local slash = slash_of(text)
  if parse_ipv6(L, start | slash - start << 32) == 0 then return FAIL end
  local length = prefix_length(slash, start + (text >> 32), 128)
  if length < 0 then return FAIL end
  local high = u64(L + L_RESULT)
  local low = u64(L + L_RESULT + 8)
  if length <= 64 then
    low = 0
    if length == 0 then high = 0 elseif length < 64 then high = high & shl(-1, 64 - length) end
  elseif length < 128 then
    low = low & shl(-1, 128 - length)
  end
  set64(L + L_RESULT, high)
  set64(L + L_RESULT + 8, low)
  return length
end
