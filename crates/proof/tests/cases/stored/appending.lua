-- Appending with `#` and table.insert where the length depends on the packet.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 eth:the\sreport\sof\sMonday\sthe\sreport\sof\sthe\sreport\sa\sverylongwordindeed\sverylongwordindeed\sverylongwordindeee eth:a,b,,c,a,a,b eth:aaaaaaaa\sbbbbbbbbb\saaaaaaaa\sbbbbbbbbb\saaaaaaa
local xdp = require "xdp"

xdp.attach(function(pkt)
  local text = pkt:getstring(14)
  local list = {}
  for word in text:gmatch("%w+") do list[#list + 1] = word end
  for number in text:gmatch("%d") do table.insert(list, number) end
  local joined = ""
  for i, word in ipairs(list) do
    if i <= 3 then joined = joined .. word .. ";" end
  end
  print(#list, joined, list[1], list[#list])
end)
