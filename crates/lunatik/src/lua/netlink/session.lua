-- Requests by netlink, one after another: a socket of a protocol, `proto` of the class.
local socket, class, struct, linux = require("socket"), require("class"), require("struct"), require("linux")
local message = require("netlink.message")
local constants, of_sockets = require("linux.netlink"), require("linux.socket")
local failure = struct(constants.layout.nlmsgerr)

-- Dumps come in datagrams of 32 KiB at most (`netlink_dump`, net/netlink/af_netlink.c).
local ROOM = 1 << 16

local session = class{}

function session.__call(kind)
  local opened = socket.new(of_sockets.af.NETLINK, of_sockets.sock.RAW, kind.proto)
  return kind:new{ socket = opened, sequence = 0 }
end

-- The error that a message tells of: the number's name.
local function failed(answer)
  if answer.type ~= constants.type.ERROR or #answer.body < failure.size then return nil end
  local number = failure:unpack(answer.body)
  if number ~= 0 then return linux.errname(number) end
end

-- All messages up to one that is the last, or until there is nothing; whatever error is among them is raised when they are read.
local function answers(self, is_last)
  local all, first_error, is_over = {}, nil, false
  while not is_over do
    local bytes = self.socket:receive(ROOM)
    is_over = bytes == ""
    for _, answer in ipairs(message.parse(bytes)) do
      all[#all + 1] = answer
      first_error = first_error or failed(answer)
      is_over = is_over or is_last(answer)
    end
  end
  if first_error then error(first_error, 0) end
  return all
end

function session:request(type, flags, payload)
  self.sequence = self.sequence + 1
  self.socket:send(message.encode(type, flags | constants.flag.REQUEST, self.sequence, payload))
end

-- What the kernel has of something: messages, the last one of which says that it is.
function session:dump(type, payload)
  self:request(type, constants.flag.DUMP, payload)
  return answers(self, function(answer)
    return answer.type == constants.type.DONE or answer.flags & constants.flag.MULTI == 0
  end)
end

-- What is said to a request, and behind that that it is done.
function session:talk(type, flags, payload)
  self:request(type, constants.flag.ACK | (flags or 0), payload)
  return answers(self, function(answer) return answer.type == constants.type.ERROR end)
end

function session:close() self.socket:close() end

return session
