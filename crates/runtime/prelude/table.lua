-- The table library (Lua manual § 6.6), with metamethods where tables have them. Checks and messages are those of ltablib.c.

function table.create(...)
  local size = prim.check_integer(1, ...)
  local rest = prim.optional_integer(2, 0, select(2, ...))
  if not math.ult(size, 0x80000000) then
    prim.arg_error(1, "out of range")
  end
  if not math.ult(rest, 0x80000000) then
    prim.arg_error(2, "out of range")
  end
  return {}
end

function table.insert(...)
  local t = ...
  if type(t) ~= "table" then
    prim.type_error(1, "table", ...)
  end
  local e = #t
  if math.type(e) ~= "integer" then
    prim.raise("object length is not an integer")
  end
  e = e + 1
  local count = select("#", ...)
  local position, value = e, nil
  if count == 2 then
    local _, last = ...
    value = last
  elseif count == 3 then
    local _, _, last = ...
    value = last
    position = prim.check_integer(2, select(2, ...))
    if not math.ult(position - 1, e) then
      prim.arg_error(2, "position out of bounds")
    end
  else
    prim.raise("wrong number of arguments to 'insert'")
  end
  if not prim.raw_metatable(t) and prim.table_insert(t, position, value) then
    return
  end
  for i = e, position + 1, -1 do
    t[i] = t[i - 1]
  end
  t[position] = value
end

function table.remove(...)
  local t = ...
  if type(t) ~= "table" then
    prim.type_error(1, "table", ...)
  end
  local size = #t
  if math.type(size) ~= "integer" then
    prim.raise("object length is not an integer")
  end
  local position = prim.optional_integer(2, size, select(2, ...))
  if position ~= size and math.ult(size, position - 1) then
    prim.arg_error(2, "position out of bounds")
  end
  local removed = t[position]
  while position < size do
    t[position] = t[position + 1]
    position = position + 1
  end
  t[position] = nil
  return removed
end

function table.concat(...)
  local t = ...
  if type(t) ~= "table" and type(t) ~= "string" then
    prim.type_error(1, "table", ...)
  end
  local last = #t
  if math.type(last) ~= "integer" then
    prim.raise("object length is not an integer")
  end
  local separator = prim.optional_text(2, "", select(2, ...))
  local first = prim.optional_integer(3, 1, select(3, ...))
  last = prim.optional_integer(4, last, select(4, ...))
  if type(t) == "table" and not prim.raw_metatable(t) then
    local text = prim.table_concat(t, separator, first, last)
    if text then
      return text
    end
  end
  local text = ""
  for i = first, last do
    local value = t[i]
    if type(value) ~= "string" and math.type(value) ~= "integer" then
      prim.raise("invalid value (" .. type(value) .. ") at index " .. i .. " in table for 'concat'")
    end
    text = text .. value
    if i < last then
      text = text .. separator
    end
  end
  return text
end

function table.pack(...)
  return prim.table_pack(...)
end

function table.unpack(...)
  local t = ...
  if type(t) ~= "table" and type(t) ~= "string" then
    prim.type_error(1, "table", ...)
  end
  local length = #t
  if math.type(length) ~= "integer" then
    prim.raise("object length is not an integer")
  end
  local first = prim.optional_integer(2, 1, select(2, ...))
  local last = prim.optional_integer(3, length, select(3, ...))
  if type(t) == "table" and not prim.raw_metatable(t) then
    return prim.table_unpack(t, first, last)
  end
  if first > last then
    return
  end
  if not math.ult(last - first, 1000000) then
    prim.raise("too many results to unpack")
  end
  local values = {}
  for i = first, last do
    values[i - first + 1] = t[i]
  end
  return prim.table_unpack(values, 1, last - first + 1)
end

function table.move(...)
  local a, _, _, _, b = ...
  local f = prim.check_integer(2, select(2, ...))
  local e = prim.check_integer(3, select(3, ...))
  local t = prim.check_integer(4, select(4, ...))
  local number = 5
  if b == nil then
    b = a
    number = 1
  end
  if type(a) ~= "table" and type(a) ~= "string" then
    prim.type_error(1, "table", a)
  end
  if type(b) ~= "table" then
    prim.type_error(number, "table", b)
  end
  if e >= f then
    if not (f > 0 or e < 0x7fffffffffffffff + f) then
      prim.arg_error(3, "too many elements to move")
    end
    local n = e - f + 1
    if t > 0x7fffffffffffffff - n + 1 then
      prim.arg_error(4, "destination wrap around")
    end
    if t > e or t <= f or (number == 5 and a ~= b) then
      for i = 0, n - 1 do
        b[t + i] = a[f + i]
      end
    else
      for i = n - 1, 0, -1 do
        b[t + i] = a[f + i]
      end
    end
  end
  return b
end

-- Quicksort with the choices of ltablib.c, so that the order function is asked the same questions.
function table.sort(...)
  local t, less = ...
  if type(t) ~= "table" then
    prim.type_error(1, "table", ...)
  end
  local n = #t
  if math.type(n) ~= "integer" then
    prim.raise("object length is not an integer")
  end
  if n < 2 then
    return
  end
  if n >= 0x7fffffff then
    prim.arg_error(1, "array too big")
  end
  if less == nil then
    if not prim.raw_metatable(t) and prim.table_sort(t, n) then
      return
    end
    less = function(a, b)
      return a < b
    end
  elseif type(less) ~= "function" then
    prim.type_error(2, "function", less)
  end
  local lows, highs, depth = { 1 }, { n }, 1
  while depth > 0 do
    local lo, up = lows[depth], highs[depth]
    depth = depth - 1
    while lo < up do
      if less(t[up], t[lo]) then
        t[lo], t[up] = t[up], t[lo]
      end
      if up - lo == 1 then
        break
      end
      local p = (lo + up) // 2
      if less(t[p], t[lo]) then
        t[p], t[lo] = t[lo], t[p]
      elseif less(t[up], t[p]) then
        t[p], t[up] = t[up], t[p]
      end
      if up - lo == 2 then
        break
      end
      local pivot = t[p]
      t[p], t[up - 1] = t[up - 1], t[p]
      local i, j = lo, up - 1
      while true do
        i = i + 1
        while less(t[i], pivot) do
          if i == up - 1 then
            prim.raise("invalid order function for sorting")
          end
          i = i + 1
        end
        j = j - 1
        while less(pivot, t[j]) do
          if j < i then
            prim.raise("invalid order function for sorting")
          end
          j = j - 1
        end
        if j < i then
          break
        end
        t[i], t[j] = t[j], t[i]
      end
      t[up - 1], t[i] = t[i], t[up - 1]
      -- The smaller part is sorted first, the larger one after it.
      depth = depth + 1
      if i - lo < up - i then
        lows[depth], highs[depth] = i + 1, up
        up = i - 1
      else
        lows[depth], highs[depth] = lo, i - 1
        lo = i + 1
      end
    end
  end
end
