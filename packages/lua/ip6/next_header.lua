-- next_header(): what is behind the header of IPv6, by its number: 6 is TCP, 17 is UDP, 43 a routing header. 255, which stands for nothing, for
-- packets that are none of IPv6.
local NONE <const> = 255
return function(pkt)
  local ip, tag = pkt.ip, pkt.vlan
  if not ip or ip.version ~= 6 then
    return NONE
  end
  return pkt:getbyte(20 + (tag and 4 or 0) + (tag and tag.inner_id and 4 or 0))
end
