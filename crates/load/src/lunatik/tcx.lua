-- Handlers of netfilter that are written for Lunatik, as handlers at tc.
--
-- Reads `lib` (the global variables of the script as it begins) and `windows` (what makes objects that show a part of a packet, of data.lua). Gives
-- what makes a handler of a function. Handlers reach what the functions below reach.
--
-- An `skb` is a table with three fields, whose names begin with a NUL and so are none that a script has:
--   PACKET  the frame
--   LENGTH  how many bytes it has from its IP header on: what a driver has put behind that does not count
--   WINDOW  the object that shows bytes of it, or false: there is one, whatever it is asked to show

local lib, windows = ...
local error, getmetatable, pcall, select, setmetatable, type =
  lib.error, lib.getmetatable, lib.pcall, lib.select, lib.setmetatable, lib.type
local tointeger = lib.math.tointeger
local new, aim, limit, integer = windows.new, windows.aim, windows.limit, windows.integer

local PACKET <const>, LENGTH <const>, WINDOW <const> = "\0packet", "\0length", "\0window"

-- Bytes of an Ethernet header, types of Ethernet, the most bytes of a frame, and a verdict of tc.
local ETHERNET <const>, IPV4 <const>, IPV6 <const>, LONGEST <const>, DROP <const> = 14, 0x0800, 0x86dd, 0xffff, 2

-- Without and with connections: on kernels that do not track any, no program may look for one.
local methods, tracking = {}, {}
local skb = { __index = methods, __name = "skb" }
local tracked = { __index = tracking, __name = "skb" }

-- Level 3 is the script, which called the method that calls this.
local function packet_of(self, name)
  local kind = type(self) == "table" and getmetatable(self)
  if kind ~= skb and kind ~= tracked then
    error("calling '" .. name .. "' on bad self (skb expected, got " .. type(self) .. ")", 3)
  end
  return self[PACKET]
end

local function length_of(self) return self[LENGTH] end
skb.__len, tracked.__len = length_of, length_of

function methods.data(self, layer)
  local packet, offset = packet_of(self, "data"), ETHERNET
  if layer == "mac" then
    offset = 0
  elseif layer ~= nil and layer ~= "net" then
    if type(layer) == "string" then
      error("bad argument #1 to 'data' (invalid option '" .. layer .. "')", 2)
    end
    error("bad argument #1 to 'data' (string expected, got " .. type(layer) .. ")", 2)
  end
  local length = ETHERNET + self[LENGTH] - offset
  local shown = self[WINDOW]
  if shown then
    aim(shown, offset, length)
    return shown
  end
  shown = new(packet, offset, length)
  self[WINDOW] = shown
  return shown
end

function methods.ifindex(self) return packet_of(self, "ifindex").ifindex end

-- The type says that no tag is among the bytes: this is the one beside the packet.
function methods.vlan(self)
  local tag = packet_of(self, "vlan").vlan
  return tag and tag.id
end

function methods.checksum(self) packet_of(self, "checksum"):fix_checksums() end

function methods.resize(self, ...)
  local packet = packet_of(self, "resize")
  local length = integer("resize", 1, ...)
  if length < 0 or length > LONGEST - ETHERNET then
    error("bad argument #1 to 'resize' (insufficient tailroom)", 2)
  end
  local change = ETHERNET + length - #packet
  if change > 0 then
    if not pcall(packet.grow, packet, change) then
      error("bad argument #1 to 'resize' (insufficient tailroom)", 2)
    end
  elseif change < 0 and not pcall(packet.shrink, packet, -change) then
    error("packet cannot be made shorter", 2)
  end
  self[LENGTH] = length
  if self[WINDOW] then limit(self[WINDOW], ETHERNET + length) end
end

-- Who spells these is told when the script is loaded.
function methods.copy(self)
  packet_of(self, "copy")
  error("packets cannot be copied at tc", 2)
end

function methods.forward(self)
  packet_of(self, "forward")
  error("packets cannot be sent by an skb at tc", 2)
end

for name, method in lib.pairs(methods) do tracking[name] = method end

function tracking.connmark(self, ...)
  local packet, mark = packet_of(self, "connmark"), false
  if select("#", ...) > 0 then mark = integer("connmark", 1, ...) & 0xffffffff end
  local connection = packet.ct
  if not connection then return nil end
  if mark then connection.mark = mark end
  return connection.mark
end

-- The handler for packets of IPv4, of IPv6, or of both; `mark` is that which packets must have, or false. The network stack drops packets that are
-- shorter than they say before netfilter sees them (`ip_rcv_core`, net/ipv4/ip_input.c).
return function(hook, ipv4, ipv6, mark, has_connections)
  local kind = has_connections and tracked or skb
  return function(packet)
    local ethernet = packet.eth
    if not ethernet then return end
    local protocol = ethernet.type
    if not (ipv4 and protocol == IPV4 or ipv6 and protocol == IPV6) then return end
    if mark and packet.mark ~= mark then return end
    local ip = packet.ip
    if not ip then return end
    local length = ip.length
    if length < 20 or length > #packet - ETHERNET then return end
    local result, new_mark = hook(setmetatable({ [PACKET] = packet, [LENGTH] = length, [WINDOW] = false }, kind))
    if new_mark ~= nil then packet.mark = (tointeger(new_mark) or 0) & 0xffffffff end
    local verdict = (tointeger(result) or 0) & 0xffffffff
    -- 1 accepts, and so does what is no verdict: others are asked next.
    if verdict == 1 or verdict > 5 then return end
    if verdict == 0 then return DROP end
    error("handler returned " .. verdict .. ", expected a verdict", 0)
  end
end
