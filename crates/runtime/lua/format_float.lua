-- Conversions of floats in string.format: what format.lua is for all others.

local MINUS <const> = 45
local ZERO <const> = 48

-- Appends a float as a literal (quotefloat in lstrlib.c). The address behind it.
function put_float_literal(scratch, at, bits)
  local magnitude = bits & ~(1 << 63)
  if inline.float_is_nan(bits) then
    return inline.append(at, "(0/0)")
  end
  if bits < 0 then
    set8(at, MINUS)
    at = at + 1
  end
  if inline.float_is_infinite(bits) then
    return inline.append(at, "1e9999")
  end
  at = inline.append(at, "0x")
  return inline.append(at, put_hexadecimal(scratch + FORMAT_BODY, magnitude, 97, -1, 0))
end

-- The text of a float's magnitude without padding, at BODY.
local function float_body(L, scratch, letter, bits)
  local precision = u64(scratch + FORMAT_PRECISION)
  local point = 0
  if u64(scratch + FORMAT_FLAGS) & FORMAT_FLAG_FORM ~= 0 then
    point = 1
  end
  if letter | 32 == 97 then
    return put_hexadecimal(scratch + FORMAT_BODY, bits, letter, precision, point)
  end
  if precision < 0 then
    precision = 6
  end
  return put_float(L, scratch + FORMAT_BODY, bits, letter | point << 8, precision)
end

-- The same of what is infinite or NaN.
local function special_body(scratch, letter, bits)
  local text = inline.special_text(bits)
  local word = u32(text & 0xffffffff)
  if letter & 32 == 0 then
    word = word & 0xdfdfdfdf
  end
  set32(scratch + FORMAT_BODY, word)
  return scratch + FORMAT_BODY | 3 << 32
end

-- Appends argument i with the conversion a, A, e, E, f, g or G. The address behind it, or FAIL.
function format_float(L, base, n, i, at)
  local scratch = u64(L + L_SCRATCH)
  local letter = u64(scratch + FORMAT_LETTER)
  local flags = FORMAT_FLAG_LEFT | FORMAT_FLAG_PLUS | FORMAT_FLAG_FORM | FORMAT_FLAG_ZERO | FORMAT_FLAG_SPACE
  local good = inline.format_is_good(scratch, flags, 1)
  -- For the conversion a, the form is checked before the argument.
  if letter | 32 == 97 and good == 0 then
    return inline.format_raise_bad(L, scratch)
  end
  local bits, ok = inline.float_arg(L, base, n, i)
  if ok == 0 then
    return FAIL
  end
  if good == 0 then
    return inline.format_raise_bad(L, scratch)
  end
  local prefix = inline.format_sign_prefix(u64(scratch + FORMAT_FLAGS), bits)
  local magnitude = bits & ~(1 << 63)
  if magnitude >= 0x7ff0000000000000 then
    -- No zeros stand before these.
    return format_put(L, at, prefix, 0, special_body(scratch, letter, magnitude))
  end
  local body = float_body(L, scratch, letter, magnitude)
  if letter | 32 == 97 then
    local shift = prefix >> 24 << 3
    prefix = prefix & 0xff | shl(ZERO | letter + 23 << 8, shift) | (prefix >> 24) + 2 << 24
  end
  return format_put(L, at, prefix, -1, body)
end
