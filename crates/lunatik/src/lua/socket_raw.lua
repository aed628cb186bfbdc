-- Sockets that send and receive whole frames.
local socket = require("socket")
local constants, ALL = require("linux.socket"), require("linux.eth").ALL

local raw = {}

function raw.bind(protocol, interface)
  protocol = protocol or ALL
  local bound = socket.new(constants.af.PACKET, constants.sock.RAW, protocol)
  bound:bind(protocol, interface or 0)
  return bound
end

return raw
