-- The module `nf` of NFLua's second generation: what its functions do besides reading the frame and the packet that they get.
--
-- Reads `lib` (the global variables of the state), `native` (functions of the process), `is_packet_time` (whether what runs is packet code: then what the process has to
-- do is an event), `kept` (gives what rules.lua keeps while a function decides about a packet), `connid` of packets, `common.match_bits` (numbers of match bits that are set), `ahead` (by
-- how many seconds the clock of packet code is ahead of UTC), and `LONGEST`, how many bytes a message has at most.

local lib, native, is_packet_time, kept, connid, common, ahead, LONGEST = ...
local error, getmetatable, select, setmetatable, tostring, type =
  lib.error, lib.getmetatable, lib.select, lib.setmetatable, lib.tostring, lib.type
local format, sub, tointeger, event = lib.string.format, lib.string.sub, lib.math.tointeger, lib.event
local clock = lib.require("linux").time

-- Bytes of a packet, or for one, that an event can carry.
local MOST <const> = 15000
local SECOND <const>, MILLISECOND <const> = 1000000000, 1000000
-- The number of TCP (RFC 9293), and bytes in which all headers are.
local TCP <const>, HEAD <const> = 6, 256

-- Arguments ---------------------------------------------------------------------------------------------------------

-- Level 4 is the script, which called the function that calls those below.
local function refuse(number, name, problem)
  error("bad argument #" .. number .. " to '" .. name .. "' (" .. problem .. ")", 4)
end

local function got(value)
  if value == nil then return "no value" end
  return type(value)
end

local function text(value, number, name)
  if type(value) == "string" then return value end
  if type(value) == "number" then return tostring(value) end
  refuse(number, name, "string expected, got " .. got(value))
end

local function integer(value, number, name)
  local whole = tointeger(value)
  if whole then return whole end
  if type(value) == "number" then refuse(number, name, "number has no integer representation") end
  refuse(number, name, "number expected, got " .. got(value))
end

local function boolean(value, number, name)
  if type(value) ~= "boolean" then refuse(number, name, "boolean expected, got " .. got(value)) end
  return value
end

local function one_of(value, number, name, one, another, third)
  local option = text(value, number, name)
  if option ~= one and option ~= another and option ~= third then
    refuse(number, name, format("invalid option '%s'", option))
  end
  return option
end

-- What is known of the packet that a function decides about.
local function present()
  local context = kept()
  if not context then error("couldn't get packet context", 3) end
  return context
end

local function only_outside(what)
  if is_packet_time() then error("matches cannot " .. what .. ": a target can", 3) end
end

-- Copies of packets -------------------------------------------------------------------------------------------------

local kind = {}
local methods = {}
local class = { __index = methods, __name = "lskb", __metatable = kind }

local function opened(self, name)
  if type(self) ~= "table" or getmetatable(self) ~= kind then
    error("calling '" .. name .. "' on bad self (lskb expected, got " .. type(self) .. ")", 3)
  end
  return self.bytes
end

class.__tostring = function(self)
  if not self.bytes then return "packet closed" end
  return "packet: { len:" .. #self.bytes .. " }"
end

function methods.close(self)
  opened(self, "close")
  self.bytes = false
end

-- Sends the copy on to where it is for, with another payload where one is given: of TCP, or else of UDP.
function methods.send(self, payload, protocol)
  local bytes = opened(self, "send")
  if not bytes then error("closed packet", 2) end
  if type(payload) == "number" then payload = tostring(payload) end
  local has_payload, is_tcp = type(payload) == "string", tointeger(protocol) == TCP
  if is_packet_time() then
    self.bytes = false
    if has_payload and #payload > MOST then
      error("unable to set " .. (is_tcp and "tcp" or "udp") .. " payload", 2)
    elseif has_payload then
      event("\0changed", payload, sub(bytes, 1, HEAD), #bytes, is_tcp)
    elseif #bytes > MOST then
      error("unable to send packet", 2)
    else
      event("\0forward", bytes)
    end
    return
  end
  if has_payload then
    bytes = native.with_payload(bytes, payload, is_tcp)
    if not bytes then error("unable to set " .. (is_tcp and "tcp" or "udp") .. " payload", 2) end
  end
  self.bytes = false
  if not native.forward(bytes) then error("unable to send packet", 2) end
end

-- The module --------------------------------------------------------------------------------------------------------

local nf = {}

-- A copy of the packet, the same one whenever it is asked for.
function nf.getpacket()
  local context = present()
  if not context.copy then context.copy = setmetatable({ bytes = tostring(context.object) }, class) end
  return context.copy
end

-- Whether the packet can be answered; those of targets are looked at by the process.
local function answerable(packet, is_tcp)
  if not packet then return true end
  if is_tcp then return packet.tcp and not packet.tcp.rst end
  return packet.udp
end

-- Answers the packet: with a segment of TCP, or a datagram of UDP.
function nf.reply(protocol, message)
  local context = kept()
  if not context then error("couldn't reply a packet", 2) end
  local first = sub(text(protocol, 1, "reply"), 1, 1)
  message = text(message, 2, "reply")
  local is_tcp = first == "t"
  if not is_tcp and first ~= "u" or not answerable(context.packet, is_tcp) then
    error("couldn't reply a packet", 2)
  end
  local bytes = tostring(context.object)
  if is_packet_time() then
    if #message > MOST then error("couldn't reply a packet", 2) end
    if is_tcp then
      event("\0reply", message, sub(bytes, 1, HEAD), #bytes)
    else
      event("\0datagram", message, sub(bytes, 1, HEAD), #bytes)
    end
  elseif not native.reply(bytes, message, is_tcp) then
    error("couldn't reply a packet", 2)
  end
end

function nf.connid()
  return connid(tostring(present().object))
end

-- Whether the packet is dropped, whatever the function returns; that of a match has it match.
function nf.hotdrop(drop)
  local context = present()
  context.hotdrop = boolean(drop, 1, "hotdrop")
end

-- Sends bytes to who has a port; gives how many.
local function send(name, problems, payload, port)
  if #payload > LONGEST then error("message too long", 3) end
  if is_packet_time() then
    event("\0send", port, payload)
    return #payload
  end
  local code = native.send(port, payload)
  if code < 0 then error(problems[code] or format("error code %d", code), 3) end
  return #payload
end

-- By -EAGAIN and -ECONNREFUSED.
local OF_NETLINK <const> =
  { [-11] = "socket buffer full: agent busy?", [-111] = "connection refused: agent shut down?" }
local OF_GENERIC <const> =
  { [-11] = "socket buffer full: Userspace busy?", [-111] = "connection refused: Userspace shut down?" }

function nf.netlink(payload, port, group, flags)
  payload, port = text(payload, 1, "netlink"), integer(port, 2, "netlink")
  local groups = group ~= nil and integer(group, 3, "netlink") or 0
  if flags ~= nil then integer(flags, 4, "netlink") end
  if groups ~= 0 then error("ports have no groups here: send to one port", 2) end
  local sent = send("netlink", OF_NETLINK, payload, port)
  return sent
end

function nf.genetlink(payload, port)
  payload, port = text(payload, 1, "genetlink"), integer(port, 2, "genetlink")
  local sent = send("genetlink", OF_GENERIC, payload, port)
  return sent
end

-- UTC in seconds, and milliseconds of the second.
function nf.time()
  local now = clock() - ahead * SECOND
  return now // SECOND, now % SECOND // MILLISECOND
end

-- The arguments that say which connection: their types, in the order in which they are looked at.
local function check_connection(name, family, protocol, source, source_port, target, target_port)
  integer(family, 1, name)
  one_of(protocol, 2, name, "udp", "tcp")
  text(source, 3, name)
  if type(source_port) ~= "number" then refuse(4, name, "number expected, got " .. got(source_port)) end
  text(target, 5, name)
  if type(target_port) ~= "number" then refuse(6, name, "number expected, got " .. got(target_port)) end
end

-- How many packets and bytes a connection has had, in one direction or both.
function nf.traffic(family, protocol, source, source_port, target, target_port, direction)
  one_of(direction, 7, "traffic", "original", "reply", "both")
  check_connection("traffic", family, protocol, source, source_port, target, target_port)
  only_outside("ask for connections")
  local found, packets, bytes, others, more =
    native.traffic(tointeger(family), protocol, source, source_port, target, target_port, direction)
  if type(found) == "string" and found ~= "invalid port" then error(found, 2) end
  if found == 1 then return nil, "counters not found" end
  if found ~= 2 then return nil, "connid entry not found" end
  if direction == "original" then return packets, bytes end
  if direction == "reply" then return others, more end
  return packets, bytes, others, more
end

-- Has the kernel follow the packet's connection no more, or the one that the arguments say.
function nf.delete_conntrack(...)
  local context = present()
  if select("#", ...) == 0 then
    local bytes = tostring(context.object)
    if is_packet_time() then event("\0forget", sub(bytes, 1, HEAD), #bytes) else native.forget_of(bytes) end
    return
  end
  local family, protocol, source, source_port, target, target_port = ...
  check_connection("delete_conntrack", family, protocol, source, source_port, target, target_port)
  only_outside("say which connection")
  local problem = native.forget(tointeger(family), protocol, source, source_port, target, target_port)
  if problem and problem ~= "invalid port" then error(problem, 2) end
end

-- Bytes that the state takes, and for how many microseconds functions have been at work in it since this was asked last.
function nf.get_cpu_mem_info()
  only_outside("ask what a state takes")
  return native.spent()
end

-- Match bits --------------------------------------------------------------------------------------------------------

local LAST <const> = 31

function nf.set_match_bit(bit, enable)
  bit = integer(bit, 1, "set_match_bit")
  if bit < 0 or bit > LAST then
    error("bad argument #1 to 'set_match_bit' (bit out of range)", 2)
  end
  if boolean(enable, 2, "set_match_bit") then common.match_bits[bit] = true else common.match_bits[bit] = nil end
end

-- All of them, as an integer of 32 bits with a sign.
function nf.get_match_mask()
  local mask = 0
  for bit = 0, LAST do
    if common.match_bits[bit] then mask = mask | 1 << bit end
  end
  return (mask ~ 1 << LAST) - (1 << LAST)
end

function nf.reset_match_mask()
  for bit = 0, LAST do common.match_bits[bit] = nil end
end

return nf
