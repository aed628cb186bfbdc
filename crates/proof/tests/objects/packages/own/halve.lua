-- Half of a byte of the packet; drops packets in which it is odd.
local DROP = 1
return function(pkt, offset)
  local byte = pkt:getbyte(offset)
  if byte % 2 == 1 then return nil, DROP end
  return byte // 2
end
