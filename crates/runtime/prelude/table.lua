-- The table library where metamethods or functions of the script are called (ltablib.c); the order of accesses is that of the C
-- functions.

-- prim.expect_table asks for what a table does: 1 reading, 2 writing, 4 length.

function table.insert(t, position, value)
  prim.expect_table(1, t, 7)
  local free = prim.expect_length(#t) + 1
  local count = prim.argument_count()
  if count == 2 then
    t[free] = position
    return
  end
  if count ~= 3 then
    prim.raise("wrong number of arguments to 'insert'")
  end
  position = prim.expect_integer(2, position)
  if not math.ult(position - 1, free) then
    prim.arg_error(2, "position out of bounds")
  end
  while free > position do
    t[free] = t[free - 1]
    free = free - 1
  end
  t[position] = value
end

function table.remove(t, position)
  prim.expect_table(1, t, 7)
  local size = prim.expect_length(#t)
  position = prim.expect_integer_or(2, position, size)
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

function table.move(t, first, last, to, target)
  first = prim.expect_integer(2, first)
  last = prim.expect_integer(3, last)
  to = prim.expect_integer(4, to)
  prim.expect_table(1, t, 1)
  local result = t
  if target ~= nil then
    result = target
    prim.expect_table(5, target, 2)
  else
    prim.expect_table(1, t, 2)
  end
  if last < first then
    return result
  end
  if first <= 0 and last >= 0x7fffffffffffffff + first then
    prim.arg_error(3, "too many elements to move")
  end
  local count = last - first + 1
  if to > 0x7fffffffffffffff - count + 1 then
    prim.arg_error(4, "destination wrap around")
  end
  if to > last or to <= first or target ~= nil and not (t == target) then
    for i = 0, count - 1 do
      result[to + i] = t[first + i]
    end
  else
    for i = count - 1, 0, -1 do
      result[to + i] = t[first + i]
    end
  end
  return result
end

function table.concat(t, separator, first, last)
  prim.expect_table(1, t, 5)
  local size = prim.expect_length(#t)
  separator = prim.expect_text_or(2, separator, "")
  local i = prim.expect_integer_or(3, first, 1)
  last = prim.expect_integer_or(4, last, size)
  local text = ""
  while i < last do
    text = text .. prim.joined(t[i], i) .. separator
    i = i + 1
  end
  if i == last then
    text = text .. prim.joined(t[i], i)
  end
  return text
end

-- A value that table.concat takes.
function prim.joined(value, i)
  local kind = type(value)
  if kind ~= "string" and kind ~= "number" then
    prim.raise("invalid value (" .. kind .. ") at index " .. i .. " in table for 'concat'")
  end
  return value
end

function table.unpack(t, first, last)
  prim.expect_table(1, t, 1)
  local size = prim.expect_length(#t)
  first = prim.expect_integer_or(2, first, 1)
  last = prim.expect_integer_or(3, last, size)
  if first > last then
    return
  end
  if math.ult(999999, last - first) then
    prim.raise("too many results to unpack")
  end
  local values = {}
  for i = 0, last - first do
    values[i + 1] = t[first + i]
  end
  return prim.fast_table_unpack(values, 1, last - first + 1)
end

function table.sort(t, before)
  prim.expect_table(1, t, 7)
  local count = prim.expect_length(#t)
  if count < 2 then
    return
  end
  if count >= 0x7fffffff then
    prim.arg_error(1, "array too big")
  end
  if before == nil then
    if prim.is_plain_table(t) and prim.sorted_at_once(t) then
      return
    end
    before = prim.before
  elseif type(before) ~= "function" then
    prim.bad_type(2, "function", before)
  end
  prim.sort_range(t, before, 1, count, 0)
end

function prim.before(a, b)
  return a < b
end

-- Quicksort of t[low] to t[high] (auxsort), by recursion on the smaller part. `random` is not 0 once a partition was very uneven.
function prim.sort_range(t, before, low, high, random)
  while low < high do
    local a, b = t[low], t[high]
    if before(b, a) then
      t[low] = b
      t[high] = a
    end
    if high - low == 1 then
      return
    end
    local middle = (low + high) // 2
    if high - low >= 100 and random ~= 0 then
      local quarter = (high - low) // 4
      middle = (random ~ low ~ high) % (quarter * 2) + low + quarter
    end
    a, b = t[middle], t[low]
    if before(a, b) then
      t[middle] = b
      t[low] = a
    else
      b = t[high]
      if before(b, a) then
        t[middle] = b
        t[high] = a
      end
    end
    if high - low == 2 then
      return
    end
    local pivot = t[middle]
    b = t[high - 1]
    t[middle] = b
    t[high - 1] = pivot
    middle = prim.partition(t, before, low, high, pivot)
    local smaller
    if middle - low < high - middle then
      prim.sort_range(t, before, low, middle - 1, random)
      smaller = middle - low
      low = middle + 1
    else
      prim.sort_range(t, before, middle + 1, high, random)
      smaller = high - middle
      high = middle - 1
    end
    -- Lua takes time and addresses for its random number.
    if (high - low) // 128 > smaller then
      random = 0x9e3779b9
    end
  end
end

-- Parts t[low] to t[high] at the pivot, which is t[high - 1]; gives its new place.
function prim.partition(t, before, low, high, pivot)
  local i, j = low, high - 1
  while true do
    i = i + 1
    local a = t[i]
    while before(a, pivot) do
      if i == high - 1 then
        prim.raise("invalid order function for sorting")
      end
      i = i + 1
      a = t[i]
    end
    j = j - 1
    local b = t[j]
    while before(pivot, b) do
      if j < i then
        prim.raise("invalid order function for sorting")
      end
      j = j - 1
      b = t[j]
    end
    if j < i then
      t[high - 1] = a
      t[i] = pivot
      return i
    end
    t[i] = b
    t[j] = a
  end
end
