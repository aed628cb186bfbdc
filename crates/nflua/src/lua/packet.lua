-- Packets as functions of NFLua's states of 2019 get them.
--
-- Reads `lib` (the global variables of the state), `native` (functions of the process), `is_packet_time` (whether what runs is packet code: then what the
-- process has to do is an event), `bytes_of` and `position` of memory, and `link` (gives the link's header of a packet in packet code). Gives what makes packets.
--
-- A packet has `packet`, the hook's, or `bytes`, of one that waits in a queue, with `held`, by which the process answers for it, and `link`, its
-- link's header.

local lib, native, is_packet_time, memory, bytes_of, position, link = ...
local error, getmetatable, pcall, setmetatable, type =
  lib.error, lib.getmetatable, lib.pcall, lib.setmetatable, lib.type
local byte, find, match, packsize, sub, unpack =
  lib.string.byte, lib.string.find, lib.string.match, lib.string.packsize, lib.string.sub, lib.string.unpack
local tointeger = lib.math.tointeger
local byteorder = lib.require("byteorder")
local le16toh, le32toh, le64toh = byteorder.le16toh, byteorder.le32toh, byteorder.le64toh
local ntoh16, ntoh32, ntoh64 = byteorder.ntoh16, byteorder.ntoh32, byteorder.ntoh64
local event = lib.event

-- Bytes in which all headers are.
local HEAD <const> = 256

local methods = {}
local kind = {}
local class = { __index = methods, __name = "luapacket", __metatable = kind }

local M = {}

-- Level 3 is the script, which called the method that calls this.
local function opened(self, name)
  if type(self) ~= "table" or getmetatable(self) ~= kind then
    error("calling '" .. name .. "' on bad self (luapacket expected, got " .. type(self) .. ")", 3)
  end
  if not self.is_open then error("calling '" .. name .. "' on bad self (closed packet)", 3) end
end

-- All bytes from the IP header on.
local function text_of(self)
  if self.packet then return self.packet:getstring(0) end
  return self.bytes
end

local function length_of(self)
  if self.packet then return #self.packet end
  return #self.bytes
end

class.__len = function(self)
  opened(self, "len")
  return length_of(self)
end

class.__tostring = function(self)
  opened(self, "tostring")
  return "packet: { len:" .. length_of(self) .. " }"
end

local function integer(value, default, number, name)
  if value == nil then return default end
  local whole = tointeger(value)
  if whole then return whole end
  error("bad argument #" .. number .. " to '" .. name .. "' (number expected, got " .. type(value) .. ")", 3)
end

-- What formats that have a known length say, by the format: `count` values in `size` bytes; of each by its number where it begins (`from`, from 0), how many bytes it
-- has (`width`), whether it is a `text`, what its sign bit is worth (`sign`, 0 without one) and whether it is `little`-endian. There is one for each format that the state's
-- functions have when they become packet code, which then reads fields of the packet and no string.
local plans = {}

local WIDTHS <const> = { b = 1, B = 1, h = 2, H = 2, i = 4, I = 4, l = 8, L = 8, j = 8, J = 8, T = 8 }
-- Values that are read one by one.
local MOST <const> = 12
local HOST_IS_LITTLE <const> = lib.string.pack("=I2", 1) == "\1\0"

-- Makes the plan of a format, if it is one of fixed length.
function M.plan(fmt)
  if plans[fmt] or find(fmt, "[^<>= bBhHiIlLjJTcx0-9]") or not pcall(packsize, fmt) then return false end
  local plan = { count = 0, size = 0, from = {}, width = {}, text = {}, sign = {}, little = {} }
  local little = HOST_IS_LITTLE
  for option, digits in lib.string.gmatch(fmt, "([^ 0-9])(%d*)") do
    if option == "<" or option == ">" or option == "=" then
      little = option == "<" or option == "=" and HOST_IS_LITTLE
    else
      local width = option == "x" and 1 or tointeger(lib.tonumber(digits)) or WIDTHS[option]
      if width > 8 and option ~= "c" then return false end
      if option ~= "x" then
        local n = plan.count + 1
        plan.count, plan.from[n], plan.width[n], plan.text[n] = n, plan.size, width, option == "c"
        plan.sign[n] = find(option, "[bhilj]") and width < 8 and 1 << (8 * width - 1) or 0
        plan.little[n] = little
      end
      plan.size = plan.size + width
    end
  end
  if plan.count == 0 or plan.count > MOST then return false end
  plans[fmt] = plan
  return true
end

-- An integer of that many bytes at `at` (from 0), without sign but of 8 bytes.
local function number_at(packet, at, width, little)
  if width == 1 then return packet:getuint8(at) end
  if width == 2 then
    if little then return le16toh(packet:getuint16(at)) end
    return ntoh16(packet:getuint16(at))
  end
  if width == 4 then
    if little then return le32toh(packet:getuint32(at)) end
    return ntoh32(packet:getuint32(at))
  end
  if width == 8 then
    if little then return le64toh(packet:getint64(at)) end
    return ntoh64(packet:getint64(at))
  end
  local value = 0
  for i = 0, width - 1 do
    value = value << 8 | packet:getuint8(little and at + width - 1 - i or at + i)
  end
  return value
end

-- Value `n` of a plan that begins at `at`.
local function value_at(packet, plan, at, n)
  local from, width = at + plan.from[n], plan.width[n]
  if plan.text[n] then return packet:getstring(from, width) end
  local value, sign = number_at(packet, from, width, plan.little[n]), plan.sign[n]
  if sign == 0 then return value end
  return (value ~ sign) - sign
end

-- All values of a plan that begins at `at`, and behind them the next position from 1. Values from `n` on: one function, so that code is made of known numbers.
local function planned(packet, plan, at)
  local count, next, v = plan.count, at + plan.size + 1, value_at
  if count == 1 then return v(packet, plan, at, 1), next end
  if count == 2 then return v(packet, plan, at, 1), v(packet, plan, at, 2), next end
  if count == 3 then return v(packet, plan, at, 1), v(packet, plan, at, 2), v(packet, plan, at, 3), next end
  local a, b, c, d = v(packet, plan, at, 1), v(packet, plan, at, 2), v(packet, plan, at, 3), v(packet, plan, at, 4)
  if count == 4 then return a, b, c, d, next end
  if count == 5 then return a, b, c, d, v(packet, plan, at, 5), next end
  if count == 6 then return a, b, c, d, v(packet, plan, at, 5), v(packet, plan, at, 6), next end
  local e, f, g = v(packet, plan, at, 5), v(packet, plan, at, 6), v(packet, plan, at, 7)
  if count == 7 then return a, b, c, d, e, f, g, next end
  if count == 8 then return a, b, c, d, e, f, g, v(packet, plan, at, 8), next end
  if count == 9 then return a, b, c, d, e, f, g, v(packet, plan, at, 8), v(packet, plan, at, 9), next end
  local h, i, j = v(packet, plan, at, 8), v(packet, plan, at, 9), v(packet, plan, at, 10)
  if count == 10 then return a, b, c, d, e, f, g, h, i, j, next end
  if count == 11 then return a, b, c, d, e, f, g, h, i, j, v(packet, plan, at, 11), next end
  return a, b, c, d, e, f, g, h, i, j, v(packet, plan, at, 11), v(packet, plan, at, 12), next
end

-- Results of `pcall`, with messages that speak of packets.
local function translated(ok, ...)
  if ok then return ... end
  local message = ...
  if find(message, "data string too short", 1, true) or find(message, "unfinished string", 1, true) then
    message = "bad argument #1 to 'unpack' (payload too short)"
  end
  error(message, 0)
end

-- Values from position `pos` on, as `string.unpack` has them; there are no floats.
function methods.unpack(self, fmt, pos)
  opened(self, "unpack")
  local length = length_of(self)
  local at = position(integer(pos, 1, 2, "unpack"), length)
  if at < 1 or at > length + 1 then
    error("bad argument #2 to 'unpack' (initial position out of payload)", 2)
  end
  if self.packet then
    local plan = plans[fmt]
    if plan then
      if at - 1 + plan.size > length then
        error("bad argument #1 to 'unpack' (payload too short)", 2)
      end
      return planned(self.packet, plan, at - 1)
    end
  end
  if find(fmt, "[fdn]") then
    error("invalid format option '" .. (match(fmt, "[fdn]")) .. "'", 2)
  end
  return translated(pcall(unpack, fmt, text_of(self), at))
end

-- Copies the bytes from `i` to `j` into a memory, from its position `o` on.
function methods.copybytes(self, target, i, j, o)
  opened(self, "copybytes")
  local into = bytes_of(target, 1, "copybytes")
  local text = text_of(self)
  local first = position(integer(i, 1, 2, "copybytes"), #text)
  local last = position(integer(j, -1, 3, "copybytes"), #text)
  local at = position(integer(o, 1, 4, "copybytes"), #into)
  local function outside(number)
    error("bad argument #" .. number .. " to 'copybytes' (index out of bounds)", 3)
  end
  if first < 1 or first > #text or first > last then outside(2) end
  if last < 1 or last > #text then outside(3) end
  if at < 1 or at > #into then outside(4) end
  local size = last - first + 1
  if size > #into - at + 1 then error("slice too big for memory", 2) end
  target.bytes = sub(into, 1, at - 1) .. sub(text, first, last) .. sub(into, at + size)
end

-- The link's header, in a memory that is empty when the packet is closed.
function methods.frame(self)
  opened(self, "frame")
  if not self.header then self.header = memory.create(self.packet and link(self.packet) or self.link) end
  return self.header
end

-- Four bytes of a string, highest first.
local function word(text, at)
  local a, b, c, d = byte(text, at, at + 3)
  return a << 24 | b << 16 | c << 8 | d
end

-- Sixteen bytes, as two integers of eight in one.
local function address(text, at)
  local high, low = word(text, at) << 32 | word(text, at + 4), word(text, at + 8) << 32 | word(text, at + 12)
  return high * 31 + low
end

-- A number that all packets of a connection have, of a packet's bytes.
function M.connid(text)
  local protocol, at, one, other
  if #text >= 20 and byte(text, 1) >> 4 == 4 then
    protocol, at, one, other = byte(text, 10), (byte(text, 1) & 15) * 4 + 1, word(text, 13), word(text, 17)
  elseif #text >= 40 then
    protocol, at, one, other = byte(text, 7), 41, address(text, 9), address(text, 25)
  else
    return 0
  end
  local from, to = 0, 0
  if (protocol == 6 or protocol == 17) and #text >= at + 3 then
    local ports = word(text, at)
    from, to = ports >> 16, ports & 0xffff
  end
  one, other = one * 65599 + from, other * 65599 + to
  if one > other then one, other = other, one end
  local id = (one ~ (other << 21 | other >> 43)) * 0x9e3779b97f4a7c15 + protocol
  return id ~ (id >> 29)
end

function methods.connid(self)
  opened(self, "connid")
  return M.connid(text_of(self))
end

-- Answers a TCP packet with a segment that has these bytes.
function methods.tcpreply(self, message)
  opened(self, "tcpreply")
  if type(message) ~= "string" then
    error("bad argument #1 to 'tcpreply' (string expected, got " .. type(message) .. ")", 2)
  end
  if is_packet_time() then
    local text = text_of(self)
    event("\0reply", message, sub(text, 1, HEAD), #text)
    return true
  end
  if native.reply(text_of(self), message, true) then return true end
  return nil, "couldn't reply a packet"
end

local function stolen(self)
  if not self.is_stolen then error("packet must be stolen", 3) end
end

local function shut(self)
  self.is_open = false
  if self.header then self.header.bytes = "" end
end

function methods.close(self)
  opened(self, "close")
  stolen(self)
  native.answer(self.held, "drop")
  shut(self)
  return true
end

-- Lets the packet go on, with another payload where one is given.
function methods.send(self, payload)
  opened(self, "send")
  stolen(self)
  local bytes
  if payload ~= nil then
    bytes = native.with_payload(self.bytes, bytes_of(payload, 1, "send"), true)
    if not bytes then return nil, "unable to set tcp payload" end
  end
  native.answer(self.held, "accept", bytes)
  shut(self)
  return true
end

-- Where packets come from -------------------------------------------------------------------------------------------

-- A packet of a match.
function M.of_match(packet) return setmetatable({ packet = packet, is_open = true }, class) end

-- A packet for a target.
function M.waiting(bytes, header, held)
  return setmetatable({ bytes = bytes, link = header or "", held = held, is_open = true }, class)
end

-- The function of a target has returned, or failed.
function M.end_of(packet, is_stolen)
  if is_stolen then
    packet.is_stolen = true
  elseif packet.is_open then
    shut(packet)
  end
end

return M
