-- Sockets at paths: `unix.stream(path)`, `unix.dgram(path)`. The path is where they are bound or connected to if nothing else is said.
local socket, class = require("socket"), require("class")
local constants = require("linux.socket")

local unix = class{}

-- Methods that the socket has under the same names.
local function hand_on(kind, ...)
  for _, name in ipairs{ ... } do
    kind[name] = function(self, ...) return self.socket[name](self.socket, ...) end
  end
end

hand_on(unix, "close", "receive", "send", "getsockname", "getpeername")

for _, name in ipairs{ "bind", "connect" } do
  unix[name] = function(self, path) return self.socket[name](self.socket, path or self.path) end
end

-- A socket of the class that is called.
function unix.__call(kind, path)
  return kind:new{ path = path, socket = socket.new(constants.af.UNIX, kind.type, 0) }
end

unix.stream = unix:new{ type = constants.sock.STREAM }
hand_on(unix.stream, "listen", "accept")

unix.dgram = unix:new{
  type = constants.sock.DGRAM,
  receivefrom = function(self, length, flags) return self.socket:receive(length, flags, true) end,
  sendto = function(self, text, path) return self.socket:send(text, path or self.path) end,
}

return unix
