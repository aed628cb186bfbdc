-- Sockets at paths.
local socket, class = require("socket"), require("class")
local constants = require("linux.socket")
local kinds = constants.sock

local unix = class{}

function unix:__call(path)
  local new = self:new{ path = path }
  new.socket = socket.new(constants.af.UNIX, self.type, 0)
  return new
end

function unix:close() self.socket:close() end

function unix:bind(path) self.socket:bind(path or self.path) end

function unix:connect(path) self.socket:connect(path or self.path) end

function unix:send(message, path)
  if path then return self.socket:send(message, path) end
  return self.socket:send(message)
end

function unix:receive(...) return self.socket:receive(...) end

function unix:getsockname() return self.socket:getsockname() end

function unix:getpeername() return self.socket:getpeername() end

unix.stream = unix:new{ type = kinds.STREAM }

function unix.stream:listen(backlog) self.socket:listen(backlog) end

function unix.stream:accept(flags) return self.socket:accept(flags) end

unix.dgram = unix:new{ type = kinds.DGRAM }

function unix.dgram:receivefrom(length, flags) return self:receive(length, flags, true) end

function unix.dgram:sendto(message, path) return self:send(message, path or self.path) end

return unix
