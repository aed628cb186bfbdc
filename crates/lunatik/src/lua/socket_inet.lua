-- Sockets of IPv4, with addresses as text.
local socket, net, class = require("socket"), require("net"), require("class")
local constants = require("linux.socket")
local kinds, protocols = constants.sock, constants.ipproto

local inet = class{ localhost = "127.0.0.1" }

function inet:__call()
  local new = self:new()
  new.socket = socket.new(constants.af.INET, self.type, self.proto)
  return new
end

function inet:close() self.socket:close() end

function inet:receive(...) return self.socket:receive(...) end

function inet:send(message, address, port)
  if address then return self.socket:send(message, net.aton(address), port) end
  return self.socket:send(message)
end

function inet:bind(address, port)
  return self.socket:bind(address == "*" and 0 or net.aton(address), port)
end

function inet:connect(address, port, flags)
  self.socket:connect(net.aton(address), port, flags)
end

function inet:getaddr(what)
  local address, port = self.socket["get" .. what](self.socket)
  return net.ntoa(address), port
end

function inet:getsockname() return self:getaddr("sockname") end

function inet:getpeername() return self:getaddr("peername") end

inet.tcp = inet:new{ type = kinds.STREAM, proto = protocols.TCP }

function inet.tcp:listen(backlog) self.socket:listen(backlog) end

function inet.tcp:accept(flags) return self.socket:accept(flags) end

inet.udp = inet:new{ type = kinds.DGRAM, proto = protocols.UDP }

function inet.udp:receivefrom(length, flags)
  local message, address, port = self:receive(length, flags, true)
  return message, net.ntoa(address), port
end

inet.udp.sendto = inet.udp.send

return inet
