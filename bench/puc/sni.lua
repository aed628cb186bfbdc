-- Drops a TLS ClientHello that asks for a server name in the list.
local DROP <const>, PASS <const> = 1, 2
local lower <const> = string.lower
local HTTPS <const> = 0xbb01 -- port 443 as a little-endian read sees it

local names = {}
for name in io.lines((...)) do
  names[name] = true
end

return function(pkt)
  if pkt:getuint16(12) ~= 0x0008 or pkt:getuint8(23) ~= 6 then
    return PASS
  end
  local at = 14 + (pkt:getuint8(14) & 15) * 4
  if pkt:getuint16(at + 2) ~= HTTPS then
    return PASS
  end
  at = at + (pkt:getuint8(at + 12) >> 4) * 4
  local size <const> = #pkt
  if at + 44 > size or pkt:getuint8(at) ~= 22 or pkt:getuint8(at + 5) ~= 1 then
    return PASS
  end
  at = at + 44 + pkt:getuint8(at + 43)
  at = at + 2 + (pkt:getuint8(at) << 8 | pkt:getuint8(at + 1))
  at = at + 1 + pkt:getuint8(at) + 2
  while at + 9 <= size do
    if pkt:getuint16(at) == 0 then
      local length = pkt:getuint8(at + 7) << 8 | pkt:getuint8(at + 8)
      if length > 0 and pkt:getuint8(at + 8 + length) == 46 then
        length = length - 1
      end
      return names[lower(pkt:getstring(at + 9, length))] and DROP or PASS
    end
    at = at + 4 + (pkt:getuint8(at + 2) << 8 | pkt:getuint8(at + 3))
  end
  return PASS
end
