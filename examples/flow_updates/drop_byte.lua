-- Drops the flow's datagrams that begin with B.
function(pkt)
  local payload = pkt.payload
  if payload and payload:byte(1) == 66 then return 1 end
end
