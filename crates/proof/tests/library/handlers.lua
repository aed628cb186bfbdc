-- Handlers that a program in C calls with memory of its own: where something is, a text, and a number behind it.
local xdp = require "xdp"
local action = require "linux.xdp"

local refused = { abc = true, [""] = true }

xdp.attach(function(pkt, arg)
  local at = arg:getbyte(0) << 8 | arg:getbyte(1)
  local text = arg:getstring(2, 3)
  if #arg ~= 9 or arg:getuint32(5) ~= 0x01020304 and arg:getint8(8) ~= 1 then return action.TX end
  if pkt:getbyte(at) == 99 or refused[text] then return action.DROP end
end)

xdp.attach(function(pkt, arg)
  if tostring(arg):sub(3, 5) == "two" then return action.ABORTED end
end)
