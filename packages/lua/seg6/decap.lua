-- decap(): takes an IP packet out of one of IPv6, with or without a routing header whose segments are all passed (RFC 8986, section 4.1.1,
-- upper-layer headers 41 and 4). Gives 1, or 0 for other packets, which stay as they are.
local ROUTING <const>, SEGMENT_ROUTING <const>, IPV6 <const>, IPV4 <const> = 43, 4, 41, 4
local LINK <const>, HEADER <const> = 14, 40

-- Whether there is an IP packet of that version, whose header is whole.
local function is_packet(pkt, at, version)
  local least = version == 6 and HEADER or 20
  if at + least > #pkt or pkt:getbyte(at) >> 4 ~= version then
    return false
  end
  local words = pkt:getbyte(at) & 15
  return version == 6 or words >= 5 and at + 4 * words <= #pkt
end

return function(pkt)
  local ip = pkt.ip
  if not ip or ip.version ~= 6 or pkt.vlan then
    return 0
  end
  local next, at = pkt:getbyte(LINK + 6), LINK + HEADER
  if next == ROUTING then
    if at + 8 > #pkt or pkt:getbyte(at + 2) ~= SEGMENT_ROUTING or pkt:getbyte(at + 3) ~= 0 then
      return 0
    end
    next = pkt:getbyte(at)
    at = at + 8 + 8 * pkt:getbyte(at + 1)
  end
  if next ~= IPV6 and next ~= IPV4 or not is_packet(pkt, at, next == IPV6 and 6 or 4) then
    return 0
  end
  local link = pkt:getstring(0, 12)
  pkt:shrink(at - LINK, "head")
  pkt:setstring(0, link)
  pkt:setstring(12, next == IPV6 and "\x86\xdd" or "\x08\x00")
  return 1
end
