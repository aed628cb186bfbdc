-- Arithmetic, comparison and loops where the operands are not all integers: coercions of strings, metamethods, errors.

-- Wrapping arithmetic of integers by the operation's number (OPERATION_…, in the order of ltm.h); the divisor is not 0.
function integer_operation(operation, x, y)
  if operation == OPERATION_ADD then return x + y end
  if operation == OPERATION_SUB then return x - y end
  if operation == OPERATION_MUL then return x * y end
  if operation == OPERATION_MOD then return floor_modulo(x, y) end
  if operation == OPERATION_IDIV then return floor_divide(x, y) end
  if operation == OPERATION_BAND then return x & y end
  if operation == OPERATION_BOR then return x | y end
  if operation == OPERATION_BXOR then return x ~ y end
  if operation == OPERATION_SHL then return shift_left(x, y) end
  if operation == OPERATION_SHR then return shift_left(x, 0 - y) end
  if operation == OPERATION_UNM then return 0 - x end
  return ~x
end

-- Lua's `//`: rounds towards minus infinity (luaV_idiv).
function floor_divide(x, y)
  local q = sdiv(x, y)
  if (x ~ y) < 0 and q * y ~= x then q = q - 1 end
  return q
end

-- Lua's `%`: the sign of the divisor (luaV_mod).
function floor_modulo(x, y)
  local r = smod(x, y)
  if r ~= 0 and (r ~ y) < 0 then r = r + y end
  return r
end

-- Lua's `<<`; negative counts shift right, 64 bits and more give 0 (luaV_shiftl).
function shift_left(x, y)
  if y <= -64 or y >= 64 then return 0 end
  if y >= 0 then return shl(x, y) end
  return shr(x, 0 - y)
end

-- The number that an operand of arithmetic stands for, at `out`: 1 for an integer, 2 for a float, 0 if it is no number.
function inline.operand_number(L, value, out)
  local tag = u64(value)
  if tag == TAG_STRING then return text_to_number(L, u64(value + 8), out) end
  set64(out, u64(value + 8))
  if tag == TAG_INT then return 1 end
  if tag == TAG_FLOAT then return 2 end
  return 0
end

function inline.is_bitwise(operation)
  return operation >= OPERATION_BAND and operation <= OPERATION_SHR or operation == OPERATION_BNOT
end

function inline.is_number(value)
  return u64(value) == TAG_INT or u64(value) == TAG_FLOAT
end

-- Whether the result of an operation of two integers is an integer.
function inline.keeps_integers(operation)
  return operation ~= OPERATION_DIV and operation ~= OPERATION_POW
end

-- A number as a float.
function inline.number_to_float(tag, payload)
  if tag == TAG_INT then payload = float_of_integer(payload) end
  return payload
end

-- Arithmetic of floats by the operation's number (luai_num… in llimits.h).
function float_operation(L, operation, x, y)
  if operation == OPERATION_ADD then return float_add(x, y) end
  if operation == OPERATION_SUB then return float_subtract(x, y) end
  if operation == OPERATION_MUL then return float_multiply(x, y) end
  if operation == OPERATION_DIV then return float_divide(x, y) end
  if operation == OPERATION_MOD then return float_modulo(x, y) end
  if operation == OPERATION_IDIV then return float_floor(float_divide(x, y)) end
  if operation == OPERATION_POW then
    -- A square is a product in C, too (luai_numpow).
    if y == 0x4000000000000000 then return float_multiply(x, x) end
    return float_power(L, x, y)
  end
  return x ~ (1 << 63)
end

-- dest := first operation second.
function arithmetic(L, operation, dest, first, second)
  local left = u64(first)
  local right = u64(second)
  if left == TAG_INT and right == TAG_INT and inline.keeps_integers(operation) then
    local y = u64(second + 8)
    if y == 0 then
      if operation == OPERATION_MOD then return raise_here(L, "attempt to perform 'n%0'") end
      if operation == OPERATION_IDIV then return raise_here(L, "attempt to divide by zero") end
    end
    set64(dest + 8, integer_operation(operation, u64(first + 8), y))
    set64(dest, TAG_INT)
    return 0
  end
  if inline.is_number(first) and inline.is_number(second) and not inline.is_bitwise(operation) then
    local x = inline.number_to_float(left, u64(first + 8))
    local y = inline.number_to_float(right, u64(second + 8))
    -- The compiler makes an addition of a difference with a constant integer (finishbinexpneg in lcode.c): -0.0 - 0 is 0.0.
    if operation == OPERATION_SUB and right == TAG_INT and y == 0 and second < u64(L + L_IMAGE_END) then
      operation = OPERATION_ADD
    end
    set64(dest + 8, float_operation(L, operation, x, y))
    set64(dest, TAG_FLOAT)
    return 0
  end
  set64(L + L_CALL_FUNC, first)
  set64(L + L_CALL_COUNT, second)
  set64(L + L_CALL_DEST, dest)
  set64(L + L_CALL_WANT, operation)
  return SLOW
end

-- The arithmetic that `arithmetic` has left over: strings, metamethods, errors.
function arithmetic_slow(L)
  local first = u64(L + L_CALL_FUNC)
  local second = u64(L + L_CALL_COUNT)
  local dest = u64(L + L_CALL_DEST)
  local operation = u64(L + L_CALL_WANT)
  if inline.is_bitwise(operation) and inline.is_number(first) and inline.is_number(second) then
    return bitwise_floats(L, operation, dest, first, second)
  end
  local name = u64(u64(L + L_EVENTS) + (operation << 3))
  local hash = text_hash(name)
  -- Strings have metamethods for arithmetic of their own (lstrlib.c), which come first if the first operand is a string.
  local handler = ADDR_NIL
  if u64(first) == TAG_TABLE then handler = metamethod(L, first, name, hash) end
  local strings = 0
  if u64(handler) == TAG_NIL then
    if not inline.is_bitwise(operation) and (u64(first) == TAG_STRING or u64(second) == TAG_STRING) then strings = 1 end
    if strings ~= 0 then
      local status = string_arithmetic(L, operation, dest, first, second)
      if status <= 0 then return status end
    end
    if u64(second) == TAG_TABLE then handler = metamethod(L, second, name, hash) end
  end
  if u64(handler) ~= TAG_NIL then return request_binary(L, handler, first, second, dest) end
  if strings ~= 0 and (u64(first) == TAG_STRING or u64(second) == TAG_STRING) then
    return string_arithmetic_error(L, operation, first, second)
  end
  return arithmetic_error(L, operation, first, second)
end

-- Bitwise operations on numbers that are not all integers: floats with integral values are (Lua manual § 3.4.3).
function bitwise_floats(L, operation, dest, first, second)
  local x = u64(first + 8)
  local y = u64(second + 8)
  if u64(first) == TAG_FLOAT then
    if float_is_integer(x) == 0 then return integer_error(L, operand_name(L, S_A)) end
    x = float_to_integer(x)
  end
  if u64(second) == TAG_FLOAT then
    if float_is_integer(y) == 0 then return integer_error(L, operand_name(L, S_B)) end
    y = float_to_integer(y)
  end
  set64(dest + 8, integer_operation(operation, x, y))
  set64(dest, TAG_INT)
  return 0
end

-- `number (local 'x') has no integer representation` (luaG_tointerror).
function integer_error(L, name)
  local text = "number"
  if name ~= 0 then text = text_join(L, text, name) end
  if text ~= 0 then text = text_join(L, text, " has no integer representation") end
  if text == 0 then return FAIL end
  return raise_here(L, text)
end

-- Arithmetic with a string operand: 0 done, FAIL, 1 if an operand is no numeral.
function string_arithmetic(L, operation, dest, first, second)
  local out = L + L_KEY
  local left = inline.operand_number(L, first, out)
  local right = inline.operand_number(L, second, out + 8)
  if left == 0 or right == 0 then return 1 end
  local x = u64(out)
  local y = u64(out + 8)
  if left == 1 and right == 1 and inline.keeps_integers(operation) then
    -- The metamethods of strings stand nowhere in the script.
    if y == 0 then
      if operation == OPERATION_MOD then return raise_plain(L, "attempt to perform 'n%0'") end
      if operation == OPERATION_IDIV then return raise_plain(L, "attempt to divide by zero") end
    end
    set64(dest + 8, integer_operation(operation, x, y))
    set64(dest, TAG_INT)
    return 0
  end
  if left == 1 then x = float_of_integer(x) end
  if right == 1 then y = float_of_integer(y) end
  set64(dest + 8, float_operation(L, operation, x, y))
  set64(dest, TAG_FLOAT)
  return 0
end

-- `attempt to add a 'string' with a 'number'` (lstrlib.c, trymt).
function string_arithmetic_error(L, operation, first, second)
  local name = u64(u64(L + L_EVENTS) + (operation << 3))
  local short = (name & 0xffffffff) + 2 | (name >> 32) - 2 << 32
  local text = text_join(L, "attempt to ", short)
  if text ~= 0 then text = text_join(L, text, " a '") end
  if text ~= 0 then text = text_join(L, text, value_type(first)) end
  if text ~= 0 then text = text_join(L, text, "' with a '") end
  if text ~= 0 then text = text_join(L, text, value_type(second)) end
  if text ~= 0 then text = text_join(L, text, "'") end
  if text == 0 then return FAIL end
  return raise(L, text)
end

function arithmetic_error(L, operation, first, second)
  -- The first operand is to blame unless it is a number (luaG_opinterror).
  local culprit = first
  local name = operand_name(L, S_A)
  if inline.is_number(first) then
    culprit = second
    name = operand_name(L, S_B)
  end
  if inline.is_bitwise(operation) then return operand_error(L, culprit, "perform bitwise operation on", name) end
  return operand_error(L, culprit, "perform arithmetic on", name)
end

-- The order of two numbers, exactly (LTnum and LEnum in lvm.c): -1, 0 or 1, or 2 or -2 for NaN.
function order_numbers(first, second)
  local left = u64(first)
  local right = u64(second)
  local x = u64(first + 8)
  local y = u64(second + 8)
  if left == TAG_INT then
    if right ~= TAG_INT then return order_integer_float(x, y) end
    if x < y then return -1 end
    if x > y then return 1 end
    return 0
  end
  if right == TAG_INT then return 0 - order_integer_float(y, x) end
  return float_compare(x, y)
end

-- first < second: 1 or 0, FAIL, or REQUEST with the answer in L_COMPARE.
function less_than(L, first, second)
  local left = u64(first)
  local right = u64(second)
  if left == TAG_INT and right == TAG_INT then
    if u64(first + 8) < u64(second + 8) then return 1 end
    return 0
  end
  if left == TAG_STRING and right == TAG_STRING then
    if text_compare(u64(first + 8), u64(second + 8)) < 0 then return 1 end
    return 0
  end
  if inline.is_number(first) and inline.is_number(second) then
    if order_numbers(first, second) == -1 then return 1 end
    return 0
  end
  return compare_slow(L, first, second, "__lt")
end

-- first <= second, as less_than.
function less_equal(L, first, second)
  local left = u64(first)
  local right = u64(second)
  if left == TAG_INT and right == TAG_INT then
    if u64(first + 8) <= u64(second + 8) then return 1 end
    return 0
  end
  if left == TAG_STRING and right == TAG_STRING then
    if text_compare(u64(first + 8), u64(second + 8)) <= 0 then return 1 end
    return 0
  end
  if inline.is_number(first) and inline.is_number(second) then
    local order = order_numbers(first, second)
    if order == -1 or order == 0 then return 1 end
    return 0
  end
  return compare_slow(L, first, second, "__le")
end

function compare_slow(L, first, second, event)
  local hash = text_hash(event)
  local handler = metamethod(L, first, event, hash)
  if u64(handler) == TAG_NIL then handler = metamethod(L, second, event, hash) end
  if u64(handler) ~= TAG_NIL then return request_binary(L, handler, first, second, L + L_COMPARE) end
  return order_error(L, first, second)
end

-- An integer against a float: -1, 0 or 1; 2 or -2 for NaN.
function order_integer_float(integer, bits)
  local exponent = (bits >> 52 & 0x7ff) - 1023
  local fraction = bits & 0xfffffffffffff
  if exponent == 1024 and fraction ~= 0 then return 2 end
  local negative = 0
  if bits < 0 then negative = 1 end
  if exponent >= 63 then
    if negative == 0 then return -1 end
    if exponent == 63 and fraction == 0 and integer == (1 << 63) then return 0 end
    return 1
  end
  -- The float's integral part, towards zero, and whether something is left.
  local whole = 0
  local rest = 0
  if exponent < 0 then
    if bits << 1 ~= 0 then rest = 1 end
  else
    local mantissa = fraction | 0x10000000000000
    if exponent >= 52 then
      whole = shl(mantissa, exponent - 52)
    else
      whole = shr(mantissa, 52 - exponent)
      if shl(whole, 52 - exponent) ~= mantissa then rest = 1 end
    end
  end
  if negative ~= 0 then
    whole = 0 - whole
    rest = 0 - rest
  end
  if integer < whole then return -1 end
  if integer > whole then return 1 end
  return 0 - rest
end

-- first == second with metamethods: 1 or 0, FAIL, or REQUEST with the answer in L_COMPARE.
function equal(L, first, second)
  if value_equal(first, second) ~= 0 then return 1 end
  if u64(first) ~= TAG_TABLE or u64(second) ~= TAG_TABLE then return 0 end
  local handler = metamethod(L, first, "__eq", text_hash("__eq"))
  if u64(handler) == TAG_NIL then handler = metamethod(L, second, "__eq", text_hash("__eq")) end
  if u64(handler) == TAG_NIL then return 0 end
  return request_binary(L, handler, first, second, L + L_COMPARE)
end

function inline.for_error(L, value, what)
  return inline.fault(L, FAULT_FOR, value, what, 0)
end

-- OP_FORPREP: 1 to skip the loop, 0 to enter it; the registers at `at` become counter, step and variable, or, where the first one has a float,
-- limit, step and variable of a loop over floats.
function for_prepare(L, at)
  if u64(at) ~= TAG_INT or u64(at + 32) ~= TAG_INT then return for_floats(L, at) end
  local init = u64(at + 8)
  local step = u64(at + 40)
  if step == 0 then return raise_here(L, "'for' step is zero") end
  local limit = u64(at + 24)
  if u64(at + 16) ~= TAG_INT then
    -- A limit may be a numeral (forlimit in lvm.c).
    local kind = inline.operand_number(L, at + 16, L + L_KEY)
    if kind == 0 then return inline.for_error(L, at + 16, "limit") end
    limit = u64(L + L_KEY)
    if kind == 2 then
      if for_float_limit(limit, step, L + L_KEY) ~= 0 then return 1 end
      limit = u64(L + L_KEY)
    end
  end
  local count = 0
  if step > 0 then
    if init > limit then return 1 end
    count = limit - init
    if step ~= 1 then count = udiv(count, step) end
  else
    if init < limit then return 1 end
    count = udiv(init - limit, 0 - (step + 1) + 1)
  end
  set64(at + 8, count)
  set64(at + 16, TAG_INT)
  set64(at + 24, step)
  set64(at + 40, init)
  return 0
end

-- A constant float as limit, clipped to the integers (forlimit in lvm.c): 1 if the loop does not run.
function for_float_limit(bits, step, out)
  local order_low = order_integer_float(1 << 63, bits)
  -- NaN counts as one that is below all integers.
  if order_low > 0 then
    if step > 0 then return 1 end
    set64(out, 1 << 63)
    return 0
  end
  if order_integer_float(0x7fffffffffffffff, bits) < 0 then
    if step < 0 then return 1 end
    set64(out, 0x7fffffffffffffff)
    return 0
  end
  local low = 1 << 63
  -- The largest integer that is not above the float, bit by bit.
  local bit = 63
  while bit >= 0 do
    local try = low + shl(1, bit)
    if order_integer_float(try, bits) <= 0 then low = try end
    bit = bit - 1
  end
  if step < 0 and order_integer_float(low, bits) < 0 then low = low + 1 end
  set64(out, low)
  return 0
end

-- Makes a float of the number, or of the numeral, in a register: 0 if it is none.
local function make_float(L, at)
  local kind = inline.operand_number(L, at, at + 8)
  if kind == 1 then set64(at + 8, float_of_integer(u64(at + 8))) end
  if kind ~= 0 then set64(at, TAG_FLOAT) end
  return kind
end

-- Where the variable of a loop over floats is: -1 before the limit, 0 there, 1 behind it, 2 if one of them is NaN.
local function loop_order(step, variable, limit)
  -- A step that is not above zero counts down, also if it is NaN.
  if float_compare(0, step) == -1 then return float_compare(variable, limit) end
  return float_compare(limit, variable)
end

-- A loop over floats: registers as for_prepare finds and leaves them.
function for_floats(L, at)
  if make_float(L, at + 16) == 0 then return inline.for_error(L, at + 16, "limit") end
  if make_float(L, at + 32) == 0 then return inline.for_error(L, at + 32, "step") end
  if make_float(L, at) == 0 then return inline.for_error(L, at, "initial value") end
  local variable = u64(at + 8)
  local limit = u64(at + 24)
  local step = u64(at + 40)
  if step << 1 == 0 then return raise_here(L, "'for' step is zero") end
  set64(at + 8, limit)
  set64(at + 24, step)
  set64(at + 40, variable)
  if loop_order(step, variable, limit) == 1 then return 1 end
  return 0
end

-- The turn of a loop over floats: 1 if it goes on (floatforloop in lvm.c).
function for_next_float(at)
  local step = u64(at + 24)
  local variable = float_add(u64(at + 40), step)
  local order = loop_order(step, variable, u64(at + 8))
  if order ~= -1 and order ~= 0 then return 0 end
  set64(at + 32, TAG_FLOAT)
  set64(at + 40, variable)
  return 1
end
