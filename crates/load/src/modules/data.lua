-- The module `data`: bytes in memory of their own, and those of packets, read and written by layouts as in luadata, and by offset as in Lunatik.
--
-- Reads `lib` (the standard library) and `pairs` (in the order of the sandbox). Gives `own`, functions that programs have of their own, by what
-- they do and how many bytes they are about, and `make`, which gives the module, what makes handlers of the script's, and what makes objects that show a
-- part of a packet.
--
-- An object is a table with six fields, whose names begin with a NUL and so are none that a script has:
--   PACKET  the packet whose bytes it has, or false
--   MEMORY  else what it has made: `bytes` by position from 0, `text` for those that are not there (they are zeros where there is no text
--           either), `length`, and whether bytes were `changed`
--   OFFSET  where it begins there, in bytes
--   LENGTH  how many bytes it has, or false: all that follow
--   LAYOUT  its layout, or false
--   WHOLE   whether it is all of a packet or of memory
-- All functions are made when the module is, so that handlers have known ones, and whatever they are given in constants is known, too.

local lib, pairs = ...
local error, getmetatable, rawlen, select, setmetatable, tonumber, tostring, type =
  lib.error, lib.getmetatable, lib.rawlen, lib.select, lib.setmetatable, lib.tonumber,
  lib.tostring, lib.type
local byte, char, sub = lib.string.byte, lib.string.char, lib.string.sub
local concat, tointeger = lib.table.concat, lib.math.tointeger

local PACKET <const>, MEMORY <const>, OFFSET <const> = "\0packet", "\0memory", "\0offset"
local LENGTH <const>, LAYOUT <const>, WHOLE <const> = "\0length", "\0layout", "\0whole"

-- What programs have of their own: integers of packets in the machine's order, nil where not all bytes are there; nothing is written then.
-- Their second argument is an integer.
local own = { peek = {}, poke = {} }
for size, name in pairs { "uint8", "uint16", [4] = "uint32", [8] = "int64" } do
  local get, set = "get" .. name, "set" .. name
  own.peek[size] = function(packet, at)
    if at >= 0 and at <= #packet - size then return packet[get](packet, at) end
  end
  own.poke[size] = function(packet, at, value)
    if at >= 0 and at <= #packet - size then packet[set](packet, at, value) end
  end
end
local peek8, peek16, peek32, peek64 = own.peek[1], own.peek[2], own.peek[4], own.peek[8]
local poke8, poke16, poke32, poke64 = own.poke[1], own.poke[2], own.poke[4], own.poke[8]

-- `least` is how many bytes a text must have that is read or written at an offset; `layouts` is layouts.lua.
local function make(writable, handled, swaps, members, least, layouts)
  local swap16, swap32, swap64 = swaps[2], swaps[4], swaps[8]
  local number, fields = layouts.number, layouts.make(swap16(1) ~= 1)
  local entry_in, mark, layout_from = fields.entry_of, fields.mark, fields.layout_from

  -- What `getmetatable` gives of objects, and nothing else.
  local kind = {}
  local class = { __metatable = kind }

  -- Bytes ---------------------------------------------------------------------------------------------------------

  -- How many bytes the object has.
  local function length_of(self)
    if self[LENGTH] then return self[LENGTH] end
    if self[PACKET] then return #self[PACKET] - self[OFFSET] end
    return self[MEMORY].length - self[OFFSET]
  end

  -- Whether the object's own limit lets `size` bytes be read at `at`, an integer.
  local function is_within(self, at, size)
    if self[LENGTH] then return at >= 0 and at <= self[LENGTH] - size end
    if self[PACKET] then return at >= 0 end
    return at >= 0 and at <= self[MEMORY].length - self[OFFSET] - size
  end

  -- A byte of memory that is there.
  local function made(memory, at)
    local own = memory.bytes[at]
    if own ~= nil then return own end
    return memory.text and byte(memory.text, at + 1) or 0
  end

  local function put(memory, at, value)
    memory.changed = true
    memory.bytes[at] = value & 0xff
  end

  -- Integers in network order, without sign but those of 8 bytes; nil where not all bytes are there.
  local function read8(self, at)
    if not is_within(self, at, 1) then return nil end
    at = at + self[OFFSET]
    if self[PACKET] then return peek8(self[PACKET], at) end
    return made(self[MEMORY], at)
  end

  local function read16(self, at)
    if not is_within(self, at, 2) then return nil end
    at = at + self[OFFSET]
    if self[PACKET] then
      local value = peek16(self[PACKET], at)
      if value then return swap16(value) end
      return nil
    end
    return made(self[MEMORY], at) << 8 | made(self[MEMORY], at + 1)
  end

  local function read32(self, at)
    if not is_within(self, at, 4) then return nil end
    if self[PACKET] then
      local value = peek32(self[PACKET], at + self[OFFSET])
      if value then return swap32(value) end
      return nil
    end
    return read16(self, at) << 16 | read16(self, at + 2)
  end

  local function read64(self, at)
    if not is_within(self, at, 8) then return nil end
    if self[PACKET] then
      local value = peek64(self[PACKET], at + self[OFFSET])
      if value then return swap64(value) end
      return nil
    end
    return read32(self, at) << 32 | read32(self, at + 4)
  end

  -- Writes what is there: the low bytes of an integer, in network order.
  local function write8(self, at, value)
    if not is_within(self, at, 1) then return end
    at = at + self[OFFSET]
    if self[PACKET] then return poke8(self[PACKET], at, value) end
    put(self[MEMORY], at, value)
  end

  local function write16(self, at, value)
    if not is_within(self, at, 2) then return end
    at = at + self[OFFSET]
    if self[PACKET] then return poke16(self[PACKET], at, swap16(value)) end
    put(self[MEMORY], at, value >> 8)
    put(self[MEMORY], at + 1, value)
  end

  local function write32(self, at, value)
    if not is_within(self, at, 4) then return end
    if self[PACKET] then return poke32(self[PACKET], at + self[OFFSET], swap32(value)) end
    write16(self, at, value >> 16)
    write16(self, at + 2, value)
  end

  local function write64(self, at, value)
    if not is_within(self, at, 8) then return end
    if self[PACKET] then return poke64(self[PACKET], at + self[OFFSET], swap64(value)) end
    write32(self, at, value >> 32)
    write32(self, at + 4, value)
  end

  local readers = { read8, read16, [4] = read32, [8] = read64 }
  local writers = { write8, write16, [4] = write32, [8] = write64 }

  -- `count` bytes, 1 to 8, highest first; nil where not all are there. The last one is looked at first: where it is there, all are.
  local function read_bytes(self, at, count)
    local reader = readers[count]
    if reader then return reader(self, at) end
    if count == 3 then
      local low = read8(self, at + 2)
      return low and read16(self, at) << 8 | low
    end
    local rest = count == 5 and read8(self, at + 4) or count == 6 and read16(self, at + 4)
    if count == 7 then
      local low = read8(self, at + 6)
      rest = low and read16(self, at + 4) << 8 | low
    end
    if not rest then return nil end
    return read32(self, at) << (8 * count - 32) | rest
  end

  local function write_bytes(self, at, count, value)
    local writer = writers[count]
    if writer then return writer(self, at, value) end
    if count > 4 then
      write32(self, at, value >> (8 * count - 32))
      return write_bytes(self, at + 4, count - 4, value)
    end
    write16(self, at, value >> 8)
    write8(self, at + 2, value)
  end

  -- `count` bytes that are there, as a string.
  local function text_of(self, at, count)
    if least > 0 and count == 0 then return "" end
    at = at + self[OFFSET]
    if self[PACKET] then return self[PACKET]:getstring(at, count) end
    local memory = self[MEMORY]
    if memory.text and not memory.changed and at + count <= #memory.text then
      return sub(memory.text, at + 1, at + count)
    end
    local parts = {}
    for i = 1, count do parts[i] = char(made(memory, at + i - 1)) end
    return concat(parts)
  end

  -- Writes the first `count` bytes of a string to where they are there.
  local function put_text(self, at, text, count)
    if least > 0 and count == 0 then return end
    if self[PACKET] then
      self[PACKET]:setstring(at + self[OFFSET], count == #text and text or sub(text, 1, count))
    else
      for i = 1, count do put(self[MEMORY], at + self[OFFSET] + i - 1, byte(text, i)) end
    end
  end

  -- Whether `count` bytes are there.
  local function has(self, at, count)
    return at >= 0 and count >= 0 and count <= length_of(self) - at and (at > 0 or at <= length_of(self))
  end

  -- Layouts -------------------------------------------------------------------------------------------------------

  -- Numbers of bits whose bytes come lowest first. What is left of whole bytes is the highest part, and lies in the upper bits of the last byte.
  local function from_little(value, bits)
    value = swap64(value << (64 - bits))
    local rest = bits % 8
    if rest == 0 then return value end
    local whole = bits - rest
    return value & ((1 << whole) - 1) | (value >> (whole + 8 - rest)) << whole
  end

  local function to_little(value, bits)
    local rest = bits % 8
    if rest ~= 0 then
      local whole = bits - rest
      value = value & ((1 << whole) - 1) | (value >> whole) << (whole + 8 - rest)
    end
    return swap64(value) >> (64 - bits)
  end

  -- A number of `bits` bits, 1 to 64, the first of which is `skipped` bits (0 to 7) behind the first bit of byte `at`.
  local function read_bits(self, at, skipped, bits)
    local count = (skipped + bits + 7) // 8
    if count == 9 then
      local low = read8(self, at + 8)
      if not low then return nil end
      local behind = 72 - skipped - bits
      local value = read64(self, at) << (8 - behind) | low >> behind
      return bits == 64 and value or value & ((1 << bits) - 1)
    end
    local value = read_bytes(self, at, count)
    if not value or skipped == 0 and bits == 8 * count then return value end
    return value >> (8 * count - skipped - bits) & ((1 << bits) - 1)
  end

  local function write_bits(self, at, skipped, bits, value)
    local count = (skipped + bits + 7) // 8
    if count == 9 then
      local low = read8(self, at + 8)
      if not low then return end
      local behind = 72 - skipped - bits
      local high, mask = 64 - skipped, (1 << (64 - skipped)) - 1
      if high == 64 then mask = -1 end
      local before = read64(self, at)
      write64(self, at, before & ~mask | value >> (8 - behind) & mask)
      return write8(self, at + 8, low & ((1 << behind) - 1) | value << behind)
    end
    if skipped == 0 and bits == 8 * count then return write_bytes(self, at, count, value) end
    local before = read_bytes(self, at, count)
    if not before then return end
    local behind = 8 * count - skipped - bits
    local mask = (1 << bits) - 1 << behind
    write_bytes(self, at, count, before & ~mask | value << behind & mask)
  end

  -- What the object's layout says under a name that is a field.
  local function entry_of(self, name)
    return entry_in(self[LAYOUT], name)
  end

  local function get(self, entry)
    local at, size = entry.offset, entry.length
    if entry.text then
      if has(self, at, size) then return text_of(self, at, size) end
      return nil
    end
    if at < 0 or size < 1 or size > 64 then return nil end
    local value = read_bits(self, at // 8, at % 8, size)
    if value and entry.little and size > 8 then return from_little(value, size) end
    return value
  end

  local function set(self, entry, value)
    local at, size = entry.offset, entry.length
    if entry.text then
      if type(value) == "number" then value = tostring(value) end
      if type(value) == "string" and has(self, at, size) then
        put_text(self, at, value, #value < size and #value or size)
      end
      return
    end
    if at < 0 or size < 1 or size > 64 then return end
    value = tointeger(value) or 0
    if entry.little and size > 8 then value = to_little(value, size) end
    write_bits(self, at // 8, at % 8, size, value)
  end

  -- Objects -------------------------------------------------------------------------------------------------------

  local function object(packet, memory, offset, length, whole)
    local fields = {
      [PACKET] = packet, [MEMORY] = memory, [OFFSET] = offset, [LENGTH] = length, [LAYOUT] = false, [WHOLE] = whole,
    }
    return setmetatable(fields, class)
  end

  local function of_memory(bytes, text, length)
    if length <= 0 then return end
    return object(false, { bytes = bytes, text = text, length = length, changed = false }, 0, false, true)
  end

  local methods = {}

  -- Level 3 is the script, which called the method that calls these functions.
  local function refuse(n, name, reason)
    error("bad argument #" .. n .. " to '" .. name .. "' (" .. reason .. ")", 3)
  end

  local function check(self, name)
    if type(self) ~= "table" or getmetatable(self) ~= kind then
      error("calling '" .. name .. "' on bad self (data expected, got " .. type(self) .. ")", 3)
    end
  end

  local function check_writable(self, name)
    if self[PACKET] and not writable(self[PACKET]) then
      error("calling '" .. name .. "' on bad self (read only)", 3)
    end
  end

  -- Argument `n`, of which there are as many as `...` has, as Lua converts it to an integer (luaL_checkinteger).
  local function integer(name, n, ...)
    local value = select(n, ...)
    if type(value) == "number" or type(value) == "string" then
      local integer = tointeger(value)
      if integer then return integer end
    end
    if type(value) == "number" or type(value) == "string" and tonumber(value) then
      error("bad argument #" .. n .. " to '" .. name .. "' (number has no integer representation)", 3)
    end
    local got = select("#", ...) < n and "no value" or type(value)
    error("bad argument #" .. n .. " to '" .. name .. "' (number expected, got " .. got .. ")", 3)
  end

  -- Integers in the machine's byte order, by offset.
  local function add_accesses(suffix, size, signed)
    local getter, setter = "get" .. suffix, "set" .. suffix
    local read, write, swap = readers[size], writers[size], swaps[size]
    local sign = signed and size < 8 and 1 << (8 * size - 1) or 0
    methods[getter] = function(self, ...)
      check(self, getter)
      local value = read(self, integer(getter, 1, ...))
      if not value then refuse(1, getter, "out of bounds") end
      if swap then value = swap(value) end
      return (value ~ sign) - sign
    end
    methods[setter] = function(self, ...)
      check(self, setter)
      local at = integer(setter, 1, ...)
      if not has(self, at, size) then refuse(1, setter, "out of bounds") end
      check_writable(self, setter)
      local value = integer(setter, 2, ...)
      if swap then value = swap(value) end
      write(self, at, value)
    end
  end
  add_accesses("byte", 1)
  for size, bits in pairs { "8", "16", [4] = "32", [8] = "64" } do
    if size < 8 then add_accesses("uint" .. bits, size) end
    add_accesses("int" .. bits, size, true)
  end
  add_accesses("number", 8, true)

  function methods.getstring(self, ...)
    check(self, "getstring")
    local at = integer("getstring", 1, ...)
    local count = length_of(self) - at
    if select(2, ...) ~= nil then count = integer("getstring", 2, ...) end
    if least > 0 and count < least or not has(self, at, count) then refuse(1, "getstring", "out of bounds") end
    return text_of(self, at, count)
  end

  function methods.setstring(self, ...)
    check(self, "setstring")
    local at, text = integer("setstring", 1, ...), select(2, ...)
    if type(text) == "number" then text = tostring(text) end
    if type(text) ~= "string" then
      refuse(2, "setstring", "string expected, got " .. (select("#", ...) < 2 and "no value" or type(text)))
    end
    if least > 0 and #text < least or not has(self, at, #text) then refuse(1, "setstring", "out of bounds") end
    check_writable(self, "setstring")
    put_text(self, at, text, #text)
  end

  function methods.checksum(self, ...)
    check(self, "checksum")
    local at = 0
    if select(1, ...) ~= nil then at = integer("checksum", 1, ...) end
    local count = length_of(self) - at
    if select(2, ...) ~= nil then count = integer("checksum", 2, ...) end
    if least > 0 and count < least or not has(self, at, count) then refuse(1, "checksum", "out of bounds") end
    if self[PACKET] then return self[PACKET]:checksum(at + self[OFFSET], count) end
    local sum = 0
    for i = at, at + count - 2, 2 do sum = sum + read16(self, i) end
    if count % 2 == 1 then sum = sum + (read8(self, at + count - 1) << 8) end
    sum = (sum & 0xffff) + (sum >> 16)
    sum = (sum & 0xffff) + (sum >> 16)
    return swap16(~sum & 0xffff)
  end

  function methods.resize(self, ...)
    check(self, "resize")
    local length = integer("resize", 1, ...)
    if self[PACKET] or not self[WHOLE] then error("cannot resize external memory", 2) end
    if length < 1 then refuse(1, "resize", "out of bounds") end
    local memory = self[MEMORY]
    -- What was cut off before does not come back.
    if memory.changed or memory.text then
      for i = memory.length, length - 1 do memory.bytes[i] = 0 end
      memory.changed = true
    end
    memory.length = length
  end

  function methods.layout(self, layout)
    check(self, "layout")
    if type(layout) ~= "table" then return end
    self[LAYOUT] = layout
    return self
  end

  function methods.segment(self, ...)
    check(self, "segment")
    local given = select("#", ...)
    local skipped = 0
    if given > 0 then skipped = number((...), 0) end
    if not is_within(self, skipped, 1) then return end
    local offset = self[OFFSET] + skipped
    if given < 2 then
      if self[PACKET] and not peek8(self[PACKET], offset) then return end
      return object(self[PACKET], self[MEMORY], offset, self[LENGTH] and self[LENGTH] - skipped, false)
    end
    local length = number(select(2, ...), 0)
    if not has(self, skipped, length) or skipped >= length_of(self) then return end
    return object(self[PACKET], self[MEMORY], offset, length, false)
  end

  -- Methods that only packets have: an error of theirs would have the line of what is here.
  local of_packets = {}
  for name, is in pairs(members) do
    if is == "method" and not methods[name] then
      of_packets[name] = function()
        error("'" .. name .. "' is a method of packets: call it as pkt.packet:" .. name .. "(...)", 2)
      end
    end
  end

  class.__index = function(self, name)
    if name == "layout" or name == "segment" then return methods[name] end
    local entry = entry_of(self, name)
    if entry then return get(self, entry) end
    local method = methods[name]
    if method or not self[WHOLE] or not self[PACKET] then return method end
    -- What functions of others take.
    if name == "packet" then return self[PACKET] end
    if members[name] then return of_packets[name] or self[PACKET][name] end
  end

  class.__newindex = function(self, name, value)
    if name == "layout" or name == "segment" then return end
    local entry = entry_of(self, name)
    if entry then
      if self[PACKET] and not writable(self[PACKET]) then error("packets are read only at this hook", 2) end
      set(self, entry, value)
    elseif self[WHOLE] and self[PACKET] and members[name] == "field" then
      error("'" .. name .. "' is a field of packets: assign it as pkt.packet." .. name, 2)
    end
  end

  class.__len = length_of
  class.__tostring = function(self) return text_of(self, 0, length_of(self)) end

  -- The module ----------------------------------------------------------------------------------------------------

  local M = {}

  function M.new(...)
    local given, option = ...
    if option ~= nil and option ~= "shared" and option ~= "single" then
      refuse(2, "new", type(option) == "string" and "invalid option '" .. option .. "'"
        or "string expected, got " .. type(option))
    end
    if type(given) == "number" then return of_memory({}, false, tointeger(given) or 0) end
    if type(given) == "string" then return of_memory({}, given, #given) end
    if type(given) ~= "table" then return end
    local bytes, length = {}, rawlen(given)
    for i = 1, length do bytes[i - 1] = number(given[i], 0) & 0xff end
    return of_memory(bytes, false, length)
  end

  function M.layout(layout)
    if type(layout) ~= "table" then return end
    -- While packets wait, only fields that are asked for are taken apart.
    return handled() and mark(layout) or layout_from(layout)
  end

  -- The handler that is given objects in the place of packets.
  local function around(handler)
    return function(packet, ...)
      return handler(object(packet, false, 0, false, true), ...)
    end
  end

  -- An object of a packet, or of a string's bytes, of which there may be none, that has nothing but what its layout says and these methods.
  local function plain(packet, text)
    return object(packet, not packet and { bytes = {}, text = text, length = #text, changed = false }, 0, false, false)
  end

  -- Objects whose bytes others choose: so many from an offset of the packet on.
  local windows = { integer = integer }

  function windows.new(packet, offset, length)
    return object(packet, false, offset, length, false)
  end

  function windows.aim(self, offset, length)
    self[OFFSET], self[LENGTH] = offset, length
  end

  -- The packet has so many bytes from now on: no others are there.
  function windows.limit(self, length)
    if self[OFFSET] + self[LENGTH] > length then
      self[LENGTH] = length > self[OFFSET] and length - self[OFFSET] or 0
    end
  end

  return M, around, plain, windows
end

return { own = own, make = make }
