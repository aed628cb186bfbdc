-- Arguments of primitives: the checks of Lua's auxiliary library (luaL_checkinteger, luaL_checklstring in lauxlib.c).
-- The i-th of n arguments is the value at base + 16 * (i - 1).

-- text_to_integer(L, payload, out) is 1 after it stored the integer that the text is a numeral of (luaO_str2num, then
-- luaV_tointeger) at `out`; 0 if the text is no numeral; 2 if it is the numeral of a float without integer representation.
-- integer_to_text(L, value) is a string of decimal digits, or 0 after an error.

-- Turns argument i, which is no integer, into one, in place. 1, or 0 after an error.
function convert_int_arg(L, base, n, i)
  local at = base + 16 * (i - 1)
  if i > n then
    type_error(L, base, n, i, "number")
    return 0
  end
  local tag = u64(at)
  if tag == TAG_STRING then
    local outcome = text_to_integer(L, u64(at + 8), at + 8)
    if outcome == 1 then
      set64(at, TAG_INT)
      return 1
    end
    if outcome == 2 then
      arg_error(L, i, "number has no integer representation")
      return 0
    end
  elseif tag == TAG_FLOAT then
    local bits = u64(at + 8)
    if float_is_integer(bits) ~= 0 then
      set64(at, TAG_INT)
      set64(at + 8, float_to_integer(bits))
      return 1
    end
    arg_error(L, i, "number has no integer representation")
    return 0
  end
  type_error(L, base, n, i, "number")
  return 0
end

-- Turns argument i, which is no string, into one, in place. 1, or 0 after an error.
function convert_str_arg(L, base, n, i)
  local at = base + 16 * (i - 1)
  if i <= n then
    local tag = u64(at)
    if tag == TAG_INT or tag == TAG_FLOAT then
      local text = u64(at + 8)
      if tag == TAG_INT then
        text = integer_to_text(L, text)
      else
        text = inline.float_to_text(L, text)
      end
      if text == 0 then
        return 0
      end
      set64(at, TAG_STRING)
      set64(at + 8, text)
      return 1
    end
  end
  type_error(L, base, n, i, "string")
  return 0
end

-- Argument i as an integer, and 1; or 0, 0 after an error.
function inline.int_arg(L, base, n, i)
  local at = base + 16 * (i - 1)
  if i > n or u64(at) ~= TAG_INT then
    if convert_int_arg(L, base, n, i) ~= 1 then
      return 0, 0
    end
  end
  return u64(at + 8), 1
end

-- The same; `default` where the argument is absent or nil.
function inline.opt_int(L, base, n, i, default)
  local at = base + 16 * (i - 1)
  if i > n or u64(at) == TAG_NIL then
    return default, 1
  end
  if u64(at) ~= TAG_INT then
    if convert_int_arg(L, base, n, i) ~= 1 then
      return 0, 0
    end
  end
  return u64(at + 8), 1
end

-- Turns argument i, which is no float, into one, in place (luaL_checknumber). 1, or 0 after an error.
function convert_float_arg(L, base, n, i)
  local at = base + 16 * (i - 1)
  local kind = 0
  if i <= n then
    kind = inline.operand_number(L, at, at + 8)
  end
  if kind == 0 then
    type_error(L, base, n, i, "number")
    return 0
  end
  if kind == 1 then
    set64(at + 8, float_of_integer(u64(at + 8)))
  end
  set64(at, TAG_FLOAT)
  return 1
end

-- Argument i as a float, and 1; or 0, 0 after an error.
function inline.float_arg(L, base, n, i)
  local at = base + 16 * (i - 1)
  if i > n or u64(at) ~= TAG_FLOAT then
    if convert_float_arg(L, base, n, i) ~= 1 then
      return 0, 0
    end
  end
  return u64(at + 8), 1
end

-- Argument i as the payload of a string, and 1; or 0, 0 after an error.
function inline.str_arg(L, base, n, i)
  local at = base + 16 * (i - 1)
  if i > n or u64(at) ~= TAG_STRING then
    if convert_str_arg(L, base, n, i) ~= 1 then
      return 0, 0
    end
  end
  return u64(at + 8), 1
end
