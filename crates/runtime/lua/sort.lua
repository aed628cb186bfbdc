-- table.sort for tables without metatable whose values are all integers or all strings, without a function that compares. The
-- values that are equal are the same, so it does not matter in which way they are sorted; no order of the values takes long.

-- Up to so many values are sorted by insertion.
local FEW <const> = 12

-- Whether the payload x comes before y.
local function before(tag, x, y)
  if tag == TAG_INT then return x < y end
  return text_compare(x, y) < 0
end

-- Insertion sort of the payloads at first, first + 16, … before stop.
function sort_few(first, stop, tag)
  local next = first + 16
  while next < stop do
    local moved = u64(next)
    local at = next
    while at > first and before(tag, moved, u64(at - 16)) do
      set64(at, u64(at - 16))
      at = at - 16
    end
    set64(at, moved)
    next = next + 16
  end
  return 0
end

-- Heap sort of `count` payloads at first, first + 16, ….
function sort_many(first, count, tag)
  local unheaped = count >> 1
  while count > 1 do
    local sunk = 0
    if unheaped > 0 then
      unheaped = unheaped - 1
      sunk = u64(first + (unheaped << 4))
    else
      count = count - 1
      sunk = u64(first + (count << 4))
      set64(first + (count << 4), u64(first))
    end
    local root = unheaped
    local child = root + root + 1
    while child < count do
      local largest = u64(first + (child << 4))
      if child + 1 < count then
        local other = u64(first + (child + 1 << 4))
        if before(tag, largest, other) then
          largest = other
          child = child + 1
        end
      end
      if not before(tag, sunk, largest) then break end
      set64(first + (root << 4), largest)
      root = child
      child = root + root + 1
    end
    set64(first + (root << 4), sunk)
  end
  return 0
end

function fast_table_sort(L, base, n)
  if n < 1 or u64(base) ~= TAG_TABLE or u64(u64(base + 8) + T_META) ~= 0 then return GENERAL end
  if n >= 2 and u64(base + 16) ~= TAG_NIL then return GENERAL end
  local t = u64(base + 8)
  local array = u64(t + T_ARRAY)
  local count = u64(t + T_COUNT)
  if count < 2 then return 0 end
  if t < u64(L + L_IMAGE_END) then return raise(L, "a table of load time cannot be changed at packet time") end
  local tag = u64(array)
  if tag ~= TAG_INT and tag ~= TAG_STRING then return GENERAL end
  local at = array
  local stop = array + (count << 4)
  while at < stop do
    if u64(at) ~= tag then return GENERAL end
    at = at + 16
  end
  if count <= FEW then return sort_few(array + 8, stop, tag) end
  return sort_many(array + 8, count, tag)
end

-- For the library: sorts the table at once if it can, and says whether it has.
function sorted_at_once(L, base, n)
  local status = fast_table_sort(L, base, 1)
  if status == FAIL then return FAIL end
  if status == GENERAL then return inline.result(base, TAG_FALSE, 0) end
  return inline.result(base, TAG_TRUE, 0)
end
