-- Handlers that a program in C calls with memory of its own: where something is, a text, and a number behind it.
local xdp = require "xdp"
local action = require "linux.xdp"

local refused = { abc = true, [""] = true }

-- What `arg:checksum(from, length)` is.
local function checksum(arg, from, length)
  local sum = length % 2 == 1 and arg:getbyte(from + length - 1) or 0
  for at = from, from + length - 2, 2 do sum = sum + arg:getuint16(at) end
  return (sum & 0xffff) + (sum >> 16) ~ 0xffff
end

xdp.attach(function(pkt, arg)
  local at = arg:getbyte(0) << 8 | arg:getbyte(1)
  local text = arg:getstring(2, 3)
  if #arg ~= 9 or arg:getuint32(5) ~= 0x01020304 and arg:getint8(8) ~= 1 then return action.TX end
  if arg:checksum(1, 7) ~= checksum(arg, 1, 7) or arg:checksum(8) ~= checksum(arg, 8, 1) then return action.TX end
  if pkt:getbyte(at) == 99 or refused[text] then return action.DROP end
end)

xdp.attach(function(pkt, arg)
  if tostring(arg):sub(3, 5) == "two" then return action.ABORTED end
end)
