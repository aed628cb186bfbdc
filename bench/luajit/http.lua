-- Shared by the two User-Agent handlers: the offset of the payload of a TCP segment to port 80, or nil.
local bit = require "bit"
local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift

return function(p, size)
  if size < 54 or p[12] ~= 8 or p[13] ~= 0 or p[23] ~= 6 then
    return nil
  end
  local at = 14 + band(p[14], 15) * 4
  if at + 20 > size or bor(lshift(p[at + 2], 8), p[at + 3]) ~= 80 then
    return nil
  end
  at = at + rshift(p[at + 12], 4) * 4
  return at <= size and at or nil
end
