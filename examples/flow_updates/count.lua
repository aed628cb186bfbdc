-- Counts the flow's datagrams in a table of the script.
function(pkt)
  local udp = pkt.udp
  if udp then counts[udp.dport] = (counts[udp.dport] or 0) + 1 end
end
