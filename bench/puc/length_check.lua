-- Drops UDP datagrams to one port in frames longer than 128 bytes.
local DROP <const>, PASS <const> = 1, 2
local PORT <const> = 5060 >> 8 | (5060 & 255) << 8 -- as a little-endian read sees it

return function(pkt)
  if pkt:getuint16(12) ~= 0x0008 or pkt:getuint8(23) ~= 17 then
    return PASS
  end
  local udp = 14 + (pkt:getuint8(14) & 15) * 4
  if pkt:getuint16(udp + 2) ~= PORT then
    return PASS
  end
  return #pkt > 128 and DROP or PASS
end
