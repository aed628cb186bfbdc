-- Handlers that are written for Lunatik, as handlers of Moonhook's: by the hook's name, a function that makes the one of the other.
--
-- Reads `lib` (the global variables of the script as it begins), and `own`: what copies of packets are made of (crates/library/src/own/copies.rs),
-- what makes the objects that show bytes of copies, and what makes an integer of a method's argument. Handlers reach what the functions below reach.

local lib, own, make_window, integer = ...
local error, getmetatable, setmetatable, type =
  lib.error, lib.getmetatable, lib.setmetatable, lib.type
local tointeger = lib.math.tointeger
local make, again, device_of, clear, send = own.make, own.again, own.device, own.clear, own.send
local peek8, peek16, poke8, sum_of = own.peek[1], own.peek[2], own.poke[1], own.sum
local LINK <const>, KEPT <const>, ROOM <const> = own.LINK, own.KEPT, own.ROOM

-- Packets of netfilter: `skb` has the packet beside what the network stack knows of it. A copy has more:
--   buffer  its bytes
--   link    how many of those in front of the packet are the link's header, -1 for none
--   length  how many bytes it has, from the network header on
--   kept    how many of these are in the buffer: of a long packet the first ones
--   room    how many there can be in the buffer
--   device  the number of its interface, 0 for none
--   origin  the packet
local methods = {}
local skb = { __index = methods, __name = "skb" }

-- What is wrong is told at level 3, which is the script: it called the method that calls this.
local function check(self, name)
  if type(self) ~= "table" or getmetatable(self) ~= skb then
    error("bad argument #1 to '" .. name .. "' (skb expected, got " .. type(self) .. ")", 3)
  end
end

skb.__len = function(self)
  if self.packet then return #self.packet end
  return self.length
end

-- Bytes from the network header on, which is where packets begin at this hook, or from the link's header on.
function methods.data(self, layer)
  check(self, "data")
  local from_link = layer == "mac"
  if layer ~= nil and layer ~= "net" and not from_link then
    if type(layer) == "string" then
      error("bad argument #1 to 'data' (invalid option '" .. layer .. "')", 2)
    end
    error("bad argument #1 to 'data' (string expected, got " .. type(layer) .. ")", 2)
  end
  if self.packet then
    if from_link then error("bad argument #1 to 'data' (MAC header not set)", 2) end
    return self.packet
  end
  if not from_link then return make_window(self.buffer, LINK, self.length, self.kept) end
  if self.link < 0 then error("bad argument #1 to 'data' (MAC header not set)", 2) end
  return make_window(self.buffer, LINK - self.link, self.link + self.length, self.link + self.kept)
end

-- The interface that the packet has come in by, or that it leaves by; none of those that this host sends.
function methods.ifindex(self)
  check(self, "ifindex")
  local index = self.device
  if self.packet then index = device_of(self.packet) end
  if index ~= 0 then return index end
  return nil
end

-- IP packets have no tag any more: the interface for it has taken it off (`vlan_do_receive`, net/8021q/vlan_core.c).
function methods.vlan(self)
  check(self, "vlan")
  return nil
end

-- Of a packet, its first bytes are copied; of a copy, all that it has.
local function copy_of(self)
  local packet = self.packet
  if packet then
    local length, buffer, link = #packet, make(packet)
    local kept = length
    if kept > KEPT then kept = KEPT end
    return setmetatable({
      packet = false, origin = packet, buffer = buffer, link = link, device = device_of(packet),
      length = length, kept = kept, room = kept + ROOM,
    }, skb)
  end
  return setmetatable({
    packet = false, origin = self.origin, buffer = again(self.buffer), link = self.link, device = self.device,
    length = self.length, kept = self.kept, room = self.room,
  }, skb)
end

function methods.copy(self)
  check(self, "copy")
  return copy_of(self)
end

-- Programs at this hook cannot change packets; this says so where a handler turns out to.
local function refuse(what)
  error("a netfilter program cannot change packets (" .. what .. ")", 3)
end

-- A copy can grow by what there is room for, unless it does not have all of the packet.
function methods.resize(self, ...)
  check(self, "resize")
  local size = integer("resize", 1, ...)
  if self.packet then refuse("resize") end
  if size < 0 or size > self.length and (self.length > self.kept or size > self.room) then
    error("bad argument #1 to 'resize' (insufficient tailroom)", 2)
  end
  if size > self.length and size > self.kept then
    clear(self.buffer, LINK + self.kept, size - self.kept)
    self.kept = size
  end
  self.length = size
end

local function swapped(word) return (word & 0xff) << 8 | word >> 8 end
local IS_LITTLE <const> = lib.string.pack("=I2", 1) == "\1\0"

-- 16 bits in network byte order.
local function word_at(buffer, at)
  local word = peek16(buffer, LINK + at)
  if IS_LITTLE then return swapped(word) end
  return word
end

local function put_word(buffer, at, word)
  poke8(buffer, LINK + at, word >> 8)
  poke8(buffer, LINK + at + 1, word & 0xff)
end

-- That of TCP or UDP, whose header is at an offset, over what ends at another one (RFC 9293 § 3.1, RFC 768, RFC 8200 § 8.1). `addresses` is where these are.
local function fix_transport(buffer, protocol, start, stop, addresses, bytes)
  local at = start + 6
  if protocol == 6 then at = start + 16 end
  put_word(buffer, at, 0)
  local pseudo = 0xffff ~ sum_of(buffer, LINK + addresses, bytes, protocol + (stop - start))
  local sum = sum_of(buffer, LINK + start, stop - start, pseudo)
  if sum == 0 and protocol == 17 then sum = 0xffff end
  put_word(buffer, at, sum)
end

-- The checksums of IPv4's header, and of TCP or UDP right behind the fixed header, of what the copy has all that they cover. Fragments have none of their own.
function methods.checksum(self)
  check(self, "checksum")
  if self.packet then refuse("checksum") end
  local buffer, length = self.buffer, self.length
  if length > self.kept then length = self.kept end
  if length < 20 then return end
  local version = peek8(buffer, LINK) >> 4
  local start, stop, protocol, addresses, bytes
  if version == 4 then
    start, stop = (peek8(buffer, LINK) & 15) * 4, word_at(buffer, 2)
    if start < 20 or start > length then return end
    put_word(buffer, 10, 0)
    put_word(buffer, 10, sum_of(buffer, LINK, start, 0))
    if word_at(buffer, 6) & 0x3fff ~= 0 then return end
    protocol, addresses, bytes = peek8(buffer, LINK + 9), 12, 8
  elseif version == 6 and length >= 40 then
    start, stop = 40, 40 + word_at(buffer, 4)
    protocol, addresses, bytes = peek8(buffer, LINK + 6), 8, 32
  else
    return
  end
  local least = 20
  if protocol == 17 then least = 8 elseif protocol ~= 6 then return end
  if stop > length or stop < start + least then return end
  fix_transport(buffer, protocol, start, stop, addresses, bytes)
end

-- Sends what it is now, from the link's header on, by its interface: the process does, so a verdict does not wait for it.
function methods.forward(self)
  check(self, "forward")
  local copy = self
  if copy.packet then copy = copy_of(self) end
  if copy.device == 0 then error("calling 'forward' on bad self (skb has no device)", 2) end
  if copy.link < 0 then error("calling 'forward' on bad self (MAC header not set)", 2) end
  local length = copy.link + copy.length
  -- What a copy does not have all of is not sent: the process counts it, and says so.
  if copy.length > copy.kept or copy.length > KEPT then length = 0 end
  send(copy.buffer, LINK - copy.link, length, copy.device)
end

-- The mark of the packet's connection, if it belongs to one. It cannot be changed here.
function methods.connmark(self, mark)
  check(self, "connmark")
  if mark ~= nil then refuse("connmark") end
  local connection = (self.packet or self.origin).ct
  if connection then return connection.mark end
  return nil
end

local M = {}

-- A verdict is what `lua_tointeger` makes of the result (Lua manual § 4.6), as a number of 32 bits: 0, DROP, of what is no number. Numbers that
-- are no verdicts accept.
function M.netfilter(hook)
  return function(packet)
    local result, mark = hook(setmetatable({ packet = packet }, skb))
    if mark ~= nil then
      error("a netfilter program cannot set the packet's mark, which is the second result", 0)
    end
    local verdict = (tointeger(result) or 0) & 0xffffffff
    if verdict > 5 then return 1 end
    return verdict
  end
end

-- No result is 0, ABORTED; so is a number that is no verdict.
function M.xdp(handler)
  return function(packet, argument)
    local verdict = (tointeger((handler(packet, argument))) or 0) & 0xffffffff
    if verdict > 4 then return 0 end
    return verdict
  end
end

return M
