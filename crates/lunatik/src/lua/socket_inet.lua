-- Sockets of IPv4, with addresses as text: `inet.tcp()`, `inet.udp()`.
local socket, net, class = require("socket"), require("net"), require("class")
local constants = require("linux.socket")

local inet = class{ localhost = "127.0.0.1" }

-- Methods that the socket has under the same names.
local function hand_on(kind, ...)
  for _, name in ipairs{ ... } do
    kind[name] = function(self, ...) return self.socket[name](self.socket, ...) end
  end
end

-- Those that take an address at a place among their arguments.
local function hand_on_address(kind, name, place)
  kind[name] = function(self, ...)
    local arguments = table.pack(...)
    local address = arguments[place]
    if address then arguments[place] = address == "*" and 0 or net.aton(address) end
    return self.socket[name](self.socket, table.unpack(arguments, 1, arguments.n))
  end
end

-- Those that give one, and a port.
local function hand_on_name(kind, name)
  kind[name] = function(self)
    local address, port = self.socket[name](self.socket)
    return net.ntoa(address), port
  end
end

hand_on(inet, "close", "receive")
hand_on_address(inet, "bind", 1)
hand_on_address(inet, "connect", 1)
hand_on_address(inet, "send", 2)
hand_on_name(inet, "getsockname")
hand_on_name(inet, "getpeername")

function inet:getaddr(what) return self["get" .. what](self) end

-- A socket of the class that is called.
function inet.__call(kind)
  return kind:new{ socket = socket.new(constants.af.INET, kind.type, kind.proto) }
end

inet.tcp = inet:new{ type = constants.sock.STREAM, proto = constants.ipproto.TCP }
hand_on(inet.tcp, "listen", "accept")

inet.udp = inet:new{ type = constants.sock.DGRAM, proto = constants.ipproto.UDP, sendto = inet.send }

function inet.udp:receivefrom(length, flags)
  local text, address, port = self.socket:receive(length, flags, true)
  return text, net.ntoa(address), port
end

return inet
