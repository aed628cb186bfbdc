-- `goto` forwards and backwards.
-- frames: tcp udp icmp hex:03050301000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local i, sum = 0, 0
  ::top::
  sum = sum + pkt:getuint8(i)
  i = i + 1
  if i < 10 then goto top end
  print(i, sum)
  for j = 1, 6 do
    if j % 2 == 0 then goto continue end
    for k = 1, 6 do
      if pkt:getuint8(k) == j then goto continue end
      if k > j then goto out end
      sum = sum + 1
    end
    ::out::
    sum = sum * 2
    ::continue::
  end
  print(sum)
  if sum % 2 == 0 then goto done end
  print "odd"
  ::done::
  return sum & 1
end)
