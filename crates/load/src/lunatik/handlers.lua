-- Handlers that are written for Lunatik, as handlers of Moonhook's: by the hook's name, a function that makes the one of the other.
--
-- Reads `lib` (the global variables of the script as it begins). Handlers reach what the functions below reach.

local lib = ...
local error, getmetatable, setmetatable, type =
  lib.error, lib.getmetatable, lib.setmetatable, lib.type
local tointeger = lib.math.tointeger

-- Packets of netfilter: `skb` has the packet beside what the network stack knows of it.
local methods = {}
local skb = { __index = methods, __name = "skb" }

-- Level 3 is the script, which called the method that calls this.
local function packet_of(self, name)
  if type(self) ~= "table" or getmetatable(self) ~= skb then
    local got = type(self)
    error("bad argument #1 to '" .. name .. "' (skb expected, got " .. got .. ")", 3)
  end
  return self.packet
end

skb.__len = function(self) return #self.packet end

-- Bytes of the packet from its network header on, which is where they begin at this hook.
function methods.data(self, layer)
  local packet = packet_of(self, "data")
  if layer == nil or layer == "net" then return packet end
  if layer == "mac" then
    error("bad argument #1 to 'data' (MAC header not set)", 2)
  end
  if type(layer) == "string" then
    error("bad argument #1 to 'data' (invalid option '" .. layer .. "')", 2)
  end
  error("bad argument #1 to 'data' (string expected, got " .. type(layer) .. ")", 2)
end

-- The interface that the packet has come in by, or that it leaves by; none of those that this host sends.
function methods.ifindex(self)
  local index = packet_of(self, "ifindex").ifindex
  if index ~= 0 then return index end
end

local M = {}

-- A verdict is what `lua_tointeger` makes of the result (Lua manual § 4.6): 0, DROP, of what is no number. Numbers that are no verdicts accept.
function M.netfilter(hook)
  return function(packet)
    local result, mark = hook(setmetatable({ packet = packet }, skb))
    if mark ~= nil then
      error("a netfilter program cannot set the packet's mark, which is the second result", 0)
    end
    local verdict = tointeger(result) or 0
    if verdict < 0 or verdict > 5 then return 1 end
    return verdict
  end
end

-- No result is 0, ABORTED; so is a number that is no verdict.
function M.xdp(handler)
  return function(packet, argument)
    local verdict = tointeger((handler(packet, argument))) or 0
    if verdict < 0 or verdict > 4 then return 0 end
    return verdict
  end
end

return M
