-- end(): what the node of a segment does (End, RFC 8986, section 4.1): the next segment becomes the destination, and the hop limit is one less.
-- Gives 1; the packet is to be sent on. Gives 0 for packets without a routing header for segments, and for those that have passed all of them.
-- Drops those whose hop limit is over, or whose header is wrong or not whole: ICMP errors are the network stack's to send, and XDP has none.
local DROP <const>, ROUTING <const>, SEGMENT_ROUTING <const> = 1, 43, 4
local LINK <const>, HEADER <const>, DESTINATION <const> = 14, 40, 38

return function(pkt)
  local ip, at = pkt.ip, LINK + HEADER
  if not ip or ip.version ~= 6 or pkt.vlan or pkt:getbyte(LINK + 6) ~= ROUTING or at + 8 > #pkt then
    return 0
  end
  local length, left, last = pkt:getbyte(at + 1), pkt:getbyte(at + 3), pkt:getbyte(at + 4)
  if pkt:getbyte(at + 2) ~= SEGMENT_ROUTING or left == 0 then
    return 0
  end
  local hops = pkt:getbyte(LINK + 7)
  if hops <= 1 or last > length // 2 - 1 or left > last + 1 then
    return nil, DROP
  end
  left = left - 1
  local segment = at + 8 + 16 * left
  if segment + 16 > #pkt then
    return nil, DROP
  end
  pkt:setbyte(LINK + 7, hops - 1)
  pkt:setbyte(at + 3, left)
  pkt:setstring(DESTINATION, pkt:getstring(segment, 16))
  return 1
end
