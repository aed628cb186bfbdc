-- Gives the handler that bench/scripts/NAME.lua registers: the text that Moonhook compiles, run by LuaJIT. The packet is one
-- object that every call is given, with methods that read from the frame's address and check bounds.
local ffi = require "ffi"

local packet = {}

function packet:getuint8(offset)
  if offset < 0 or offset >= self.size then
    error("out of bounds")
  end
  return self.bytes[offset]
end

function packet:getstring(offset, length)
  offset = offset or 0
  length = length or self.size - offset
  if offset < 0 or length < 0 or offset + length > self.size then
    error("out of bounds")
  end
  return ffi.string(self.bytes + offset, length)
end

packet.__index = packet

return function(path)
  local handler
  package.preload["xdp"] = function()
    return { attach = function(f) handler = f end }
  end
  package.preload["linux.xdp"] = function()
    return { ABORTED = 0, DROP = 1, PASS = 2 }
  end
  dofile(path)
  local pkt = setmetatable({}, packet)
  return function(bytes, size)
    pkt.bytes, pkt.size = bytes, size
    return handler(pkt)
  end
end
