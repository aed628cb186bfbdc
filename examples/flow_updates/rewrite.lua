-- Makes an X of the first byte of the flow's datagrams.
function(pkt)
  local payload = pkt.payload
  if payload and #payload > 0 then pkt.payload = "X" .. payload:sub(2) end
end
