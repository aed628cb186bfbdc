-- Assigning nil to keys of the packet; the walk passes them over.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 eth:the\sreport\sof\sMonday\sthe\sreport\sof\sthe\sreport\sa\sverylongwordindeed\sverylongwordindeed\sverylongwordindeee eth:a,b,,c,a,a,b eth:aaaaaaaa\sbbbbbbbbb\saaaaaaaa\sbbbbbbbbb\saaaaaaa
local xdp = require "xdp"

xdp.attach(function(pkt)
  local text = pkt:getstring(14)
  local first = {}
  for at, letter in text:gmatch("()(%l)") do
    if first[letter] == nil then first[letter] = at end
  end
  for letter in text:gmatch("[aeiou]") do first[letter] = nil end
  local left, places = 0, 0
  for letter, at in pairs(first) do left, places = left + 1, places + at * #letter end
  print(left, places)
end)
