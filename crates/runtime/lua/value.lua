-- Values: equality, order and hashes. `crate::hash` in Rust computes the same hashes.

-- Whether two texts (payload words) are the same bytes: 1 or 0.
function text_equal(x, y)
  if x == y then return 1 end
  local length = x >> 32
  if length ~= y >> 32 then return 0 end
  local a = x & 0xffffffff
  local b = y & 0xffffffff
  while length >= 8 do
    if u64(a) ~= u64(b) then return 0 end
    a = a + 8
    b = b + 8
    length = length - 8
  end
  -- Of the last word only the bytes within the text count.
  if length ~= 0 and (u64(a) ~ u64(b)) & shl(1, length << 3) - 1 ~= 0 then return 0 end
  return 1
end

-- The order of two texts by unsigned bytes (l_strcmp in lvm.c, C locale): -1, 0 or 1.
function text_compare(x, y)
  local a = x & 0xffffffff
  local b = y & 0xffffffff
  local left = x >> 32
  local right = y >> 32
  local common = left
  if right < common then common = right end
  while common > 0 do
    -- Big-endian words order as their bytes do.
    local first = swap64(u64(a))
    local second = swap64(u64(b))
    if common < 8 then
      local unused = 64 - (common << 3)
      first = shr(first, unused)
      second = shr(second, unused)
    end
    if first ~= second then
      if ult(first, second) then return -1 end
      return 1
    end
    a = a + 8
    b = b + 8
    common = common - 8
  end
  if left < right then return -1 end
  if left > right then return 1 end
  return 0
end

-- Tables take a hash's lowest bits, and a product carries only upwards: so the high half is folded in before and after.
function inline.mix(hash, word)
  local folded = hash ~ word
  local mixed = (folded ~ folded >> 32) * 0x9e3779b97f4a7c15
  return mixed ~ mixed >> 32
end

-- The hash of a text.
function text_hash(text)
  local at = text & 0xffffffff
  local length = text >> 32
  local hash = length * 0x9e3779b97f4a7c15
  while length >= 8 do
    hash = inline.mix(hash, u64(at))
    at = at + 8
    length = length - 8
  end
  if length ~= 0 then hash = inline.mix(hash, u64(at) & shl(1, length << 3) - 1) end
  return hash
end

-- The hash of a value that is no text; floats with integral value must have become integers.
function inline.word_hash(tag, payload)
  return inline.mix(tag, payload)
end

-- The integral part of a float that is within the range of integers, by its bits.
function float_to_integer(bits)
  if bits << 1 == 0 then return 0 end
  local exponent = (bits >> 52 & 0x7ff) - 1075
  local mantissa = bits & 0xfffffffffffff | 0x10000000000000
  local whole = 0
  if exponent >= 0 then
    whole = shl(mantissa, exponent)
  elseif exponent > -53 then
    whole = shr(mantissa, 0 - exponent)
  end
  if bits < 0 then whole = 0 - whole end
  return whole
end

-- Whether a float has integral value and is within the range of integers (luaV_flttointns): 1 or 0.
function float_is_integer(bits)
  if bits << 1 == 0 then return 1 end
  local exponent = (bits >> 52 & 0x7ff) - 1075
  local mantissa = bits & 0xfffffffffffff | 0x10000000000000
  if exponent < -52 then return 0 end
  if exponent >= 0 then
    if exponent < 11 or bits == 0xc3e0000000000000 then return 1 end
    return 0
  end
  if mantissa & shl(1, 0 - exponent) - 1 == 0 then return 1 end
  return 0
end

-- Equality without metamethods (Lua manual § 3.4.4): 1 or 0.
function value_equal(a, b)
  local left = u64(a)
  local right = u64(b)
  local x = u64(a + 8)
  local y = u64(b + 8)
  if left == right then
    if left == TAG_STRING then return text_equal(x, y) end
    if left == TAG_FLOAT then
      -- Zero equals minus zero; NaN nothing.
      if (x | y) << 1 == 0 then return 1 end
      if x == y and not ult(0xffe0000000000000, x << 1) then return 1 end
      return 0
    end
    if x == y then return 1 end
    return 0
  end
  if left == TAG_FLOAT and right == TAG_INT then return mixed_equal(y, x) end
  if left == TAG_INT and right == TAG_FLOAT then return mixed_equal(x, y) end
  return 0
end

function mixed_equal(integer, bits)
  if order_integer_float(integer, bits) == 0 then return 1 end
  return 0
end
