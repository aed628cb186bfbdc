-- Messages from one state to another: a queue of bytes, in which each has its length in front of it, and something to wait for. An inbox is the end
-- where they come out, an outbox the other one; each can be made of the queue and the event of the other.
local fifo, completion = require("fifo"), require("completion")

-- The bytes of a length in front of a message.
local PREFIX = string.packsize("T")

local Inbox, Outbox = {}, {}
Inbox.__index, Outbox.__index = Inbox, Outbox

function Inbox:send() error("receive-only mailbox") end

function Outbox:receive() error("send-only mailbox") end

function Outbox:send(message)
  local queue, event = self.queue, self.event
  queue:push(("s"):pack(message))
  event:complete()
end

function Inbox:receive(timeout)
  local is_told, why = self.event:wait(timeout)
  if not is_told then error(why) end
  local prefix, count = self.queue:pop(PREFIX)
  if count == PREFIX then
    local length = ("T"):unpack(prefix)
    return self.queue:pop(length)
  end
  -- Nothing, where somebody else was faster.
  if count > 0 then error("malformed message") end
end

-- What makes ends of a kind: a number is how many bytes there is room for.
local function maker(class)
  return function(room, event)
    local is_new = type(room) ~= "userdata"
    return setmetatable({
      queue = is_new and fifo.new(room) or room,
      event = is_new and completion.new() or event,
    }, class)
  end
end

return { inbox = maker(Inbox), outbox = maker(Outbox) }
