-- Keys and values of several types, some known.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 eth:the\sreport\sof\sMonday\sthe\sreport\sof\sthe\sreport\sa\sverylongwordindeed\sverylongwordindeed\sverylongwordindeee eth:a,b,,c,a,a,b eth:aaaaaaaa\sbbbbbbbbb\saaaaaaaa\sbbbbbbbbb\saaaaaaa
local xdp = require "xdp"

xdp.attach(function(pkt)
  local text = pkt:getstring(14)
  local mixed = { "one", two = 2 }
  for word in text:gmatch("%w+") do
    if #word > 3 then mixed[word] = #word elseif #word > 1 then mixed[#word] = word else mixed[true] = word end
  end
  print(mixed[1], mixed.two, mixed[2], mixed[3], mixed[true], mixed.report)
  local keys, values = 0, 0
  for key, value in pairs(mixed) do
    keys = keys + #tostring(key)
    values = values + #tostring(value)
  end
  print(keys, values)
end)
