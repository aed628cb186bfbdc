-- hop(): lowers the hop limit by one, and gives what is left. Where that would be 0, as where the packet is none of IPv6, it gives 0 and changes
-- nothing: such a packet is not to be sent on (RFC 8200, section 3).
return function(pkt)
  local ip = pkt.ip
  if not ip or ip.version ~= 6 or ip.ttl <= 1 then
    return 0
  end
  ip.ttl = ip.ttl - 1
  return ip.ttl
end
