-- A set of bytes.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 eth:the\sreport\sof\sMonday\sthe\sreport\sof\sthe\sreport\sa\sverylongwordindeed\sverylongwordindeed\sverylongwordindeee eth:a,b,,c,a,a,b eth:aaaaaaaa\sbbbbbbbbb\saaaaaaaa\sbbbbbbbbb\saaaaaaa
local xdp = require "xdp"

xdp.attach(function(pkt)
  local text = pkt:getstring(14)
  local bytes, distinct = {}, 0
  for i = 0, #pkt - 1 do
    local byte = pkt:getuint8(i)
    if not bytes[byte] then distinct = distinct + 1 end
    bytes[byte] = true
  end
  local sum = 0
  for byte, seen in pairs(bytes) do
    if seen then sum = sum + byte end
  end
  print(distinct, sum, bytes[0], bytes[true])
end)
