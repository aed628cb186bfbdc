-- Messages from one state to another: a queue of bytes, with each message's length in front of it, and something to wait for.
local fifo, completion = require("fifo"), require("completion")

local mailbox, methods = {}, {}
methods.__index = methods

local LENGTH = string.packsize("T")

local function box(queue, event, may, may_not)
  local new
  if type(queue) == "userdata" then
    new = { queue = queue, event = event }
  else
    new = { queue = fifo.new(queue), event = completion.new() }
  end
  new[may_not] = function() error(may .. "-only mailbox") end
  return setmetatable(new, methods)
end

function mailbox.inbox(queue, event) return box(queue, event, "receive", "send") end

function mailbox.outbox(queue, event) return box(queue, event, "send", "receive") end

function methods:receive(timeout)
  local told, reason = self.event:wait(timeout)
  if not told then error(reason) end
  local header, got = self.queue:pop(LENGTH)
  if got == 0 then return nil end
  if got < LENGTH then error("malformed message") end
  return self.queue:pop((string.unpack("T", header)))
end

function methods:send(message)
  self.queue:push(string.pack("s", message))
  self.event:complete()
end

return mailbox
