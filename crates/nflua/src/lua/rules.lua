-- What matches and targets say: the function that a rule names is called as its generation has it. That of 2019 gets a packet (packet.lua), its successor the frame and the
-- packet as objects of bytes with layouts.
--
-- Reads `lib` (the global variables of the state), `packets` (what packet.lua gives), `keep` (keeps something while a function decides), `object` (makes
-- such objects), `link` (gives the link's header of a packet in packet code), and `common.match_bits` (numbers of match bits that are set).

local lib, packets, keep, object, link, common = ...
local error, tostring, type = lib.error, lib.tostring, lib.type
local BITS <const> = 32

local M = {}

-- The function that a rule names.
local function named(name)
  local found = lib[name]
  if type(found) ~= "function" then error("couldn't find function: " .. name, 0) end
  return found
end

-- What the state calls so now is what packets ask: programs are made anew with what the state executes.
local function known(name)
  local found = lib[name]
  if type(found) == "function" then return found end
  return function() error("couldn't find function: " .. name, 0) end
end

-- Matches -----------------------------------------------------------------------------------------------------------

local function asks_for_packet(name)
  local found = known(name)
  return function(packet)
    local result = found(packets.of_match(packet))
    if result == true or result == "hotdrop" then return true end
    if result == false then return false end
    error("invalid match return", 0)
  end
end

local function asks_for_objects(name)
  local found = known(name)
  return function(packet)
    local context = { packet = packet, object = object(packet), hotdrop = false, copy = false }
    keep(context)
    local result = found(object(false, link(packet)), context.object)
    if context.hotdrop then return true end
    if type(result) ~= "boolean" then error("invalid match return: " .. name, 0) end
    return result
  end
end

-- Asks while one of the bits of a mask is set.
local function asks_while_set(mask, asks)
  local wanted = {}
  for bit = 0, BITS - 1 do
    if mask >> bit & 1 == 1 then wanted[#wanted + 1] = bit end
  end
  return function(packet)
    for at = 1, #wanted do
      if common.match_bits[wanted[at]] then return asks(packet) end
    end
    return false
  end
end

local function asks_of_payload(asks)
  return function(packet)
    if packet.tcp and #packet.payload > 0 then return asks(packet) end
    return false
  end
end

-- A handler for matches that rules have with the function called `name`, which gets objects or a packet; where `has_payload`, of TCP packets with a payload only; where
-- `mask` is not 0, only while one of its bits is set. Without a name that is all.
function M.match(name, gets_objects, has_payload, mask)
  local asks
  if name == "" then
    asks = function() return true end
  elseif gets_objects then
    asks = asks_for_objects(name)
  else
    asks = asks_for_packet(name)
  end
  if has_payload then asks = asks_of_payload(asks) end
  if mask ~= 0 then asks = asks_while_set(mask, asks) end
  return asks
end

-- Targets -----------------------------------------------------------------------------------------------------------

-- What a function says of a packet that waits (`packets.waiting`).
function M.decide(name, packet) return named(name)(packet) end

-- What a function says of a packet with these bytes and that link header: a verdict, and the packet's bytes if it has others by then. What is stolen is gone: the function has its copy.
function M.decide_by_objects(name, bytes, header)
  local context = { packet = false, object = object(false, bytes), hotdrop = false, copy = false }
  keep(context)
  local result = named(name)(object(false, header), context.object)
  if context.hotdrop or result == "stolen" then return "drop" end
  local changed = tostring(context.object)
  if changed == bytes then return result end
  return result, changed
end

-- Nothing is decided any more.
function M.decided() keep(nil) end

return M
