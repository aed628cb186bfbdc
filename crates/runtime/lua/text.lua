-- Texts in memory: searching, copying, joining. The payload of a string is address | length << 32.
--
-- Bytes are read and written eight at a time. What is read behind the end of a text is not looked at; what is written there
-- (up to 7 bytes) has to be free, as it is behind the end of a text that is being built.

local ONES <const> = 0x0101010101010101
local HIGHS <const> = 0x8080808080808080

-- Address of the first byte with a value, from at to stop, or stop.
function find_byte(at, stop, byte)
  local pattern = byte * ONES
  while at < stop do
    local word = u64(at) ~ pattern
    -- The lowest of these bits belongs to the first byte that is 0 now.
    local zeros = word - ONES & ~word & HIGHS
    if zeros ~= 0 then
      -- The bit stands for 2^(8 * index + 7); the product has the index in its highest byte.
      local index = (zeros & -zeros) >> 7
      at = at + (index * 0x0001020304050607 >> 56)
      if at < stop then
        return at
      end
      return stop
    end
    at = at + 8
  end
  return stop
end

-- Appends a text at `to`: the address behind it.
function inline.append(to, text)
  copy_bytes(to, text & 0xffffffff, text >> 32)
  return to + (text >> 32)
end

-- Where the text that is being built at the end of the packet memory begins. It grows without being allocated, and nothing
-- else is allocated, until end_text.
function inline.begin_text(L)
  return u64(L + L_HEAP)
end

-- 1 if `size` bytes fit behind `at`, in a text that is being built, with something to spare; 0 after an error.
function inline.text_room(L, at, size)
  if ult(size, 0x100000000) and u64(L + L_HEAP_END) - at >= size + 32 then
    return 1
  end
  alloc(L, -1)
  return 0
end

-- The string from first to stop, which was built there.
function inline.end_text(L, first, stop)
  set64(L + L_HEAP, stop + 7 & -8)
  return first | stop - first << 32
end

-- raise(L, a .. b .. c)
function raise_joined(L, a, b, c)
  local text = text_join(L, a, b)
  if text == 0 then
    return FAIL
  end
  text = text_join(L, text, c)
  if text == 0 then
    return FAIL
  end
  return raise(L, text)
end

-- The last of n values at base that can not be concatenated (manual § 3.4.6: from the right), from 1; 0 if all can.
local function find_bad_operand(base, n)
  local i = n
  while i > 0 do
    local tag = u64(base + 16 * i - 16)
    if tag ~= TAG_STRING and tag ~= TAG_INT and tag ~= TAG_FLOAT then
      return i
    end
    i = i - 1
  end
  return 0
end

-- Turns the numbers among n values at base into strings, in place, and sums up all lengths; -1 after an error. The digits
-- are in the scratch buffer as long as that has room.
local function measure_operands(L, base, n)
  local total = 0
  local scratch = u64(L + L_SCRATCH)
  local scratch_end = scratch + SCRATCH_SIZE
  local stop = base + 16 * n
  local at = base
  while at < stop do
    local payload = u64(at + 8)
    if u64(at) == TAG_INT then
      scratch = scratch + 24
      if scratch <= scratch_end then
        local digits = store_integer(scratch, payload)
        payload = digits | scratch - digits << 32
      else
        payload = integer_to_text(L, payload)
        if payload == 0 then
          return -1
        end
      end
      set64(at, TAG_STRING)
      set64(at + 8, payload)
    elseif u64(at) == TAG_FLOAT then
      if scratch + 48 <= scratch_end then
        payload = store_float(L, scratch, payload)
        scratch = scratch + 48
      else
        payload = inline.float_to_text(L, payload)
        if payload == 0 then
          return -1
        end
      end
      set64(at, TAG_STRING)
      set64(at + 8, payload)
    end
    total = total + (payload >> 32)
    at = at + 16
  end
  return total
end

-- Whether a text is not in the scratch buffer.
local function is_kept(L, text)
  return not ult((text & 0xffffffff) - u64(L + L_SCRATCH), SCRATCH_SIZE + 1)
end

-- Room for a concatenation of `total` bytes that begins with `text`, whose bytes are there already; 0 after an error.
--
-- The last text that was made longer is remembered: up to L_GROW_END it is in use, up to L_GROW_LIMIT there is room for more.
-- So `s = s .. x` in a loop costs time and memory in proportion to the final length.
local function grow(L, text, total)
  local address = text & 0xffffffff
  local size = text >> 32
  local room = total
  if address + size == u64(L + L_GROW_END) then
    if address + total <= u64(L + L_GROW_LIMIT) then
      set64(L + L_GROW_END, address + total)
      return address
    end
    -- The second time that it grows, and no room: twice of what is needed, unless memory ends before.
    local free = u64(L + L_HEAP_END) - u64(L + L_HEAP)
    if total + total + 16 < free then
      room = total + total
    end
  end
  local start = alloc(L, room + 8)
  if start == 0 then
    return 0
  end
  copy_bytes(start, address, size)
  set64(L + L_GROW_END, start + total)
  set64(L + L_GROW_LIMIT, start + room)
  return start
end

-- Concatenates n >= 1 values (strings and numbers) at base into a string at base. 1; FAIL after an error; or -(2 + i) if
-- the i-th value from 1 is neither, and nothing has changed: the last of those, as Lua concatenates from the right.
function text_concat(L, base, n)
  local bad = find_bad_operand(base, n)
  if bad ~= 0 then
    return -2 - bad
  end
  local total = measure_operands(L, base, n)
  if total < 0 then
    return FAIL
  end
  local first = u64(base + 8)
  local last = u64(base + 16 * n - 8)
  -- Where the others are empty, an operand is the result (luaV_concat in lvm.c).
  if first >> 32 == total and is_kept(L, first) then
    return 1
  elseif last >> 32 == total and is_kept(L, last) then
    set64(base + 8, last)
    return 1
  end
  local start = grow(L, first, total)
  if start == 0 then
    return FAIL
  end
  local at = start + (first >> 32)
  local operand = base + 16
  local stop = base + 16 * n
  while operand < stop do
    at = inline.append(at, u64(operand + 8))
    operand = operand + 16
  end
  set64(base + 8, start | total << 32)
  return 1
end
