-- destination(part): the packet's destination address of IPv6 as a number: its first 64 bits (part 0), or its last (1). 0 for packets that are none of IPv6.
local byteorder = require "byteorder"
return function(pkt, part)
  local ip, tag = pkt.ip, pkt.vlan
  if not ip or ip.version ~= 6 then
    return 0
  end
  -- Behind the Ethernet header and VLAN tags.
  local at = 14 + (tag and 4 or 0) + (tag and tag.inner_id and 4 or 0)
  return byteorder.be64toh(pkt:getint64(at + 24 + (part == 0 and 0 or 8)))
end
