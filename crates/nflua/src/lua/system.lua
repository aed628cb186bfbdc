-- What states have beside packets: timers, messages for processes, connections, time.
--
-- Reads `lib` (the global variables of the state), `native`, `is_packet_time` and `bytes_of` as packets do, and `ahead`, by how many seconds the clock of packet code
-- is ahead of UTC, and `LONGEST`, how many bytes a message has at most. Changes the global variables, and gives how many timers there are that have not gone off.

local lib, native, is_packet_time, bytes_of, ahead, LONGEST = ...
local error, getmetatable, setmetatable, type = lib.error, lib.getmetatable, lib.setmetatable, lib.type
local after, cancel, event = lib.timer.after, lib.timer.cancel, lib.event
local clock, tointeger, format = lib.require("linux").time, lib.math.tointeger, lib.string.format

local SECOND <const> = 1000000000

local function refuse(number, name, problem)
  error("bad argument #" .. number .. " to '" .. name .. "' (" .. problem .. ")", 3)
end

-- Timers ------------------------------------------------------------------------------------------------------------

local kind = {}
local class = { __name = "ltimer", __metatable = kind }
local count = 0

local timer = {}

function timer.create(milliseconds, callback)
  local whole = tointeger(milliseconds)
  if not whole then refuse(1, "create", "number expected, got " .. type(milliseconds)) end
  if type(callback) ~= "function" then refuse(2, "create", "function expected, got " .. type(callback)) end
  if is_packet_time() then error("matches cannot create timers: a target can", 2) end
  local made = setmetatable({}, class)
  count = count + 1
  made.number = after((whole < 0 and 0 or whole) / 1000, function()
    made.number = nil
    count = count - 1
    callback()
  end)
  return made
end

function timer.destroy(made)
  if type(made) ~= "table" or getmetatable(made) ~= kind then
    refuse(1, "destroy", "ltimer expected, got " .. type(made))
  end
  if not made.number then return nil, "timer already destroyed" end
  cancel(made.number)
  made.number = nil
  count = count - 1
  return true
end

-- Messages ----------------------------------------------------------------------------------------------------------

local netlink = {}

-- Sends bytes to who has the port `pid`; gives how many.
function netlink.send(pid, group, payload)
  local port = tointeger(pid)
  if not port then refuse(1, "send", "number expected, got " .. type(pid)) end
  if group ~= nil and not tointeger(group) then refuse(2, "send", "number expected, got " .. type(group)) end
  local bytes = bytes_of(payload, 3, "send")
  -- -EMSGSIZE.
  if #bytes > LONGEST then error("failed to send message. Return code -90", 2) end
  if is_packet_time() then
    event("\0send", port, bytes)
  else
    local code = native.send(port, bytes)
    if code < 0 then error(format("failed to send message. Return code %d", code), 2) end
  end
  return #bytes
end

-- Connections -------------------------------------------------------------------------------------------------------

local conn = {}

local TYPES <const> = { "number", "string", "string", "number", "string", "number", "string" }

-- How many packets and bytes a connection has had, in one direction or both.
function conn.traffic(...)
  local arguments = { ... }
  for number = 1, 7 do
    local value = arguments[number]
    if type(value) ~= TYPES[number] then
      local got = value == nil and "no value" or type(value)
      refuse(number, "conn.traffic", TYPES[number] .. " expected, got " .. got)
    end
  end
  if is_packet_time() then error("matches cannot ask for connections: a target can", 2) end
  local result = { native.traffic(...) }
  if type(result[1]) == "string" then
    local problem, number = result[1], result[2]
    if problem == "invalid option" then problem = format("%s '%s'", problem, arguments[number]) end
    refuse(number, "conn.traffic", problem)
  end
  if result[1] == 0 then return nil, "connid entry not found" end
  if result[1] == 1 then return nil, "counters not found" end
  if arguments[7] == "original" then return result[2], result[3] end
  if arguments[7] == "reply" then return result[4], result[5] end
  return result[2], result[3], result[4], result[5]
end

-- Time --------------------------------------------------------------------------------------------------------------

-- UTC in seconds, and nanoseconds of the second.
function lib.os.time()
  local now = clock() - ahead * SECOND
  return now // SECOND, now % SECOND
end

lib.timer, lib.netlink, lib.conn = timer, netlink, conn

return function() return count end
