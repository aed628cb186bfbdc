-- Drops a TLS ClientHello that asks for a server name in the list.
local ffi = require "ffi"
local bit = require "bit"
local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift
local lower = string.lower
local DROP, PASS = 1, 2

local names = {}
for name in io.lines((...)) do
  names[name] = true
end

local function uint16(p, at)
  return bor(lshift(p[at], 8), p[at + 1])
end

return function(p, size)
  if size < 54 or p[12] ~= 8 or p[13] ~= 0 or p[23] ~= 6 then
    return PASS
  end
  local at = 14 + band(p[14], 15) * 4
  if at + 20 > size or uint16(p, at + 2) ~= 443 then
    return PASS
  end
  at = at + rshift(p[at + 12], 4) * 4
  if at + 44 > size or p[at] ~= 22 or p[at + 5] ~= 1 then
    return PASS
  end
  at = at + 44 + p[at + 43]
  if at + 2 > size then return PASS end
  at = at + 2 + uint16(p, at)
  if at + 1 > size then return PASS end
  at = at + 1 + p[at] + 2
  -- A `goto`, because the loop runs a few times only: LuaJIT unrolls it into the trace of the packet loop, whereas it gives
  -- up compiling that one around a `while`.
  ::extension::
  if at + 9 > size then return PASS end
  if uint16(p, at) ~= 0 then
    at = at + 4 + uint16(p, at + 2)
    goto extension
  end
  local length = uint16(p, at + 7)
  if at + 9 + length > size then return PASS end
  if length > 0 and p[at + 8 + length] == 46 then
    length = length - 1
  end
  return names[lower(ffi.string(p + at + 9, length))] and DROP or PASS
end
