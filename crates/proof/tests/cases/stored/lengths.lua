-- Strings as values, by integer keys.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 eth:the\sreport\sof\sMonday\sthe\sreport\sof\sthe\sreport\sa\sverylongwordindeed\sverylongwordindeed\sverylongwordindeee eth:a,b,,c,a,a,b eth:aaaaaaaa\sbbbbbbbbb\saaaaaaaa\sbbbbbbbbb\saaaaaaa
local xdp = require "xdp"

xdp.attach(function(pkt)
  local text = pkt:getstring(14)
  local names = {}
  for name in text:gmatch("%a+") do names[#name] = name end
  print(names[3], names[6], names[#pkt], rawlen(names) >= 0, rawget(names, 1))
end)
