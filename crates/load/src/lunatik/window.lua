-- Objects that show bytes of copies of packets, with the methods of Lunatik's `data` objects: integers are in the machine's order.
--
-- Reads `lib` (the global variables of the script as it begins), `own` (crates/library/src/own/copies.rs), and what makes an integer of a method's argument. Gives
-- what makes an object. As in Lunatik, offsets are checked before values, and a text of no bytes is out of bounds (`luadata_checkbounds`).

local lib, own, integer = ...
local error, getmetatable, select, setmetatable, tostring, type =
  lib.error, lib.getmetatable, lib.select, lib.setmetatable, lib.tostring, lib.type
local bytes_of, put, sum_of = own.bytes, own.put, own.sum
local IS_LITTLE <const> = lib.string.pack("=I2", 1) == "\1\0"
local BEYOND <const> = "a copy in the kernel has no more than its first " .. own.KEPT .. " bytes"

local methods = {}
local window = { __index = methods, __name = "data" }
window.__len = function(self) return self.length end

-- Whatever these raise is told at level 3, which is the script: it called the method that calls them.
local function check(self, name)
  if type(self) ~= "table" or getmetatable(self) ~= window then
    error("calling '" .. name .. "' on bad self (data expected, got " .. type(self) .. ")", 3)
  end
end

-- Where bytes are in the buffer. Of long packets a copy has the first ones.
local function place(self, at, length, name)
  if at < 0 or length < 1 or at > self.length or length > self.length - at then
    error("bad argument #1 to '" .. name .. "' (out of bounds)", 3)
  end
  if at + length > self.kept and self.length > self.kept then
    error("bad argument #1 to '" .. name .. "' (" .. BEYOND .. ")", 3)
  end
  return self.start + at
end

local function add(size, sign, get, set)
  local peek, poke = own.peek[size], own.poke[size]
  methods[get] = function(self, ...)
    check(self, get)
    local value = peek(self.buffer, place(self, integer(get, 1, ...), size, get))
    if sign then return (value ~ sign) - sign end
    return value
  end
  methods[set] = function(self, ...)
    check(self, set)
    local at = place(self, integer(set, 1, ...), size, set)
    poke(self.buffer, at, integer(set, 2, ...))
  end
end

add(1, nil, "getbyte", "setbyte")
add(1, nil, "getuint8", "setuint8")
add(1, 0x80, "getint8", "setint8")
add(2, nil, "getuint16", "setuint16")
add(2, 0x8000, "getint16", "setint16")
add(4, nil, "getuint32", "setuint32")
add(4, 0x80000000, "getint32", "setint32")
add(8, nil, "getint64", "setint64")
add(8, nil, "getnumber", "setnumber")

function methods.getstring(self, ...)
  check(self, "getstring")
  local at = integer("getstring", 1, ...)
  local count = self.length - at
  if select(2, ...) ~= nil then count = integer("getstring", 2, ...) end
  return bytes_of(self.buffer, place(self, at, count, "getstring"), count)
end

function methods.setstring(self, ...)
  check(self, "setstring")
  local at, text = integer("setstring", 1, ...), select(2, ...)
  if type(text) == "number" then text = tostring(text) end
  if type(text) ~= "string" then
    local got = select("#", ...) < 2 and "no value" or type(text)
    error("bad argument #2 to 'setstring' (string expected, got " .. got .. ")", 2)
  end
  put(self.buffer, place(self, at, #text, "setstring"), text)
end

-- As it is written, in the machine's order.
function methods.checksum(self, ...)
  check(self, "checksum")
  local at = 0
  if select(1, ...) ~= nil then at = integer("checksum", 1, ...) end
  local count = self.length - at
  if select(2, ...) ~= nil then count = integer("checksum", 2, ...) end
  local sum = sum_of(self.buffer, place(self, at, count, "checksum"), count, 0)
  if IS_LITTLE then return (sum & 0xff) << 8 | sum >> 8 end
  return sum
end

function methods.resize(self, ...)
  check(self, "resize")
  integer("resize", 1, ...)
  error("cannot resize external memory", 2)
end

-- Bytes of a buffer from `start` on, of which so many are `kept`: all of them, or all that a copy of a long packet has.
local function make(buffer, start, length, kept)
  return setmetatable({ buffer = buffer, start = start, length = length, kept = kept }, window)
end

return make
