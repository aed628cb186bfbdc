-- meter(): counts packets and their bytes by flow: addresses of IPv6, next header, and the first four bytes behind it (ports) where that is TCP,
-- UDP or SCTP. Gives how many packets of its flow there were, this one included; 0 for packets that are none of IPv6. Of 65,536 flows those
-- go that were not seen for long.
local byteorder = require "byteorder"

local TCP <const>, UDP <const>, SCTP <const> = 6, 17, 132
local flows = map {
  key = { source = "ip", destination = "ip", next = "int", ports = "int" },
  value = { packets = "int", bytes = "int" },
  capacity = 65536,
  evict = "lru",
}

-- Where the header of IPv6 is, behind VLAN tags.
local function header(pkt)
  local tag = pkt.vlan
  return 14 + (tag and 4 or 0) + (tag and tag.inner_id and 4 or 0)
end

return function(pkt)
  local ip = pkt.ip
  if not ip or ip.version ~= 6 then
    return 0
  end
  local at = header(pkt)
  local next, ports = pkt:getbyte(at + 6), 0
  if (next == TCP or next == UDP or next == SCTP) and at + 44 <= #pkt then
    ports = byteorder.be32toh(pkt:getuint32(at + 40))
  end
  local key = { source = ip.src, destination = ip.dst, next = next, ports = ports }
  local flow = flows[key]
  if flow then
    flow.packets = flow.packets + 1
    flow.bytes = flow.bytes + #pkt
  else
    flows[key] = { packets = 1, bytes = #pkt }
  end
  return flow and flow.packets or 1
end
