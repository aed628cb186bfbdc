-- hash(parts): a number of 64 bits made of the packet's source address of IPv6 (parts 1), its destination (2), or both (3): a key for token
-- buckets. Who knows how it is made can make addresses that have the same. 0 for packets that are none of IPv6.
local byteorder = require "byteorder"

-- As FNV-1a does it, but a word of 64 bits at a time; what that leaves in the upper half also counts in the lower one.
local BASIS <const>, PRIME <const> = 0xcbf29ce484222325, 0x100000001b3
local SOURCE <const>, DESTINATION <const>, BOTH <const> = 1, 2, 3

return function(pkt, parts)
  local ip, tag = pkt.ip, pkt.vlan
  if not ip or ip.version ~= 6 or parts < SOURCE or parts > BOTH then
    return 0
  end
  -- The addresses, behind the Ethernet header, VLAN tags and the first 8 bytes.
  local at = 22 + (tag and 4 or 0) + (tag and tag.inner_id and 4 or 0)
  local hash = BASIS
  for word = 0, 3 do
    local part = word < 2 and SOURCE or DESTINATION
    local number = parts & part ~= 0 and byteorder.be64toh(pkt:getint64(at + 8 * word)) or 0
    hash = (hash ~ number) * PRIME
  end
  return hash ~ hash >> 32
end
