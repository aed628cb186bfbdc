-- Drops UDP datagrams to one port in frames longer than 128 bytes.
local bit = require "bit"
local band, bor, lshift = bit.band, bit.bor, bit.lshift
local DROP, PASS = 1, 2
local PORT = 5060

return function(p, size)
  if size < 42 or p[12] ~= 8 or p[13] ~= 0 or p[23] ~= 17 then
    return PASS
  end
  local udp = 14 + band(p[14], 15) * 4
  if udp + 8 > size or bor(lshift(p[udp + 2], 8), p[udp + 3]) ~= PORT then
    return PASS
  end
  return size > 128 and DROP or PASS
end
